package budget

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const day = 24 * time.Hour

// take takes a call of a person, and returns the error or "".
func take(b *Budget, id string) (*call.Call, string) {
	c := &call.Call{Person: call.Person{ID: id}}
	err := b.Take(c)
	if err != nil {
		return c, err.Error()
	}
	return c, ""
}

// settle ends a call that has used tokens.
func settle(b *Budget, c *call.Call, tokens int64) {
	c.Usage.Input = tokens
	b.Settle(c, true)
}

// The calls of a person after each other. Each ends as its row says.
func TestSettle(t *testing.T) {
	const reached = "limit of 100000 tokens a day reached; a call is possible in "
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{TokensPerDay: 100_000})
		for _, tt := range []struct {
			what    string
			after   time.Duration
			sent    bool
			tokens  int64
			unknown int
			want    string // the error; "": none
			missing int64  // tokens after the call
		}{
			{"answered", 0, true, 12_000, 0, "", 12_000},
			{"not sent", 0, false, 0, 0, "", 12_000},
			{"refused by the API", 0, true, 0, 0, "", 12_000},
			{"cancelled: as 20,000 - 1,000", 0, true, 0, 1, "", 31_000},
			{"larger than what is left", 0, true, 72_000, 0, "", 103_000},
			{"refused", 0, false, 0, 0, reached + "44 min", 103_000},
			{"a token is there", 44 * time.Minute, true, 8_000, 0, "", 107_944},
			{"refused", 0, false, 0, 0, reached + "115 min", 107_944},
			{"debts end after a day", 115 * time.Minute, true, 900_000, 0, "", 200_000},
			{"refused", 0, false, 0, 0, reached + "1441 min", 200_000},
			{"not sent, and full again", 48 * time.Hour, false, 0, 0, "", 0},
		} {
			time.Sleep(tt.after)
			c, err := take(b, "token:alice")
			compare.Equal(t, tt.what, err, tt.want)
			if err == "" {
				c.Usage.Output = tt.tokens
				c.Unknown = tt.unknown
				b.Settle(c, tt.sent)
			}
			buckets := b.buckets("token:alice", 1, 1, false)
			missing := b.memory.full[buckets[0].key] - time.Now().UnixMicro()
			tokens := float64(missing) * 100_000 / float64(day.Microseconds())
			compare.Equal(t, tt.what+": tokens", int64(max(0, tokens)+0.5), tt.missing)
		}
	})
}

// The limits of a person are not those of others, that of all people is. The error names the one
// that refuses for the longest time.
func TestPeople(t *testing.T) {
	const tokens = "limit of 100000 tokens a day reached; a call is possible in "
	const ofAll = "limit of 200000 tokens a day of all people reached; a call is possible in "
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{CallsPerHour: 3, TokensPerDay: 100_000, TokensPerDayOfAll: 200_000})
		for _, tt := range []struct {
			person string
			tokens int64
			want   string
			limit  string
		}{
			{"alice", 50_000, "", ""},
			{"alice", 60_000, "", ""},
			{"alice", 0, tokens + "145 min", "day"},
			{"bob", 10, "", ""},
			{"bob", 10, "", ""},
			{"bob", 10, "", ""},
			{"bob", 0, "limit of 3 calls an hour reached; a call is possible in 20 min", "hour"},
			{"carol", 95_000, "", ""},
			{"carol", 0, ofAll + "37 min", "all"},
		} {
			c, err := take(b, tt.person)
			compare.Equal(t, tt.person, err, tt.want)
			compare.Equal(t, "limit", c.Limit, tt.limit)
			if err == "" {
				settle(b, c, tt.tokens)
			}
		}
	})
}

// A person whose agent makes calls in ten loops for ten days uses what the limit allows for them,
// what a bucket has at first, and what it may owe: calls run when it ends. The tokens of calls
// differ.
func TestMoney(t *testing.T) {
	const limit = 500_000
	const days = 10
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{TokensPerDay: limit})
		began := time.Now()
		var used [10]int64
		for i := range used {
			go func() {
				for n := i; time.Since(began) < days*day; n++ {
					c, err := take(b, "token:alice")
					if err != "" {
						time.Sleep(time.Minute)
						continue
					}
					tokens := []int64{5_000, 20_000, 60_000, 300_000}[n%4]
					time.Sleep(time.Minute)
					used[i] += tokens
					settle(b, c, tokens)
				}
			}()
		}
		time.Sleep((days + 1) * day)

		var sum int64
		for _, tokens := range used {
			sum += tokens
		}
		if sum < days*limit || sum > (days+3)*limit {
			t.Errorf("used the limit of %.2f days, want at most 13", float64(sum)/limit)
		}
	})
}

// As many calls pass at once as the limit allows.
func TestExact(t *testing.T) {
	for range 100 {
		b := New(Options{CallsPerHour: 4})
		var passed atomic.Int64
		var all sync.WaitGroup
		for range 12 {
			all.Go(func() {
				_, err := take(b, "token:alice")
				if err == "" {
					passed.Add(1)
				}
			})
		}
		all.Wait()
		compare.Equal(t, "calls", passed.Load(), 4)
	}
}

// Buckets that are full are forgotten.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{CallsPerHour: 60})
		for i := range 1000 {
			_, _ = take(b, fmt.Sprint("token:", i))
		}
		time.Sleep(2 * time.Minute)
		_, _ = take(b, "token:alice")
		compare.Equal(t, "buckets", len(b.memory.full), 1)
	})
}
