package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// crowdRow is a crowd that calls at once, and the time in which an API with this limit can answer
// it at best.
type crowdRow struct {
	name  string
	calls int
	ideal float64 // seconds
	slack float64 // times the ideal time, at most
	api   limits  // by default 5 requests a second and 10 at once
}

// crowdRows returns the crowds, each with the headers that an API may have.
func crowdRows() []crowdRow {
	var rows []crowdRow
	add := func(headers, name string, calls int, ideal, slack float64, api limits) {
		api.rate = cmp.Or(api.rate, 5)
		api.burst = cmp.Or(api.burst, 10)
		api.answers = cmp.Or(api.answers, 2*time.Second)
		for header := range strings.SplitSeq(headers, ", ") {
			api.header = header
			row := crowdRow{name + ", " + header, calls, ideal, slack, api}
			if header == "no time" {
				row.slack = 1.6
			}

			rows = append(rows, row)
		}
	}

	const all = "seconds, milliseconds, no time"
	lag := limits{latency: 400 * time.Millisecond}
	fast := limits{rate: 50, answers: time.Second}

	add("seconds", "20 calls", 20, 4, 1.3, limits{})
	add(all+", time of the reset", "60 calls", 60, 12, 1.3, limits{})
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
	return rows
}

// All calls of a crowd are answered, with few requests and in about the time that the limit allows.
func TestPacerCrowds(t *testing.T) {
	for _, tt := range crowdRows() {
		bubble(t, tt.name, func(t *testing.T) {
			s := simulate(t, tt.api, crowd{calls: tt.calls})
			crowd{requests: 2.2}.check(t, s)
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
				synctest.Test(t, func(t *testing.T) { s = simulate(t, row.api, crowd{calls: row.calls}) })
			}

			for b.Loop() { // RunTests, because a bubble needs a T
				testing.RunTests(every, []testing.InternalTest{{Name: row.name, F: crowd}})
			}

			b.ReportMetric(s.ended.Seconds()/row.ideal, "x-ideal")
			b.ReportMetric(float64(s.requests[""])/float64(row.calls), "requests/call")
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
			all[i].most = 10 * time.Second
		}
		all[1].calls = 120
		add(refusing, fmt.Sprintf("all are refused for a minute, %d calls of alice", callers), all...)
	}

	many := crowd{person: "alice", calls: 60, start: 20 * time.Second, requests: 2.2}
	for _, later := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
		one := crowd{person: "bob", calls: 1, start: many.start + later, most: 6 * time.Second}
		add(sharing, fmt.Sprintf("60 calls and %v later another", later), many, one)
	}

	bob.calls = 100
	bob.requests = 1.2
	add(sharing, "60 calls while another asks all the time", bob, many)
	return rows
}

// The refusals and the crowds of one person are that person's.
func TestPacerPeople(t *testing.T) {
	for _, tt := range peopleRows() {
		bubble(t, tt.name, func(t *testing.T) {
			s := simulate(t, tt.api, tt.crowds...)
			for _, w := range tt.crowds {
				w.check(t, s)
			}
		})
	}
}

// play makes calls to an API that plays its part for alice and for bob, and returns the requests,
// each as milliseconds and person. A letter is a request: R is refused after 10 ms, A is answered after
// 10 ms, S is refused after 3 s, L is answered after 10 s, Q has no quota, and T is too large. The
// last letter repeats. Refusals have the headers asked, and calls end after an hour.
func play(t *testing.T, asked, parts string, calls []string) []string {
	refuse := answer(429, rateLimited, strings.Split(asked, "|")...)
	tooLarge := apiBody("tokens", "rate_limit_exceeded", "", "Request too large for gpt-5.2")
	steps := map[byte]step{
		'R': refuse,
		'S': refuse,
		'A': answer(200, finished),
		'L': answer(200, finished),
		'Q': answer(429, apiBody("", "insufficient_quota", "", "No.")),
		'T': answer(429, tooLarge),
	}

	delays := map[byte]time.Duration{'S': 3 * time.Second, 'L': 10 * time.Second}
	script := map[string]string{}
	script["alice"], script["bob"], _ = strings.Cut(parts, " ")
	var mu sync.Mutex
	var requests []string
	begin := time.Now()
	next := func(person string) byte {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, fmt.Sprint(time.Since(begin).Milliseconds(), " ", person))
		part := script[person]
		script[person] = cmp.Or(part[1:], part)
		return part[0]
	}

	api := func(req *http.Request) (*http.Response, error) {
		letter := next(callOf(req.Context()).Person)
		time.Sleep(max(10*time.Millisecond, delays[letter]))
		return steps[letter](req)
	}

	c := newClientOf(testURL, step(api), 6, io.Discard)

	var all sync.WaitGroup
	for i, call := range calls {
		milliseconds, person, _ := strings.Cut(call, " ")
		at, _ := time.ParseDuration(milliseconds + "ms")
		all.Go(func() {
			time.Sleep(at + time.Duration(i)*time.Microsecond)
			ctx, cancel := context.WithTimeout(as(t.Context(), person), time.Hour)
			defer cancel()
			_, _ = c.Create(ctx, question())
		})
	}

	all.Wait()
	return requests
}

