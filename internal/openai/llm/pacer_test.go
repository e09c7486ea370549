package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// crowdRow is a crowd that calls at once, and the time in which an API with this limit can answer
// it at best.
type crowdRow struct {
	name   string
	calls  int
	ideal  float64 // seconds
	slack  float64 // times the ideal time, at most
	api    limits  // by default 5 requests a second and 10 at once
	people bool    // each call is of another person
}

// crowds returns the crowd, or one of each person.
func (r crowdRow) crowds() []crowd {
	if !r.people {
		return []crowd{{calls: r.calls}}
	}

	var crowds []crowd
	for i := range r.calls {
		crowds = append(crowds, crowd{person: fmt.Sprint("person ", i), calls: 1})
	}
	return crowds
}

// crowdRows returns the crowds, each with the headers that an API may have.
func crowdRows() []crowdRow {
	var rows []crowdRow
	people := false
	add := func(headers, name string, calls int, ideal, slack float64, api limits) {
		api.rate = cmp.Or(api.rate, 5)
		api.burst = cmp.Or(api.burst, 10)
		api.answers = cmp.Or(api.answers, 2*time.Second)
		for header := range strings.SplitSeq(headers, ", ") {
			api.header = header
			row := crowdRow{name + ", " + header, calls, ideal, slack, api, people}
			if header == "no time" || header == "time of the reset" { // later than is possible
				row.slack = 1.6
			}

			rows = append(rows, row)
		}
	}

	const named = "seconds, milliseconds, words, no time"
	const all = named + ", time of the reset"
	lag := limits{latency: 400 * time.Millisecond}
	fast := limits{rate: 50, answers: time.Second}

	add("seconds", "20 calls", 20, 4, 1.3, limits{})
	add(all, "60 calls", 60, 12, 1.3, limits{})
	add("seconds", "60 calls, refusals take 400 ms", 60, 12, 1.3, lag)
	add(all, "200 calls", 200, 40, 1.3, limits{})
	add("no time", "200 calls, refusals take 400 ms", 200, 40, 1.3, lag)
	add(all, "refused requests count", 60, 12, 1.6, limits{counts: true})
	add(all, "others use a part", 60, 18.7, 1.6, limits{others: 2})
	add(all, "slow", 100, 45, 1.3, limits{rate: 1, burst: 60, answers: 5 * time.Second})
	add("milliseconds", "fast", 400, 8.8, 1.3, fast)
	add("seconds, no time", "sliding window", 60, 14, 1.6, limits{window: true})

	fast.drops = true
	add("seconds", "the limit changes", 600, 48.8, 1.6, fast)

	people = true
	add(all, "60 people, a request a second", 60, 56, 1.3, limits{rate: 1, burst: 4})
	add(all, "30 people, 30 requests a minute", 30, 52, 1.6, limits{rate: .5, burst: 4})
	add(named, "300 people, refused requests count", 300, 58, 1.6, limits{counts: true})
	return rows
}

// All calls of a crowd are answered, with few requests and in about the time that the limit allows.
func TestPacerCrowds(t *testing.T) {
	for _, tt := range crowdRows() {
		bubble(t, tt.name, func(t *testing.T) {
			s := simulate(t, tt.api, tt.crowds()...)
			requests := 2.2
			switch {
			case tt.people:
				requests = 4 // of one person
			case tt.api.latency > 0:
				// More requests are on their way when the API begins to refuse, and those that
				// are refused late say nothing about a gap that has changed since.
				requests = 2.85
			}
			for _, w := range tt.crowds() {
				w.requests = requests
				w.check(t, s)
			}

			most := tt.slack*tt.ideal + 3
			if s.ended.Seconds() > most {
				t.Errorf("took %v, want at most %v s", s.ended, most)
			}
		})
	}
}

