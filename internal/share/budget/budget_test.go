package budget

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
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

// inBubble runs a subtest in a synctest bubble.
func inBubble(t *testing.T, name string, test func(*testing.T)) {
	t.Run(name, func(t *testing.T) { synctest.Test(t, test) })
}

// perHour are options with a limit of n calls an hour.
func perHour(n int) Options { return Options{Limits: Limits{CallsPerHour: n}} }

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
	taken.Settle(reading(tokens), End{})
}

// bucketOf returns the bucket of a person for a unit.
func (b *Budget) bucketOf(p call.Person, of unit) bucket {
	buckets := b.buckets(p)
	return buckets[slices.IndexFunc(buckets, func(bk bucket) bool { return bk.unit == of })]
}

// held returns how many units alice uses and reserves in this process.
func (b *Budget) held(of unit) (used, reserved int64) {
	bucket := b.bucketOf(alice, of)
	s, reserved := b.local.buckets[bucket.key].advance(time.Now().UnixMicro(), bucket)
	return int64(s.used), reserved
}

var prices = map[string]*call.Price{
	"answer_quick": {Input: 2, Cached: 0.2, Output: 12, Search: 10},
	"answer":       {}, // free
}

// A call that has used much of everything refuses the next one, by each quota of a person.
func TestEachQuota(t *testing.T) {
	for _, q := range personQuotas() {
		inBubble(t, q.Setting, func(t *testing.T) {
			b := New(Options{Prices: prices})
			b.SetPersonLimits(PersonLimits{alice.ID: {q.Setting: 1}})
			c := &call.Call{Tool: "answer_quick", Person: alice}
			taken, err := takeCall(b, c)
			compare.Equal(t, "error of the first call", err, "")
			c.Usage.Input = 1_000_000
			c.Searches = 100
			taken.Settle(c, End{})

			_, err = takeCall(b, c)
			words := unitNames[q.unit] + " " + q.period.words + "; the next call at "
			if c.RefusedBy != q.Name || unitNames[q.unit] == "" || !strings.Contains(err, words) {
				t.Errorf("the next call gets %q: unitNames has the unit, and countUsed counts "+
					"what calls use of it", err)
			}
		})
	}
}

// The calls of a person after each other, with a limit of tokens or of USD. Each ends as its row
// says.
func TestSettle(t *testing.T) {
	for _, quota := range []struct {
		name, tool string
		of         unit
		Options
	}{
		{"settle", "", unitTokens, Options{Limits: Limits{TokensPerDay: 100_000}}},
		{"usd", "answer_quick", unitUSD, Options{Limits: Limits{USDPerDay: 1}, Prices: prices}},
	} {
		inBubble(t, quota.name, func(t *testing.T) {
			b := New(quota.Options)
			for _, tt := range compare.Rows[struct {
				What                  string
				After                 time.Duration
				Sent                  bool
				Input, Cached, Output int64
				Searches              int
				Unreported, Begun     int
				Want                  string
				Used                  int64
			}](t, quota.name) {
				time.Sleep(tt.After)
				taken, err := takeCall(b, &call.Call{Tool: quota.tool, Person: alice})
				compare.Equal(t, tt.What, err, tt.Want)
				if err == "" {
					usage := call.Usage{Input: tt.Input, Cached: tt.Cached, Output: tt.Output}
					c := &call.Call{Used: call.Used{
						Reported:           call.Reported{Usage: usage, Searches: tt.Searches},
						UnreportedRequests: tt.Unreported,
						UnreportedBegun:    tt.Begun,
					}}
					taken.Settle(c, End{NotCounted: !tt.Sent})
					compare.Equal(t, tt.What+": a guess", c.GuessedTokens > 0, tt.Unreported > 0)
				}
				used, reserved := b.held(quota.of)
				compare.Equal(t, tt.What+": used", used, tt.Used)
				compare.Equal(t, tt.What+": reserved", reserved, 0)
			}
		})
	}
}