// timesRows have the times of requests, which follow from the rules of the pacer.
var timesRows = []struct {
	name  string
	asked string // headers of a refusal
	parts string // of alice and bob
	calls string
	want  string
}{
	{
		"a call waits longer after each refusal, and a gap before its last request",
		"", "R",
		"0 alice",
		"0 alice, 510 alice, 1520 alice, 3530 alice, 7540 alice, 15550 alice, 24060 alice",
	},

	{
		"only the refused call waits for the API, and the first gap is a second",
		"Retry-After|20", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice, 20010 alice",
	},

	{
		"a call that would have to wait a day fails",
		"Retry-After|86400", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice",
	},

	{
		"or infinitely",
		"Retry-After|inf", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice",
	},

	{
		"or until a date",
		"Retry-After|Fri, 01 Jan 2100 00:00:00 GMT", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice",
	},

	{
		"or for a reset",
		"X-Ratelimit-Remaining-Tokens|0|X-Ratelimit-Reset-Tokens|24h0m0s", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice",
	},

	{
		"the gap is at least 10 ms",
		"Retry-After-Ms|1", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 20 alice, 30 alice, 40 alice",
	},

	{
		"and at most 30 s",
		"Retry-After|1", "RARARARARARARARARARARARA",
		"0 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, " +
			"20 alice, 20 alice, 20 alice, 20 alice",
		"0 alice, 1010 alice, 2010 alice, 3445 alice, 4870 alice, 6910 alice, 8941 alice, 11844 alice, " +
			"14738 alice, 18871 alice, 22995 alice, 28881 alice, 34757 alice, 43140 alice, 51513 alice, " +
			"63455 alice, 75387 alice, 92399 alice, 109402 alice, 133641 alice, 157870 alice, " +
			"187880 alice, 217880 alice, 247890 alice, 277890 alice, 306390 alice",
	},

	{
		"a burst that was accepted shortens a long gap",
		"Retry-After|20", "RA",
		"0 alice, 5 alice, 20 alice, 30 alice",
		"0 alice, 5 alice, 1010 alice, 1760 alice, 20010 alice",
	},

	{
		"nor one that refusals made longer",
		"Retry-After|1", "RARARARA RAAA",
		"0 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, " +
			"5000 bob, 5000 bob, 5000 bob, 5000 bob",
		"0 alice, 1010 alice, 2010 alice, 3445 alice, 4870 alice, 5000 bob, 5000 bob, 5000 bob, " +
			"5000 bob, 8055 alice, 11101 bob, 13995 alice, 18128 alice, 22252 alice, 26169 alice",
	},

	{
		"a burst that was accepted does not shorten a short gap",
		"Retry-After|.5", "RA",
		"0 alice, 5 alice, 20 alice",
		"0 alice, 5 alice, 510 alice, 1010 alice",
	},

	{
		"a refused call keeps its place, and each accepted request shortens the gap",
		"Retry-After|1", "RA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 1010 alice, 2010 alice, 2960 alice, 3862 alice",
	},

	{
		"without a time the rate rises fast",
		"", "RA",
		"0 alice, 20 alice, 30 alice, 40 alice, 50 alice",
		"0 alice, 510 alice, 1010 alice, 1385 alice, 1666 alice, 1877 alice",
	},

	{
		"a second counted refusal makes the gap longer and ends the rise",
		"", "RARA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1010 alice, 1582 alice, 2145 alice, 2679 alice",
	},

	{
		"refusals without an accepted request count once, and the person makes a pause",
		"", "RRRRA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1020 alice, 2030 alice, 4040 alice, 4540 alice, 4915 alice, 5196 alice",
	},

	{
		"refusals of requests that were on their way together count once",
		"Retry-After|1", "ARRRA",
		"0 alice, 1 alice, 2 alice, 3 alice, 20 alice",
		"0 alice, 1 alice, 2 alice, 3 alice, 1011 alice, 2011 alice, 2961 alice, 3863 alice",
	},

	{
		"a pause is that of one person",
		"", "R RA",
		"0 alice, 0 bob, 20 bob, 30 bob",
		"0 alice, 0 bob, 510 alice, 1010 bob, 1510 bob, 1885 alice, " +
			"2166 bob, 3895 alice, 7905 alice, 15915 alice, 24135 alice",
	},

	{
		"people take turns",
		"", "RA RA",
		"0 alice, 1 bob, 20 alice, 30 alice, 40 bob",
		"0 alice, 1 bob, 510 alice, 1010 bob, 1385 alice, 1666 bob, 1877 alice",
	},

	{
		"a request that is not refused in time is accepted",
		"", "RRLA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 510 alice, 1020 alice, 1520 alice, 1895 alice",
	},

	{
		"which takes a second at most",
		"", "SRLA",
		"0 alice, 3020 alice, 3030 alice",
		"0 alice, 3500 alice, 4010 alice, 5010 alice, 5385 alice",
	},

	{
		"a request that fails otherwise says nothing",
		"", "RQA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1010 alice, 1510 alice, 1885 alice",
	},

	{
		"for a minute after a slow refusal",
		"", "SARRLA",
		"0 alice, 70000 alice, 70020 alice, 70030 alice",
		"0 alice, 3500 alice, 70000 alice, 70510 alice, 71020 alice, 71520 alice, 71895 alice",
	},

	{
		"a minute without a refusal ends the limit",
		"", "RA",
		"0 alice, 50000 alice, 50000 alice, 61000 alice, 61000 alice",
		"0 alice, 510 alice, 50000 alice, 50375 alice, 61000 alice, 61000 alice",
	},

	{
		"and the gap",
		"", "RAARA",
		"0 alice, 61000 alice, 61000 alice, 61100 alice, 61200 alice",
		"0 alice, 510 alice, 61000 alice, 61000 alice, 61510 alice, 62010 alice, 62385 alice",
	},

	{
		"calls without a refusal go out at once",
		"", "RA A",
		"0 alice, 20 alice, 21 bob, 22 bob, 23 bob",
		"0 alice, 21 bob, 22 bob, 23 bob, 510 alice, 1010 alice",
	},

	{
		"a 429 about something else limits no call",
		"", "QA TA",
		"0 alice, 0 bob, 20 alice, 20 bob",
		"0 alice, 0 bob, 20 alice, 20 bob",
	},
}