// BenchmarkPacerCrowds reports how much longer than at best each crowd takes in simulated time.
func BenchmarkPacerCrowds(b *testing.B) {
	every := func(string, string) (bool, error) { return true, nil }
	for _, row := range crowdRows() {
		b.Run(row.name, func(b *testing.B) {
			var s *simulation
			crowd := func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s = simulate(t, row.api, row.crowds()...) })
			}

			for b.Loop() { // RunTests, because a bubble needs a T
				testing.RunTests(every, []testing.InternalTest{{Name: row.name, F: crowd}})
			}

			b.ReportMetric(s.ended.Seconds()/row.ideal, "x-ideal")
			requests := 0
			for _, n := range s.requests {
				requests += n
			}
			b.ReportMetric(float64(requests)/float64(row.calls), "requests/call")
		})
	}
}

// peopleRow is people who call an API, and what their calls may cost.
type peopleRow struct {
	name   string
	api    limits
	crowds []crowd
}

// peopleRows are people whose requests the API refuses for their own sake, and people who share a
// limit of 2 requests a second.
func peopleRows() []peopleRow {
	refusing := []limits{{header: "5"}, {header: "20"}, {header: "60"}, {header: "310"}, {header: "no time"}}
	sharing := []limits{
		{rate: 2, burst: 2, header: "seconds"},
		{rate: 2, burst: 2, header: "no time"},
		{rate: 2, window: true, header: "seconds"},
	}

	var rows []peopleRow
	add := func(apis []limits, name string, crowds ...crowd) {
		for i, api := range apis {
			rows = append(rows, peopleRow{fmt.Sprintf("%s, API %d", name, i), api, crowds})
		}
	}

	bob := crowd{person: "bob", calls: 60, every: time.Second}
	for _, callers := range []int{1, 5} {
		alice := crowd{person: "alice", calls: callers, refused: time.Hour}
		atOnce := bob
		atOnce.most = time.Millisecond
		atOnce.requests = 1
		for _, earlier := range []time.Duration{0, time.Minute, 5 * time.Minute} {
			alice.loops = earlier + time.Minute
			atOnce.start = earlier
			name := fmt.Sprintf("%d calls of alice are refused, for %v before bob", callers, earlier)
			add(refusing, name, alice, atOnce)

			carol := alice
			carol.person = "carol"
			add(refusing, name+", and carol's too", alice, carol, atOnce)
		}

		all := []crowd{{person: "alice", calls: callers, loops: 2 * time.Minute}, bob}
		for i := range all {
			all[i].refused = time.Minute
			all[i].since = time.Minute
			all[i].most = 20 * time.Second
		}
		all[1].calls = 120
		add(refusing, fmt.Sprintf("all are refused for a minute, %d calls of alice", callers), all...)
	}

	many := crowd{person: "alice", calls: 60, start: 20 * time.Second, requests: 2.3}
	for _, later := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
		one := crowd{person: "bob", calls: 1, start: many.start + later, most: 6 * time.Second}
		add(sharing, fmt.Sprintf("60 calls and %v later another", later), many, one)
	}

	other := crowd{person: "bob", calls: 1, refused: time.Hour, loops: 2 * time.Minute}
	add(sharing, "60 calls while those of another are refused", other, many)

	// Two requests in one instant go out in either order. In a window that costs alice 129 or 139
	// requests for 60 calls, and if bob asks at any other time always 139.
	many.requests = 2.35
	bob.calls = 100
	bob.requests = 1.25 // the requests that try whether a shorter gap is possible are also his
	add(sharing, "60 calls while another asks all the time", bob, many)
	return rows
}

// The refusals and the crowds of one person are that person's.
func TestPacerPeople(t *testing.T) {
	compare.SkipShort(t, "simulates 20,000 calls")
	for _, tt := range peopleRows() {
		bubble(t, tt.name, func(t *testing.T) {
			s := simulate(t, tt.api, tt.crowds...)
			for _, w := range tt.crowds {
				w.check(t, s)
			}
		})
	}
}

// randomRow is an API that refuses a share of the requests at random, and people who call it.
type randomRow struct {
	api      limits
	people   int
	calls    int // of each
	every    time.Duration
	answered float64       // share of the calls, at least
	within   time.Duration // that 95 % of the calls wait, at most; 0: not checked
}

