package budget

import (
	"fmt"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// From four fifths of a limit on, a call says so, the log once for a person and period, and the
// count until the bucket has refilled.
func TestNear(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log lines
		b := New(Options{
			Limits: Limits{CallsPerHour: 10, TokensPerDay: 100_000, TokensPerDayOfAll: 240_000},
			Log:    slog.New(slog.NewTextHandler(&log, nil)),
		})
		for i, tt := range []struct {
			after  time.Duration
			person string
			tokens int64
			want   string
			near   map[string]int
			lines  int
		}{
			{0, "alice", 70_000, "", map[string]int{}, 0},
			{0, "alice", 12_000, "82 % of 100000 tokens a day", map[string]int{"day": 1}, 1},
			{0, "alice", 2_000, "84 % of 100000 tokens a day", map[string]int{"day": 1}, 1},
			{0, "bob", 40_000, "", map[string]int{"day": 1}, 1},
			{2 * time.Hour, "bob", 0, "", map[string]int{}, 1},
			{0, "alice", 10_000, "85 % of 100000 tokens a day", map[string]int{"day": 1}, 1},
			{0, "carol", 90_000, "90 % of 100000 tokens a day, 85 % of 240000 tokens a day of all people",
				map[string]int{"day": 2, "all": 1}, 3},
			{0, "bob", 0, "85 % of 240000 tokens a day of all people", map[string]int{"day": 2, "all": 1}, 3},
			{0, "dave", 0, "85 % of 240000 tokens a day of all people", map[string]int{"day": 2, "all": 1}, 3},
			{30 * time.Hour, "alice", 90_000, "90 % of 100000 tokens a day", map[string]int{"day": 1}, 4},
		} {
			what := fmt.Sprint(i, ", ", tt.person)
			time.Sleep(tt.after)
			c := &call.Call{Person: call.Person{ID: "token:" + tt.person, Name: tt.person}}
			taken, err := takeCall(b, c)
			compare.Equal(t, what+": error", err, "")
			c.Usage.Output = tt.tokens
			taken.Settle(c, End{})

			compare.Equal(t, what, c.NearLimit, tt.want)
			compare.Equal(t, what+": near", b.NearLimitCounts(), tt.near)
			compare.Equal(t, what+": lines", log.count("a limit is nearly used up"), tt.lines)
		}
		delete(b.local.buckets, b.perBucket(alice, change{use: amount{unitTokens: 1}})[0].key) // quota reset
		taken, _ := takeCall(b, &call.Call{Person: alice})
		settle(taken, 10)
		compare.Equal(t, "near after a reset", b.NearLimitCounts(), map[string]int{})
		compare.Equal(t, "lines of all people", log.count(`used="85 % of 240000 tokens a day of all people"`+"\n"), 1)
		compare.Equal(t, "lines of carol", log.count("client=carol"), 1)
	})
}