func TestPacerTimes(t *testing.T) {
	for _, tt := range timesRows {
		bubble(t, tt.name, func(t *testing.T) {
			requests := play(t, tt.asked, tt.parts, strings.Split(tt.calls, ", "))
			got := strings.Join(requests, ", ")
			wantEqual(t, "requests", got, tt.want)
		})
	}
}

// as returns the context of a call of a person.
func as(ctx context.Context, person string) context.Context {
	return WithCall(ctx, &Call{Person: person})
}

// refused returns a client whose API has refused a request of each person, and accepts all others.
func refused(t *testing.T, people ...string) (*Client, *scripted) {
	refuse := answer(429, rateLimited, "Retry-After", "10")
	steps := append(slices.Repeat([]step{refuse}, len(people)), answer(200, finished))
	c, api := newClient(0, steps...)
	for _, person := range people {
		_, err := c.Create(as(t.Context(), person), question())
		wantKind(t, err, KindRateLimit)
		time.Sleep(300 * time.Millisecond)
	}

	return c, api
}

// A waiting call says how many calls are ahead: those of its person, and as many of each other one.
func TestPacerAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := refused(t, "alice", "bob")
		people := []string{"alice", "alice", "alice", "alice", "bob", "bob"}
		aheads := make([][]int, len(people))
		var calls sync.WaitGroup
		for i, person := range people {
			calls.Go(func() {
				events, err := collect(c.Stream(as(t.Context(), person), question()))
				wantSuccess(t, err)
				for _, ev := range events {
					if w, ok := ev.(Waiting); ok {
						aheads[i] = append(aheads[i], w.Ahead)
					}
				}
			})

			synctest.Wait()
		}

		calls.Wait()

		want := [][]int{{0}, {1, 2, 0}, {2, 4, 2, 0}, {3, 5, 4, 3, 2, 1, 0}, {0}, {2, 0}}
		wantEqual(t, "calls ahead", aheads, want)
	})
}

// A call that ends while it waits sends nothing, and the others go on.
func TestPacerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const many = 10_000
		c, api := refused(t, "alice")
		ctx, cancel := context.WithCancel(t.Context())
		var calls sync.WaitGroup
		for range many {
			calls.Go(func() {
				_, err := c.Create(as(ctx, "alice"), question())
				wantKind(t, err, KindCanceled)
			})
		}

		synctest.Wait()
		wantEqual(t, "waiting calls", c.Waiting(), many)

		short, stop := context.WithTimeout(as(ctx, "alice"), 500*time.Millisecond)
		defer stop()
		_, err := c.Create(short, question())
		wantKind(t, err, KindTimeout)
		queued, _ := errors.AsType[QueuedError](err)
		wantEqual(t, "calls ahead", queued, QueuedError(many))

		cancel()
		calls.Wait()
		api.wantRequests(t, 1)

		start := time.Now()
		_, err = c.Create(as(t.Context(), "alice"), question())
		wantSuccess(t, err)
		if took := time.Since(start); took > time.Second {
			t.Errorf("the next call took %v, want a gap", took)
		}
	})
}

// A person is forgotten after a minute. Each model has a limit of its own.
func TestPacerForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := newClient(0, answer(429, rateLimited))
		for i := range 100 {
			_, _ = c.Create(as(t.Context(), fmt.Sprint(i)), question())
		}

		wantLimited(t, c, "gpt-5.2", 100)
		wantLimited(t, c, "gpt-5-mini", 0)

		time.Sleep(time.Minute)
		synctest.Wait()
		wantLimited(t, c, "gpt-5.2", 0)
	})
}

func wantLimited(t *testing.T, c *Client, model string, want int) {
	t.Helper()
	p := c.newCall(t.Context(), model).pacer
	p.mu.Lock()
	defer p.mu.Unlock()
	wantEqual(t, "people who are limited at "+model, len(p.people), want)
}