// randomRows are the shares that an overloaded gateway, or other programs that use the same limit,
// may refuse. 4 attempts answer 93.75 % of the calls where half of the requests are refused; with
// 1,000 calls four standard deviations are 3 %. Some calls end at their deadline, more of them if
// all are made at once: the queue makes pauses, because half of the requests are also refused where
// the gap of a slow limit is too short.
func randomRows() []randomRow {
	var rows []randomRow
	for _, header := range []string{"1", "no time"} {
		for _, share := range []float64{.05, .1, .2} {
			api := limits{random: share, header: header}
			rows = append(rows,
				randomRow{api, 1, 300, 2 * time.Second, .99, 30 * time.Second},
				randomRow{api, 3, 200, 4 * time.Second, .99, 30 * time.Second},
				randomRow{api, 6, 120, 2 * time.Second, .99, 30 * time.Second},
				randomRow{api, 12, 120, 2 * time.Second, .99, time.Minute})
		}

		half := limits{random: .5, header: header}
		rows = append(rows,
			randomRow{half, 3, 400, 4 * time.Second, .9175, 0},
			randomRow{half, 6, 200, 2 * time.Second, .91, 0},
			randomRow{half, 5, 200, 0, .875, 0})

		// Here late requests are refused, too, and the queue is a little too fast, or too slow.
		both := limits{random: .2, rate: 2, burst: 2, header: header}
		rows = append(rows, randomRow{both, 3, 112, 2143 * time.Millisecond, .9, 90 * time.Second})
	}
	return rows
}

// Refusals that do not depend on the rate do not slow the calls down.
func TestPacerRandom(t *testing.T) {
	compare.SkipShort(t, "simulates 20,000 calls")
	for _, tt := range randomRows() {
		name := fmt.Sprintf("%v of %d people who ask every %v, rate %v, %s",
			tt.api.random, tt.people, tt.every, tt.api.rate, tt.api.header)
		for seed := range compare.Seeds(1) {
			tt.api.seed = seed
			bubble(t, fmt.Sprint(name, ", seed ", seed), func(t *testing.T) {
				s := simulate(t, tt.api, tt.crowds()...)
				tt.check(t, s)
			})
		}
	}
}

// crowds returns a crowd for each person.
func (r randomRow) crowds() []crowd {
	var crowds []crowd
	for i := range r.people {
		start := time.Duration(i) * (r.every/time.Duration(r.people) + time.Millisecond)
		person := fmt.Sprint("person ", i)
		crowds = append(crowds, crowd{person: person, start: start, calls: r.calls, every: r.every})
	}
	return crowds
}

func (r randomRow) check(t *testing.T, s *simulation) {
	var waits []time.Duration
	answered := 0
	for _, outcomes := range s.outcomes {
		for _, o := range outcomes {
			waits = append(waits, o.wait)
			if o.err == nil {
				answered++
			}
		}
	}

	share := float64(answered) / float64(len(waits))
	if share < r.answered {
		t.Errorf("%.2f %% of the calls are answered, want at least %.2f %%", 100*share, 100*r.answered)
	}
	slices.Sort(waits)
	wait := waits[len(waits)*95/100]
	if r.within > 0 && wait > r.within {
		t.Errorf("95 %% of the calls wait up to %v, want at most %v", wait, r.within)
	}
}

// Calls do not wait long once an API is well again that refused most requests for two minutes.
func TestPacerRecovers(t *testing.T) {
	for _, share := range []float64{.2, .5, .8} {
		bubble(t, fmt.Sprint(share), func(t *testing.T) {
			api := limits{random: share, well: 2 * time.Minute, header: "1"}
			crowds := randomRow{people: 6, calls: 120, every: 2 * time.Second}.crowds()
			for i := range crowds {
				crowds[i].since = api.well + 5*time.Second
				crowds[i].most = 20 * time.Second
			}

			s := simulate(t, api, crowds...)
			for _, w := range crowds {
				w.check(t, s)
			}
		})
	}
}

