package budget

import (
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const day = 24 * time.Hour

var alice = call.Person{ID: "token:alice", Name: "alice"}

// take takes a call of a person, and returns what that has taken, and the error or "".
func take(b *Budget, id string) (*Taken, string) {
	return takeCall(b, &call.Call{Person: call.Person{ID: id}})
}

func takeCall(b *Budget, c *call.Call) (*Taken, string) {
	taken, err := b.Take(c)
	if err != nil {
		return nil, err.Error()
	}
	return taken, ""
}

// settle ends a call that has used tokens.
func settle(taken *Taken, tokens int64) {
	taken.Settle(&call.Call{Used: call.Used{Usage: call.Usage{Input: tokens}}}, End{})
}

// The calls of a person after each other. Each ends as its row says.
func TestSettle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{TokensPerDay: 100_000}})
		for _, tt := range compare.Rows[struct {
			What       string
			After      time.Duration
			Sent       bool
			Tokens     int64
			Unreported int
			Begun      int
			Want       string
			Used       int64
		}](t, "settle") {
			time.Sleep(tt.After)
			taken, err := take(b, "token:alice")
			compare.Equal(t, tt.What, err, tt.Want)
			if err == "" {
				used := call.Used{
					Usage:           call.Usage{Output: tt.Tokens},
					Unreported:      tt.Unreported,
					UnreportedBegun: tt.Begun,
				}
				c := &call.Call{Used: used}
				taken.Settle(c, End{NotCounted: !tt.Sent})
				compare.Equal(t, tt.What+": a guess", c.GuessedTokens > 0, tt.Unreported > 0)
			}
			bucket := b.perBucket(alice, change{use: amount{unitTokens: 1}})[0]
			s, running := b.local.buckets[bucket.key].advance(time.Now().UnixMicro(), bucket)
			compare.Equal(t, tt.What+": tokens", int64(s.used), tt.Used)
			compare.Equal(t, tt.What+": reserved", running, 0)
		}
	})
}

// What calls cost, one after the other, with a limit of 1 USD a day. 17 quick calls of 0.06 USD
// would pass at once.
func TestUSD(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{
			Limits: Limits{USDPerDay: 1},
			Prices: map[string]*call.Price{
				"answer_quick": {Input: 2, Cached: 0.2, Output: 12, Search: 10},
				"answer":       {}, // free
			},
		})
		for _, tt := range compare.Rows[struct {
			What       string
			Input      int64
			Cached     int64
			Output     int64
			Search     int
			Unreported int
			Begun      int
			Want       string
			Used       int64
		}](t, "usd") {
			c := &call.Call{Tool: "answer_quick", Person: alice}
			taken, err := takeCall(b, c)
			compare.Equal(t, tt.What, err, tt.Want)
			if err == "" {
				taken.Settle(&call.Call{Used: call.Used{
					Usage:           call.Usage{Input: tt.Input, Cached: tt.Cached, Output: tt.Output},
					Searches:        tt.Search,
					Unreported:      tt.Unreported,
					UnreportedBegun: tt.Begun,
				}}, End{})
			} else {
				compare.Equal(t, "limit", c.RefusedBy, "usd")
			}
			bucket := b.perBucket(alice, change{use: amount{unitUSD: 1}})[0]
			s, running := b.local.buckets[bucket.key].advance(time.Now().UnixMicro(), bucket)
			compare.Equal(t, tt.What+": millionths", int64(s.used), tt.Used)
			compare.Equal(t, tt.What+": reserved", running, 0)
		}
		for range 20 {
			_, err := takeCall(b, &call.Call{Tool: "answer", Person: alice})
			compare.Equal(t, "a free call", err, "")
		}

		passed := 0
		for range 30 {
			_, err := takeCall(b, &call.Call{Tool: "answer_quick"})
			if err == "" {
				passed++
			}
		}
		compare.Equal(t, "calls at once", passed, 17)
	})
}

