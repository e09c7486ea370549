package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
)

// crowdRow is a crowd that calls at once, and the time in which an API with this limit can answer
// it at best.
type crowdRow struct {
	name  string
	calls int
	ideal float64 // seconds
	slack float64 // times the ideal time, at most
	api   limits
}

// crowdRows returns the crowds, each with the headers that an API may have.
func crowdRows() []crowdRow {
	bucket := limits{rate: 5, burst: 10}
	lag := limits{rate: 5, burst: 10, latency: 400 * time.Millisecond}
	counts := limits{rate: 5, burst: 10, counts: true}
	shared := limits{rate: 5, burst: 10, others: 2}
	slow := limits{rate: 1, burst: 60, answers: 5 * time.Second}
	fast := limits{rate: 50, burst: 10, answers: time.Second}
	window := limits{rate: 5, window: true}
	changing := limits{rate: 50, burst: 10, answers: time.Second, change: limitDrop}

	all := []string{"seconds", "milliseconds", "no time"}
	var rows []crowdRow
	add := func(name string, calls int, ideal, slack float64, api limits, headers ...string) {
		for _, header := range headers {
			api.header = header
			api.answers = cmp.Or(api.answers, 2*time.Second)
			row := crowdRow{name + ", " + header, calls, ideal, slack, api}
			if header == "no time" {
				row.slack = 1.6
			}

			rows = append(rows, row)
		}
	}

	add("20 calls", 20, 4, 1.3, bucket, "seconds")
	add("60 calls", 60, 12, 1.3, bucket, slices.Sorted(maps.Keys(headers))...)
	add("60 calls, refusals take 400 ms", 60, 12, 1.3, lag, "seconds")
	add("200 calls", 200, 40, 1.3, bucket, all...)
	add("200 calls, refusals take 400 ms", 200, 40, 1.3, lag, "no time")
	add("refused requests count", 60, 12, 1.6, counts, all...)
	add("others use a part", 60, 18.7, 1.6, shared, all...)
	add("slow", 100, 45, 1.3, slow, all...)
	add("fast", 400, 8.8, 1.3, fast, "milliseconds")
	add("sliding window", 60, 14, 1.6, window, "seconds", "no time")
	add("the limit changes", 600, 48.8, 1.6, changing, "seconds")
	return rows
}

// limitDrop is a limit of 50 requests a second, from the 3rd to the 43rd second 5.
func limitDrop(at time.Duration) float64 {
	if at > 3*time.Second && at < 43*time.Second {
		return 5
	}

	return 50
}

func (row crowdRow) run(t testing.TB) *simulation {
	return simulate(t, row.api, []crowd{{calls: row.calls}})
}