// A large question counts in full: 900,000 bytes are 225,000 tokens.
func TestLargeQuestion(t *testing.T) {
	for tool, want := range map[string]int64{"answer": 450_000, "answer_detailed": 525_000} {
		c := &call.Call{Used: call.Used{
			RequestInput:       []json.RawMessage{make([]byte, 500_000), make([]byte, 400_000)},
			UnreportedRequests: 2,
			UnreportedBegun:    1,
		}}
		New(Options{}).countUsed(tool, c)
		compare.Equal(t, tool, c.GuessedTokens, want)
	}
}

// A usage that no response can have uses up a limit, and does not overflow.
func TestAbsurdUsage(t *testing.T) {
	b := New(Options{Limits: Limits{USDPerDay: 1}, Prices: prices})
	for _, want := range []string{"", "used 8.00 of 1.00 USD"} {
		taken, err := takeCall(b, &call.Call{Tool: "answer_quick", Person: alice})
		compare.Contains(t, "error", err, want)
		if err == "" {
			c := &call.Call{}
			c.Usage.Output = 1 << 62
			taken.Settle(c, End{})
		}
	}
}

// 17 quick calls of 0.06 USD pass at once with a limit of 1 USD. Calls of a tool that is free pass
// also then.
func TestUSD(t *testing.T) {
	b := New(Options{Limits: Limits{USDPerDay: 1}, Prices: prices})
	passed := map[string]int{}
	for i := range 60 {
		c := &call.Call{Tool: []string{"answer_quick", "answer"}[i/30], Person: alice}
		_, err := takeCall(b, c)
		if err == "" {
			passed[c.Tool]++
		} else {
			compare.Equal(t, "limit", c.RefusedBy, "usd")
		}
	}
	compare.Equal(t, "calls at once", passed, map[string]int{"answer_quick": 17, "answer": 30})
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

// Calls of a person in steps: "take" begins a call, "end=TOKENS" ends the first one that runs,
// "last=TOKENS" the last one, and "back" gives the first one back. The limit is "limit=TOKENS" or
// "calls=N" from then on. A time passes.
func TestSteps(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Steps string
		Used        int64
		Takes       string // their errors, or "passes"
	}](t, "steps") {
		inBubble(t, tt.Name, func(t *testing.T) {
			b := New(Options{Timeout: 5 * time.Minute})
			limits := map[string]float64{}
			b.SetPersonLimits(PersonLimits{"token:alice": limits})
			var running []*Taken
			var takes []string
			for step := range strings.FieldsSeq(tt.Steps) {
				word, number, _ := strings.Cut(step, "=")
				n, _ := strconv.Atoi(number)
				switch word {
				case "limit":
					limits["tokens_per_day"] = float64(n)
				case "calls":
					limits["calls_per_hour"] = float64(n)
				case "take":
					taken, err := take(b, "token:alice")
					takes = append(takes, cmp.Or(err, "passes"))
					if err == "" {
						running = append(running, taken)
					}
				case "end":
					settle(running[0], int64(n))
					running = running[1:]
				case "last":
					settle(running[len(running)-1], int64(n))
					running = running[:len(running)-1]
				case "back":
					running[0].Settle(&call.Call{}, End{NotCounted: true})
				default:
					pause, _ := time.ParseDuration(step)
					time.Sleep(pause)
				}
			}
			compare.Equal(t, "takes", strings.Join(takes, " / "), tt.Takes)
			used, _ := b.held(unitTokens)
			compare.Equal(t, "used", used, tt.Used)
		})
	}
}

// As many calls pass at once as the limit allows.
func TestExact(t *testing.T) {
	for range 100 {
		b := New(perHour(4))
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
		b := New(perHour(60))
		for i := range 1000 {
			_, _ = take(b, fmt.Sprint("token:", i))
		}
		time.Sleep(2 * time.Minute)
		_, _ = take(b, "token:alice")
		compare.Equal(t, "buckets", len(b.local.buckets), 1)
	})
}