// as returns a call of a person, whose requests name the person.
func as(person string) *call.Call {
	return &call.Call{Person: call.Person{ID: person}, Traceparent: person}
}

// refused returns a client whose API has refused a request of each person, and accepts all others.
// The API asks for a second, which may be rounded up: the queue waits for the first gap only.
func refused(t *testing.T, people ...string) (*Client, *scripted) {
	refuse := answer(429, rateLimited, "Retry-After", "1")
	steps := append(slices.Repeat([]step{refuse}, len(people)), answer(200, finished))
	cl, api := newClient(0, steps...)
	for _, person := range people {
		_, err := cl.Create(t.Context(), as(person), question())
		wantKind(t, err, call.KindRateLimit)
		time.Sleep(100 * time.Millisecond)
	}

	return cl, api
}

// A waiting call says how many calls are ahead: those of its person, and as many of each other one.
func TestPacerAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, _ := refused(t, "alice", "bob")
		people := []string{"alice", "alice", "alice", "alice", "bob", "bob"}
		aheads := make([][]int, len(people))
		var calls sync.WaitGroup
		for i, person := range people {
			calls.Go(func() {
				c := as(person)
				c.Sink = func(ev call.Event) {
					if w, ok := ev.(call.Waiting); ok {
						aheads[i] = append(aheads[i], w.Ahead)
					}
				}

				_, err := cl.Create(t.Context(), c, question())
				wantSuccess(t, err)
			})

			synctest.Wait()
		}

		calls.Wait()

		want := [][]int{{0}, {1}, {2, 0}, {3, 2}, {0}, {2, 0}}
		wantEqual(t, "calls ahead", aheads, want)
	})
}

// A call that ends while it waits sends nothing, and the others go on.
func TestPacerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		cl, api := refused(t, "alice")
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range many {
			calls.Go(func() {
				_, err := cl.Create(ctx, as("alice"), question())
				wantKind(t, err, call.KindCanceled)
			})
		}

		synctest.Wait()
		wantEqual(t, "waiting calls", cl.Waiting(), many)

		short, stop := context.WithTimeout(ctx, 100*time.Millisecond)
		defer stop()
		_, err := cl.Create(short, as("alice"), question())
		wantKind(t, err, call.KindTimeout)
		queued, _ := errors.AsType[call.QueuedError](err)
		wantEqual(t, "calls ahead", queued, call.QueuedError(many))

		cancel()
		calls.Wait()
		api.wantRequests(t, 1)

		start := time.Now()
		_, err = cl.Create(t.Context(), as("alice"), question())
		wantSuccess(t, err)
		if took := time.Since(start); took > time.Second {
			t.Errorf("the next call took %v, want a gap", took)
		}
	})
}

// Each model has a limit of its own.
func TestPacerModels(t *testing.T) {
	for model, want := range map[string]time.Duration{
		"gpt-5-mini": 0,
		"gpt-5.2":    time.Second/3 - 100*time.Millisecond, // what is left of the first gap
	} {
		bubble(t, model, func(t *testing.T) {
			cl, _ := refused(t, "alice")
			start := time.Now()
			r := question()
			r.Model = model
			_, err := cl.Create(t.Context(), as("alice"), r)
			wantSuccess(t, err)
			wantEqual(t, "wait", time.Since(start), want)
		})
	}
}

// A 429 about something else than the rate limits no call.
func TestPacerOtherRefusals(t *testing.T) {
	for name, body := range map[string]string{
		"quota":     apiBody("", "insufficient_quota", "", "No."),
		"too large": apiBody("tokens", "rate_limit_exceeded", "", "Request too large for gpt-5.2"),
	} {
		bubble(t, name, func(t *testing.T) {
			cl, api := newClient(3, answer(429, body), answer(200, finished))
			start := time.Now()
			_ = createError(t, cl)
			wantSuccess(t, createError(t, cl))
			wantEqual(t, "time of both calls", time.Since(start), time.Duration(0))
			api.wantRequests(t, 2)
		})
	}
}