// All calls of a crowd are answered, with few requests and in about the time that the limit allows.
func TestPacerCrowds(t *testing.T) {
	for _, tt := range crowdRows() {
		bubble(t, tt.name, func(t *testing.T) {
			s := tt.run(t)
			bounds{requests: 2.2}.check(t, s)
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
				synctest.Test(t, func(t *testing.T) { s = row.run(t) })
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
	want   []bounds
}

// refusals refuses the requests of some people for a while.
func refusals(while time.Duration, people ...string) refusal {
	return func(person string, begun time.Duration) bool {
		return begun < while && slices.Contains(people, person)
	}
}

// limitedRows are people whose requests the API refuses for their own sake.
func limitedRows() []peopleRow {
	var rows []peopleRow
	add := func(name string, refuse refusal, want bounds, crowds ...crowd) {
		for _, header := range []string{"5", "20", "60", "310", "no time"} {
			api := limits{header: header, refuse: refuse}
			rows = append(rows, peopleRow{name + ", " + header, api, crowds, []bounds{want}})
		}
	}

	atOnce := bounds{person: "bob", most: time.Millisecond, requests: 1}
	for _, callers := range []int{1, 5} {
		for _, earlier := range []time.Duration{0, time.Minute, 5 * time.Minute} {
			add(
				fmt.Sprintf("alice is refused, %d calls at once, for %v before bob", callers, earlier),
				refusals(time.Hour, "alice"),
				atOnce,
				crowd{person: "alice", calls: callers, loops: earlier + time.Minute},
				crowd{person: "bob", start: earlier, calls: 60, every: time.Second},
			)
		}

		for _, person := range []string{"alice", "bob"} {
			add(
				fmt.Sprintf("all are refused for a minute, %d calls at once: %s", callers, person),
				refusals(time.Minute, "alice", "bob"),
				bounds{person: person, since: time.Minute, most: 10 * time.Second},
				crowd{person: "alice", calls: callers, loops: 2 * time.Minute},
				crowd{person: "bob", calls: 120, every: time.Second},
			)
		}
	}

	add(
		"alice and carol of three are refused",
		refusals(time.Hour, "alice", "carol"),
		atOnce,
		crowd{person: "alice", calls: 5, loops: 2 * time.Minute},
		crowd{person: "carol", calls: 1, loops: 2 * time.Minute},
		crowd{person: "bob", calls: 120, every: time.Second},
	)
	return rows
}

// sharedRows are two people whose requests share a limit of 2 requests a second.
func sharedRows() []peopleRow {
	apis := map[string]limits{
		"seconds":        {rate: 2, burst: 2, header: "seconds"},
		"no time":        {rate: 2, burst: 2, header: "no time"},
		"sliding window": {rate: 2, window: true, header: "seconds"},
	}

	many := crowd{person: "alice", calls: 60, start: 20 * time.Second}
	few := bounds{person: "alice", requests: 2.2}
	var rows []peopleRow
	for name, api := range apis {
		for _, later := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			rows = append(rows, peopleRow{
				fmt.Sprintf("60 calls and %v later another, %s", later, name),
				api,
				[]crowd{many, {person: "bob", calls: 1, start: many.start + later}},
				[]bounds{few, {person: "bob", most: 6 * time.Second}},
			})
		}

		rows = append(rows, peopleRow{
			"60 calls while another asks all the time, " + name,
			api,
			[]crowd{{person: "bob", calls: 100, every: time.Second}, many},
			[]bounds{few, {person: "bob", requests: 1.2}},
		})
	}

	return rows
}

// The refusals and the crowds of one person are that person's.
func TestPacerPeople(t *testing.T) {
	for _, tt := range append(limitedRows(), sharedRows()...) {
		bubble(t, tt.name, func(t *testing.T) {
			s := simulate(t, tt.api, tt.crowds)
			for _, want := range tt.want {
				want.check(t, s)
			}
		})
	}
}

// After a refusal with a strange wait that call fails, and the next ones are answered.
func TestPacerStrangeWaits(t *testing.T) {
	for name, headers := range map[string][]string{
		"a day":    {"Retry-After", "86400"},
		"infinite": {"Retry-After", "inf"},
		"a date":   {"Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"},
		"a reset":  {"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "24h0m0s"},
	} {
		bubble(t, name, func(t *testing.T) {
			c, _, _ := newClient(t, 3, answer(429, rateLimited, headers...), answer(200, finished))
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			begin := time.Now()

			_, err := c.Create(ctx, question())
			wantKind(t, err, KindRateLimit)
			if e := asError(t, err); e.RetryAfter < 24*time.Hour {
				t.Errorf("try again in %v, want a day or more", e.RetryAfter)
			}

			if took := time.Since(begin); took > 0 {
				t.Errorf("the refused call ends after %v, want at once", took)
			}

			for range 5 {
				wantKind(t, createError(t, c), Kind{})
			}

			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("5 later calls took %v, want at most 5 s", took)
			}
		})
	}
}

// play makes calls to an API that plays its part for alice and for bob, and returns the requests,
// each as milliseconds and person. A letter is a request: R is refused after 10 ms, A is answered after
// 10 ms, S is refused after 3 s, L is answered after 10 s, Q has no quota, and T is too large. The
// last letter repeats.
func play(t *testing.T, retryAfterMs string, parts string, calls []string) []string {
	refuse := func(body string) step { return answer(429, body, "Retry-After-Ms", retryAfterMs) }
	tooLarge := apiBody("tokens", "rate_limit_exceeded", "", "Request too large for gpt-5.2")
	steps := map[byte]step{
		'R': refuse(rateLimited),
		'S': refuse(rateLimited),
		'Q': refuse(apiBody("", "insufficient_quota", "", "No.")),
		'T': refuse(tooLarge),
	}

	delays := map[byte]time.Duration{
		'S': 3 * time.Second,
		'L': 10 * time.Second,
	}

	alice, bob, _ := strings.Cut(parts, " ")
	script := map[string]string{"alice": alice, "bob": bob}
	var mu sync.Mutex
	var requests []string
	begin := time.Now()
	next := func(person string) byte {
		mu.Lock()
		defer mu.Unlock()
		requests = append(requests, fmt.Sprint(time.Since(begin).Milliseconds(), " ", person))
		part := script[person]
		if len(part) > 1 {
			script[person] = part[1:]
		}

		return part[0]
	}

	c := newClientOf(step(func(req *http.Request) (*http.Response, error) {
		person := callOf(req.Context()).Person
		letter := next(person)
		time.Sleep(max(10*time.Millisecond, delays[letter]))
		if refused := steps[letter]; refused != nil {
			return refused(req)
		}

		return answer(200, finished)(req)
	}), 6)

	var all sync.WaitGroup
	for i, call := range calls {
		at := milliseconds(t, call)
		_, person, _ := strings.Cut(call, " ")
		all.Go(func() {
			time.Sleep(time.Duration(at)*time.Millisecond + time.Duration(i)*time.Microsecond)
			_, _ = c.Create(as(t, person), question())
		})
	}

	all.Wait()
	return requests
}

// milliseconds returns the time of a call or a request.
func milliseconds(t *testing.T, request string) (n int) {
	_, err := fmt.Sscan(request, &n)
	if err != nil {
		t.Fatal(err)
	}

	return n
}

// timesRows have the times of requests, which follow from the rules of the pacer.
var timesRows = []struct {
	name  string
	asked string // Retry-After-Ms
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
		"20000", "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice, 20010 alice",
	},
	{
		"a burst that was accepted shortens a long gap",
		"20000", "RA",
		"0 alice, 5 alice, 20 alice, 30 alice",
		"0 alice, 5 alice, 1010 alice, 1760 alice, 20010 alice",
	},
	{
		"a burst that was accepted does not shorten a short gap",
		"500", "RA",
		"0 alice, 5 alice, 20 alice",
		"0 alice, 5 alice, 510 alice, 1010 alice",
	},
	{
		"a refused call keeps its place, and each accepted request shortens the gap",
		"1000", "RA",
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
		"1000", "ARRRA",
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
			if got != tt.want {
				t.Errorf("requests:\n got %s\nwant %s", got, tt.want)
			}
		})
	}
}

