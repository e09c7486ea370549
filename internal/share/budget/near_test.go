package budget

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// From four fifths of a limit on, a call says so, the log once for a person and period, and the
// count until the bucket has refilled.
func TestNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		b := New(Options{
			Limits: Limits{CallsPerHour: 3, TokensPerDay: 100_000, TokensPerDayOfAll: 240_000, USDPerDay: 1.1},
			Prices: map[string]*call.Price{"": {Output: 10}, "free": {}},
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		for _, tt := range compare.Rows[struct {
			After      time.Duration
			Person     string
			Tokens     int64
			Want, Near string
			Lines      int
		}](t, "near") {
			time.Sleep(tt.After)
			c := &call.Call{Person: call.Person{ID: "token:" + tt.Person, Name: tt.Person}}
			taken, err := takeCall(b, c)
			compare.Equal(t, "error", err, "")
			c.Usage.Output = tt.Tokens
			taken.Settle(c, End{})

			compare.Equal(t, "near a limit", c.NearLimit, tt.Want)
			compare.Equal(t, "near: "+tt.Want, fmt.Sprint(b.NearLimitCounts()), tt.Near)
			compare.Equal(t, "lines", log.count("a limit is nearly used up"), tt.Lines)
		}
		time.Sleep(12 * time.Hour)
		c := &call.Call{Person: alice, Tool: "free"}
		takeCall(b, c)
		compare.Equal(t, "near a limit, with a model without a cost", c.NearLimit, "")
		clear(b.local.buckets) // quota reset
		taken, _ := takeCall(b, &call.Call{Person: alice})
		settle(taken, 10)
		compare.Equal(t, "near after a reset", b.NearLimitCounts(), map[string]int{})
		compare.Equal(t, "lines of all people", log.count(`used="85 % of 240000 tokens a day of all people"`+"\n"), 1)
		compare.Equal(t, "lines of carol", log.count("client=carol"), 2)
	})
}

// The end of a call that another process has settled does not say that less is used. A limit that
// has ended does not count. A call that is refused tells that the limit is used up.
func TestNearSettledElsewhere(t *testing.T) {
	server := redistest.New(t)
	o := Options{Limits: Limits{TokensPerDay: 1_000_000}}
	own := idleReplica(t, "redis://"+server.Address, o)
	other := idleReplica(t, "redis://"+server.Address, o)
	c, _ := takeCall(own.Budget, &call.Call{Person: alice})
	settle(c, 900_000)

	takeCall(other.Budget, &call.Call{Person: alice})
	lasting := &call.Call{Tool: "answer_detailed", Person: alice}
	c, _ = takeCall(own.Budget, lasting)
	ended := reading(10)
	ended.Reservation = lasting.Reservation
	compare.Equal(t, "the other process observes", other.SettleResponse(ended, "resp_1"), true)
	compare.Equal(t, "near on it, with less used and as much reserved", other.NearLimitCounts(), map[string]int{"day": 1})
	observes := c.Settle(reading(10), End{
		ResponseID:         "resp_1",
		ReportedOfResponse: reading(10).Reported,
	})
	compare.Equal(t, "its own process observes", observes, false)
	compare.Equal(t, "near", own.NearLimitCounts(), map[string]int{"day": 1})

	own.SetPersonLimits(PersonLimits{alice.ID: {"tokens_per_day": 2_000_000}})
	compare.Equal(t, "near a higher limit", own.NearLimitCounts(), map[string]int{})
	own.SetPersonLimits(PersonLimits{alice.ID: {"tokens_per_day": 900_000}})
	compare.Equal(t, "near a lower limit", own.NearLimitCounts(), map[string]int{"day": 1})
	own.SetPersonLimits(PersonLimits{alice.ID: {"tokens_per_day": 0}})
	compare.Equal(t, "near without a limit", own.NearLimitCounts(), map[string]int{})

	o.TokensPerDay = 600_000
	later := idleReplica(t, "redis://"+server.Address, o)
	_, err := takeCall(later.Budget, &call.Call{Person: alice})
	compare.Contains(t, "error of a replica that starts later", err, "of 600000 tokens a day")
	compare.Equal(t, "near on it", later.NearLimitCounts(), map[string]int{"day": 1})

	ended = reading(900_000)
	other.SettleResponse(ended, "resp_2")
	compare.Contains(t, "near limits for the client", ended.NearLimit, "% of 1000000 tokens a day")
}