// The limits of a person are not those of others, that of all people is. The error names the one
// that refuses for the longest time.
func TestPeople(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{CallsPerHour: 3, TokensPerDay: 100_000, TokensPerDayOfAll: 200_000}})
		for _, tt := range compare.Rows[struct {
			Person      string
			Tokens      int64
			Want, Limit string
		}](t, "people") {
			c := &call.Call{Person: call.Person{ID: tt.Person}}
			taken, err := takeCall(b, c)
			compare.Equal(t, tt.Person, err, tt.Want)
			compare.Equal(t, "limit", c.RefusedBy, tt.Limit)
			if err == "" {
				settle(taken, tt.Tokens)
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
		b := New(Options{Limits: Limits{TokensPerDay: limit}, Timeout: time.Hour})
		began := time.Now()
		var used [10]int64
		for i := range used {
			go func() {
				for n := i; time.Since(began) < days*day; n++ {
					taken, err := take(b, "token:alice")
					if err != "" {
						time.Sleep(time.Minute)
						continue
					}
					tokens := []int64{5_000, 20_000, 60_000, 300_000}[n%4]
					time.Sleep(time.Minute)
					used[i] += tokens
					settle(taken, tokens)
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

// A limit that is lower than what a tool usually takes lets one call run at a time.
func TestLowLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{TokensPerDay: 1}})
		taken, first := take(b, "token:alice")
		compare.Equal(t, "the first call", first, "")
		_, second := take(b, "token:alice")
		compare.Equal(t, "the second call", second, "limit of 1 tokens a day: 0 are used, and calls that "+
			"are running may take the rest; ask again in a minute")
		settle(taken, 3000)
		_, third := take(b, "token:alice")
		compare.Equal(t, "the third call", third,
			"used 8 of 1 tokens a day; the next call at 2000-01-09 00:00 (UTC), in 192 h 0 min")
	})
}

// The highest limit that a setting takes does not overflow.
func TestHighLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{CallsPerHour: math.MaxInt, TokensPerDay: math.MaxInt}})
		taken, err := take(b, "token:alice")
		compare.Equal(t, "error", err, "")
		settle(taken, math.MaxInt/2)
		_, err = take(b, "token:alice")
		compare.Contains(t, "error", err, "used 4611686018427387904 of 1000000000000000000 tokens a day; ")
	})
}

// As many calls pass at once as the limit allows.
func TestExact(t *testing.T) {
	for range 100 {
		b := New(Options{Limits: Limits{CallsPerHour: 4}})
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
		b := New(Options{Limits: Limits{CallsPerHour: 60}})
		for i := range 1000 {
			_, _ = take(b, fmt.Sprint("token:", i))
		}
		time.Sleep(2 * time.Minute)
		_, _ = take(b, "token:alice")
		compare.Equal(t, "buckets", len(b.local.buckets), 1)
	})
}

// A call that does not end, because its process is killed, uses what it has reserved.
func TestKilled(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{TokensPerDay: 100_000}, Timeout: 5 * time.Minute})
		_, _ = take(b, "token:alice")
		_, _ = take(b, "token:alice")
		_, running := take(b, "token:alice")
		compare.Contains(t, "while they run", running, "ask again in a minute")
		time.Sleep(7 * time.Minute)
		_, err := take(b, "token:alice")
		compare.Contains(t, "afterwards", err, "used 119514 of 100000 tokens a day; ")
	})
}

// A limit that is raised holds from the next call on, and so does one that is lowered.
func TestChangedLimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{TokensPerDay: 200_000}})
		taken, _ := take(b, "token:alice")
		settle(taken, 600_000)
		for _, tt := range []struct {
			limit  int
			passes bool
		}{{200_000, false}, {5_000_000, true}, {300_000, false}} {
			b.TokensPerDay = tt.limit
			taken, err := take(b, "token:alice")
			compare.Equal(t, fmt.Sprint(tt.limit), err == "", tt.passes)
			if err == "" {
				settle(taken, 0)
			}
		}
	})
}

// A call that ends after its reservation, as after the sleep of a laptop, counts once.
func TestLateEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := New(Options{Limits: Limits{TokensPerDay: 100_000}, Timeout: 5 * time.Minute})
		taken, _ := take(b, "token:alice")
		time.Sleep(time.Hour)
		settle(taken, 5000)
		bucket := b.perBucket(alice, change{use: amount{unitTokens: 1}})[0]
		s, _ := b.local.buckets[bucket.key].advance(time.Now().UnixMicro(), bucket)
		compare.Equal(t, "tokens", int64(s.used), 833) // an hour refills 4,166
	})
}