// The gap has a lower and an upper bound.
func TestPacerGap(t *testing.T) {
	for _, tt := range []struct {
		name  string
		part  string
		calls int
		at    int // number of a request, from 0 on
		want  int // milliseconds between it and the one before
	}{
		{"shortest", "RA", 200, 200, 10},
		{"longest", "R" + strings.Repeat("AR", 12), 15, 22, 30_000},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			calls := append([]string{"0 alice"}, slices.Repeat([]string{"20 alice"}, tt.calls-1)...)
			requests := play(t, "1000", tt.part, calls)
			got := milliseconds(t, requests[tt.at]) - milliseconds(t, requests[tt.at-1])
			if got != tt.want {
				t.Errorf("%d ms, want %d", got, tt.want)
			}
		})
	}
}

// as returns the context of a call of a person.
func as(t testing.TB, person string) context.Context {
	return WithCall(t.Context(), &Call{Person: person})
}

// refused returns a client whose API has refused a request of each person, and accepts all others.
func refused(t *testing.T, people ...string) (*Client, *scripted) {
	refuse := answer(429, rateLimited, "Retry-After", "10")
	steps := append(slices.Repeat([]step{refuse}, len(people)), answer(200, finished))
	c, api, _ := newClient(t, 0, steps...)
	for _, person := range people {
		_, err := c.Create(as(t, person), question())
		wantKind(t, err, KindRateLimit)
		time.Sleep(300 * time.Millisecond)
	}

	return c, api
}

