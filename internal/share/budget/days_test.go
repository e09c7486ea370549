package budget

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// habit is how a person calls a tool: in bursts at random times of nine working hours.
type habit struct {
	tool  string
	least float64 // tokens: 5 % of the calls use less
	most  float64 // 5 % use more
	lasts time.Duration

	calls  int // of a burst
	bursts int // of a day with bursts
	every  int // days
}

var (
	detailed = habit{"answer_detailed", 100_000, 600_000, 4 * time.Minute, 8, 2, 1}
	crowd    = habit{"answer_detailed", 100_000, 600_000, 4 * time.Minute, 400, 1, 2}
	quick    = habit{"answer_quick", 3_000, 15_000, 8 * time.Second, 15, 4, 1}
	loops    = habit{"answer", 5_000, 300_000, time.Minute, 10, 540, 1}
)

// size returns how many tokens a call uses. Their logarithms have a normal distribution.
func (h habit) size(r *rand.Rand) int64 {
	middle := (math.Log(h.least) + math.Log(h.most)) / 2
	deviation := (math.Log(h.most) - middle) / 1.645
	return int64(math.Exp(middle + deviation*r.NormFloat64()))
}

// times returns when the bursts of 20 days begin.
func (h habit) times(r *rand.Rand) (all []time.Duration) {
	for d := 0; d < 20; d += h.every {
		for range h.bursts {
			all = append(all, time.Duration(d)*day+time.Duration(r.Int64N(int64(9*time.Hour))))
		}
	}
	slices.Sort(all)
	return all
}

// usage is what a call used, and when it began.
type usage struct {
	at     time.Time
	tokens int64
}

// Over 20 days a person uses hardly more than the limit, and on no day much more: the calls that
// pass when the bucket is full, or what is free and one call, where that is larger than the limit.
// Few calls are refused for which there was room in the last 24 hours.
func TestDays(t *testing.T) {
	for name, tt := range map[string]struct {
		habit
		limit   int
		worst   float64 // day, in limits; 0: 1, and the largest call
		refused int     // of 60 calls, although there was room; 0: any number
	}{
		"400 detailed at once": {crowd, 1_000_000, 2.6, 0},
		"8 detailed at once":   {detailed, 200_000, 0, 0},
		"15 quick at once":     {quick, 200_000, 2.6, 13},
		"10 each minute":       {loops, 500_000, 4, 0},
	} {
		for seed := range uint64(8) {
			t.Run(fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					r := rand.New(rand.NewPCG(seed, 0))
					uses, refused := tt.run(r, tt.limit)

					var sum, largest int64
					days := map[int]int64{}
					for _, u := range uses {
						sum += u.tokens
						largest = max(largest, u.tokens)
						days[u.at.YearDay()] += u.tokens
					}
					limit := float64(tt.limit)
					mean := float64(sum) / 20 / limit
					if mean > 1.3 {
						t.Errorf("a mean of %.2f limits a day, want at most 1.3", mean)
					}
					worst := tt.worst
					if worst == 0 {
						worst = 1 + float64(largest)/limit
					}
					for d, tokens := range days {
						if float64(tokens) > worst*limit {
							t.Errorf("day %d: %d tokens, want at most %.2f limits", d, tokens, worst)
						}
					}
					if tt.refused > 0 && refused > tt.refused {
						t.Errorf("%d of 60 calls are refused wrongly, want at most %d", refused, tt.refused)
					}
				})
			})
		}
	}
}

// run makes the calls, with a limit of tokens a day. It returns what was used, and how many of 60
// calls were refused for which there was room.
func (h habit) run(r *rand.Rand, limit int) (uses []usage, refused int) {
	b := New(Options{Limits: Limits{TokensPerDay: limit}, Timeout: 5 * time.Minute})
	began := time.Now()
	asked := 0
	for _, at := range h.times(r) {
		time.Sleep(time.Until(began.Add(at)))
		for range h.calls {
			asked++
			tokens := h.size(r)
			room := int64(limit)
			for _, u := range uses {
				if time.Since(u.at) < day {
					room -= u.tokens
				}
			}

			taken, err := takeCall(b, &call.Call{Tool: h.tool})
			switch {
			case err == "":
				uses = append(uses, usage{time.Now(), tokens})
				time.AfterFunc(h.lasts, func() { settle(taken, tokens) })
			case tokens <= room:
				refused++
			}
		}
	}
	time.Sleep(day)
	return uses, refused * 60 / asked
}
