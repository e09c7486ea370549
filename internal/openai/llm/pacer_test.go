package llm

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// pacerRows are the rows of testdata/pacer.yaml.
type pacerRows struct {
	Crowds []crowdRow
	People []peopleRow
	Random []randomRow
}

func readPacerRows(t testing.TB) (rows pacerRows) {
	t.Helper()
	data, err := os.ReadFile("testdata/pacer.yaml")
	if err == nil {
		err = yaml.Unmarshal(data, &rows)
	}
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

// crowdRow is a crowd that calls at once, and the time in which an API with this limit can answer
// it at best.
type crowdRow struct {
	Name     string
	Calls    int
	Requests float64 // for each call, at most
	Ideal    float64 // seconds
	Slack    float64 // times the ideal time, at most
	API      limits
	Headers  []string // that the API may have
	People   bool     // each call is of another person
}

// crowds returns the crowd, or one of each person.
func (r crowdRow) crowds() []crowd {
	all := crowd{Calls: r.Calls, Requests: r.Requests}
	if !r.People {
		return []crowd{all}
	}

	crowds := slices.Repeat([]crowd{all}, r.Calls)
	for i := range crowds {
		crowds[i].Person = fmt.Sprint("person ", i)
		crowds[i].Calls = 1
	}
	return crowds
}

// crowdRows returns the crowds, each with the headers that an API may have.
func crowdRows(t testing.TB) (rows []crowdRow) {
	for _, row := range readPacerRows(t).Crowds {
		name, slack := row.Name, row.Slack
		for _, header := range row.Headers {
			row.Name = name + ", " + header
			row.API.Header = header
			row.Slack = slack
			if header == "no time" || header == "time of the reset" { // later than is possible
				row.Slack = 1.6
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// All calls of a crowd are answered, with few requests and in about the time that the limit allows.
func TestPacerCrowds(t *testing.T) {
	for _, tt := range crowdRows(t) {
		bubble(t, tt.Name, func(t *testing.T) {
			s := simulate(t, tt.API, tt.crowds()...)
			most := tt.Slack*tt.Ideal + 3
			if s.ended.Seconds() > most {
				t.Errorf("took %v, want at most %v s", s.ended, most)
			}
		})
	}
}

// BenchmarkPacerCrowds reports how much longer than at best each crowd takes in simulated time.
func BenchmarkPacerCrowds(b *testing.B) {
	every := func(string, string) (bool, error) { return true, nil }
	for _, row := range crowdRows(b) {
		b.Run(row.Name, func(b *testing.B) {
			var s *simulation
			crowd := func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s = simulate(t, row.API, row.crowds()...) })
			}

			for b.Loop() { // RunTests, because a bubble needs a T
				testing.RunTests(every, []testing.InternalTest{{Name: row.Name, F: crowd}})
			}

			b.ReportMetric(s.ended.Seconds()/row.Ideal, "x-ideal")
			requests := 0
			for _, n := range s.requests {
				requests += n
			}
			b.ReportMetric(float64(requests)/float64(row.Calls), "requests/call")
		})
	}
}

// peopleRow is people who call each of some APIs, and what their calls may cost.
type peopleRow struct {
	Name   string
	APIs   []limits
	Crowds []crowd
}

// The refusals and the crowds of one person are that person's.
func TestPacerPeople(t *testing.T) {
	compare.SkipShort(t, "simulates 20,000 calls")
	for _, tt := range readPacerRows(t).People {
		for i, api := range tt.APIs {
			bubble(t, fmt.Sprintf("%s, API %d", tt.Name, i), func(t *testing.T) {
				simulate(t, api, tt.Crowds...)
			})
		}
	}
}

// If all people are refused, refusals in streams cost as many requests as those with a 429.
func TestPacerStreams(t *testing.T) {
	outage := func(t *testing.T, stream bool) (requests int) {
		all := crowd{Calls: 10, Refused: 3 * time.Minute, Named: "7.5", Stream: stream}
		crowds := slices.Repeat([]crowd{all}, 4)
		for i := range crowds {
			crowds[i].Person = fmt.Sprint("person ", i)
		}

		for _, n := range simulate(t, limits{Answers: 2 * time.Second}, crowds...).requests {
			requests += n
		}
		return requests
	}

	synctest.Test(t, func(t *testing.T) {
		want := outage(t, false)
		wantEqual(t, "requests", outage(t, true), want)
	})
}

// randomRow is an API that refuses a share of the requests at random, and people who call it.
type randomRow struct {
	API      limits
	People   int
	Calls    int // of each
	Every    time.Duration
	Answered float64       // share of the calls, at least
	Within   time.Duration // that 95 % of the calls wait, at most; 0: not checked
}

// Refusals that do not depend on the rate do not slow the calls down.
func TestPacerRandom(t *testing.T) {
	compare.SkipShort(t, "simulates 20,000 calls")
	for _, tt := range readPacerRows(t).Random {
		for _, header := range []string{"1", "no time"} {
			tt.API.Header = header
			name := fmt.Sprintf("%v of %d people who ask every %v, rate %v, %s",
				tt.API.Random, tt.People, tt.Every, tt.API.Rate, header)
			for tt.API.Seed = range compare.Seeds(1) {
				bubble(t, fmt.Sprint(name, ", seed ", tt.API.Seed), func(t *testing.T) {
					tt.check(t, simulate(t, tt.API, tt.crowds()...))
				})
			}
		}
	}
}

// crowds returns a crowd for each person.
func (r randomRow) crowds() []crowd {
	var crowds []crowd
	for i := range r.People {
		start := time.Duration(i) * (r.Every/time.Duration(r.People) + time.Millisecond)
		person := fmt.Sprint("person ", i)
		crowds = append(crowds, crowd{Person: person, Start: start, Calls: r.Calls, Every: r.Every})
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
	if share < r.Answered {
		t.Errorf("%.2f %% of the calls are answered, want at least %.2f %%", 100*share, 100*r.Answered)
	}
	slices.Sort(waits)
	wait := waits[len(waits)*95/100]
	if r.Within > 0 && wait > r.Within {
		t.Errorf("95 %% of the calls wait up to %v, want at most %v", wait, r.Within)
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
	steps := append(slices.Repeat([]step{refuse}, len(people)), succeed)
	cl, api := newClient(0, steps...)
	for _, person := range people {
		_, err := cl.Create(t.Context(), as(person), question())
		wantKind(t, err, call.KindRateLimit)
		time.Sleep(100 * time.Millisecond)
	}

	return cl, api
}

// A waiting call says how many calls are ahead: those of its person, and as many of each other one.
// Then it says that it asks.
func TestPacerAhead(t *testing.T) {
	const asks = -1
	synctest.Test(t, func(t *testing.T) {
		cl, _ := refused(t, "alice", "bob")
		people := []string{"alice", "alice", "alice", "alice", "bob", "bob"}
		aheads := make([][]int, len(people))
		var calls sync.WaitGroup
		for i, person := range people {
			calls.Go(func() {
				c := as(person)
				c.Sink = func(ev call.Event) {
					switch e := ev.(type) {
					case call.Waiting:
						aheads[i] = append(aheads[i], e.Ahead)
					case call.Requesting:
						aheads[i] = append(aheads[i], asks)
					}
				}

				_, err := cl.Create(t.Context(), c, question())
				wantSuccess(t, err)
			})

			synctest.Wait()
		}

		calls.Wait()

		want := [][]int{{0, asks}, {1, asks}, {2, 0, asks}, {3, 2, asks}, {0, asks}, {2, 0, asks}}
		wantEqual(t, "calls ahead", aheads, want)
	})
}

// A call that ends while it waits sends nothing, and other calls go on.
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
		wantEqual(t, "waiting calls", cl.NumWaiting(), many)

		_, err := cl.Create(within(t, 100*time.Millisecond), as("alice"), question())
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
			request := question()
			request.Model = model
			_, err := cl.Create(t.Context(), as("alice"), request)
			wantSuccess(t, err)
			wantEqual(t, "wait", time.Since(start), want)
		})
	}
}