func wantWaiting(t *testing.T, c *Client, want int) {
	t.Helper()
	if n := c.Waiting(); n != want {
		t.Errorf("%d calls wait, want %d", n, want)
	}
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
				for ev, err := range c.Stream(as(t, person), question()) {
					if err != nil {
						t.Error(err)
					}
					if w, ok := ev.(Waiting); ok {
						aheads[i] = append(aheads[i], w.Ahead)
					}
				}
			})

			synctest.Wait()
		}

		wantWaiting(t, c, len(people))
		calls.Wait()

		want := [][]int{{0}, {1, 2, 0}, {2, 4, 2, 0}, {3, 5, 4, 3, 2, 1, 0}, {0}, {2, 0}}
		if diff := gocmp.Diff(want, aheads); diff != "" {
			t.Errorf("calls ahead (-want +got):\n%s", diff)
		}
	})
}

// A call that ends while it waits sends nothing, and the others go on.
func TestPacerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api := refused(t, "alice")
		alice := as(t, "alice")
		ended := make(chan error, 10_000)
		ctx, cancel := context.WithCancel(alice)
		for range cap(ended) {
			go func() {
				_, err := c.Create(ctx, question())
				ended <- err
			}()
		}

		synctest.Wait()
		wantWaiting(t, c, cap(ended))

		short, stop := context.WithTimeout(alice, 500*time.Millisecond)
		defer stop()
		_, err := c.Create(short, question())
		wantKind(t, err, KindTimeout)
		queued, _ := errors.AsType[QueuedError](err)
		if int(queued) != cap(ended) {
			t.Errorf("%d calls ahead, want %d", queued, cap(ended))
		}

		cancel()
		for range cap(ended) {
			wantKind(t, <-ended, KindCanceled)
		}

		wantWaiting(t, c, 0)
		api.wantRequests(t, 1)

		start := time.Now()
		_, err = c.Create(alice, question())
		wantKind(t, err, Kind{})
		if took := time.Since(start); took > time.Second {
			t.Errorf("the next call took %v, want a gap", took)
		}
	})
}

// A person is forgotten after a minute.
func TestPacerForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _, _ := newClient(t, 0, answer(429, rateLimited))
		for i := range 100 {
			_, _ = c.Create(as(t, fmt.Sprint(i)), question())
		}

		v, _ := c.pacers.Load("gpt-5.2")
		p := v.(*pacer)
		limited := func() int {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.people)
		}
		if n := limited(); n != 100 {
			t.Errorf("%d people are limited, want 100", n)
		}

		time.Sleep(time.Minute)
		synctest.Wait()
		if n := limited(); n != 0 {
			t.Errorf("%d people are limited after a minute, want none", n)
		}
	})
}

// Each model has a limit of its own.
func TestPacerModels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := refused(t, "")
		r := question()
		r.Model = "gpt-5-mini"
		start := time.Now()
		_, err := c.Create(t.Context(), r)
		wantKind(t, err, Kind{})
		if took := time.Since(start); took > 0 {
			t.Errorf("the call waited %v", took)
		}
	})
}
