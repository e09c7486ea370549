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
	ideal time.Duration
	slack float64 // times the ideal time, at most
	api   limits
}

var crowdRows = []crowdRow{
	{"20 calls", 20, 4 * time.Second, 1.3, limits{rate: 5, burst: 10, header: seconds}},
	{"60 calls", 60, 12 * time.Second, 1.3, limits{rate: 5, burst: 10, header: seconds}},
	{"60 calls, milliseconds", 60, 12 * time.Second, 1.3, limits{rate: 5, burst: 10, header: millis}},
	{"60 calls, time of the reset", 60, 12 * time.Second, 1.3, limits{rate: 5, burst: 10, header: reset}},
	{"60 calls, no time", 60, 12 * time.Second, 1.6, limits{rate: 5, burst: 10, header: unnamed}},
	{"60 calls, refusals take 400 ms", 60, 12 * time.Second, 1.3, limits{rate: 5, burst: 10, header: seconds, latency: 400 * time.Millisecond}},
	{"200 calls", 200, 40 * time.Second, 1.3, limits{rate: 5, burst: 10, header: seconds}},
	{"200 calls, milliseconds", 200, 40 * time.Second, 1.3, limits{rate: 5, burst: 10, header: millis}},
	{"200 calls, no time", 200, 40 * time.Second, 1.6, limits{rate: 5, burst: 10, header: unnamed}},
	{"200 calls, no time, refusals take 400 ms", 200, 40 * time.Second, 1.6, limits{rate: 5, burst: 10, header: unnamed, latency: 400 * time.Millisecond}},
	{"refused requests count", 60, 12 * time.Second, 1.6, limits{rate: 5, burst: 10, counts: true, header: seconds}},
	{"refused requests count, milliseconds", 60, 12 * time.Second, 1.6, limits{rate: 5, burst: 10, counts: true, header: millis}},
	{"refused requests count, no time", 60, 12 * time.Second, 1.6, limits{rate: 5, burst: 10, counts: true, header: unnamed}},
	{"others use a part", 60, 18700 * time.Millisecond, 1.6, limits{rate: 5, burst: 10, others: 2, header: seconds}},
	{"others use a part, milliseconds", 60, 18700 * time.Millisecond, 1.6, limits{rate: 5, burst: 10, others: 2, header: millis}},
	{"others use a part, no time", 60, 18700 * time.Millisecond, 1.6, limits{rate: 5, burst: 10, others: 2, header: unnamed}},
	{"slow", 100, 45 * time.Second, 1.3, limits{rate: 1, burst: 60, answers: 5 * time.Second, header: seconds}},
	{"slow, milliseconds", 100, 45 * time.Second, 1.3, limits{rate: 1, burst: 60, answers: 5 * time.Second, header: millis}},
	{"slow, no time", 100, 45 * time.Second, 1.6, limits{rate: 1, burst: 60, answers: 5 * time.Second, header: unnamed}},
	{"fast", 400, 8800 * time.Millisecond, 1.3, limits{rate: 50, burst: 10, answers: time.Second, header: millis}},
	{"sliding window", 60, 14 * time.Second, 1.6, limits{rate: 5, window: true, header: seconds}},
	{"sliding window, no time", 60, 14 * time.Second, 1.6, limits{rate: 5, window: true, header: unnamed}},
	{"the limit changes", 600, 48800 * time.Millisecond, 1.6, limits{rate: 50, burst: 10, answers: time.Second, header: seconds, change: limitDrop}},
}

// limitDrop is a limit of 50 requests a second, from the 3rd to the 43rd second 5.
func limitDrop(at time.Duration) float64 {
	if at > 3*time.Second && at < 43*time.Second {
		return 5
	}
	return 50
}

func (row crowdRow) run(t testing.TB) *simulation {
	row.api.answers = cmp.Or(row.api.answers, 2*time.Second)
	return simulate(t, row.api, []crowd{{calls: row.calls}})
}

// All calls of a crowd are answered, with few requests and in about the time that the limit allows.
func TestPacerCrowds(t *testing.T) {
	for _, tt := range crowdRows {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := tt.run(t)
				bounds{requests: 2.2}.check(t, s)
				most := time.Duration(tt.slack*float64(tt.ideal)) + 3*time.Second
				if s.ended > most {
					t.Errorf("took %v, want at most %v", s.ended, most)
				}
			})
		})
	}
}

// BenchmarkPacerCrowds reports how much longer than at best each crowd takes in simulated time.
func BenchmarkPacerCrowds(b *testing.B) {
	every := func(string, string) (bool, error) { return true, nil }
	for _, row := range crowdRows {
		b.Run(row.name, func(b *testing.B) {
			var s *simulation
			crowd := func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) { s = row.run(t) })
			}
			for b.Loop() { // RunTests, because a bubble needs a T
				testing.RunTests(every, []testing.InternalTest{{Name: row.name, F: crowd}})
			}
			b.ReportMetric(s.ended.Seconds()/row.ideal.Seconds(), "x-ideal")
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
func refusals(while time.Duration, people ...string) func(string, time.Duration) bool {
	return func(person string, begun time.Duration) bool {
		return begun < while && slices.Contains(people, person)
	}
}

// refusedRows are people whose requests the API refuses for their own sake.
func refusedRows() []peopleRow {
	headers := map[string]func(time.Duration) []string{
		"5 s":     fixed("5"),
		"20 s":    fixed("20"),
		"60 s":    fixed("60"),
		"310 s":   fixed("310"),
		"no time": unnamed,
	}
	var rows []peopleRow
	for name, header := range headers {
		for _, callers := range []int{1, 5} {
			for _, earlier := range []time.Duration{0, time.Minute, 5 * time.Minute} {
				rows = append(rows, peopleRow{
					fmt.Sprintf("alice is refused, %s, %d calls at once, for %v before bob", name, callers, earlier),
					limits{header: header, refuse: refusals(time.Hour, "alice")},
					[]crowd{
						{person: "alice", calls: callers, loops: earlier + time.Minute},
						{person: "bob", start: earlier, calls: 60, every: time.Second},
					},
					[]bounds{{person: "bob", most: time.Millisecond, requests: 1}},
				})
			}
			rows = append(rows, peopleRow{
				fmt.Sprintf("all are refused for a minute, %s, %d calls at once", name, callers),
				limits{header: header, refuse: refusals(time.Minute, "alice", "bob")},
				[]crowd{
					{person: "alice", calls: callers, loops: 2 * time.Minute},
					{person: "bob", calls: 120, every: time.Second},
				},
				[]bounds{
					{person: "alice", since: time.Minute, most: 10 * time.Second},
					{person: "bob", since: time.Minute, most: 10 * time.Second},
				},
			})
		}
	}

	return append(rows, peopleRow{
		"alice and bob of three are refused",
		limits{header: fixed("5"), refuse: refusals(time.Hour, "alice", "bob")},
		[]crowd{
			{person: "alice", calls: 5, loops: 2 * time.Minute},
			{person: "bob", calls: 1, loops: 2 * time.Minute},
			{person: "carol", calls: 120, every: time.Second},
		},
		[]bounds{{person: "carol", most: time.Millisecond, requests: 1}},
	})
}

// sharedRows are two people whose requests share a limit of 2 requests a second.
func sharedRows() []peopleRow {
	apis := map[string]limits{
		"seconds":        {rate: 2, burst: 2, header: seconds},
		"no time":        {rate: 2, burst: 2, header: unnamed},
		"sliding window": {rate: 2, window: true, header: seconds},
	}
	many := crowd{person: "alice", calls: 60, start: 20 * time.Second}
	var rows []peopleRow
	for name, api := range apis {
		for _, later := range []time.Duration{100 * time.Millisecond, 3 * time.Second, 10 * time.Second} {
			rows = append(rows, peopleRow{
				fmt.Sprintf("60 calls and %v later another, %s", later, name),
				api,
				[]crowd{many, {person: "bob", calls: 1, start: many.start + later}},
				[]bounds{{person: "alice", requests: 2.2}, {person: "bob", most: 6 * time.Second}},
			})
		}
		rows = append(rows, peopleRow{
			"60 calls while another asks all the time, " + name,
			api,
			[]crowd{{person: "bob", calls: 100, every: time.Second}, many},
			[]bounds{{person: "alice", requests: 2.2}, {person: "bob", requests: 1.2}},
		})
	}
	return rows
}

// The refusals and the crowds of one person are that person's.
func TestPacerPeople(t *testing.T) {
	for _, tt := range append(refusedRows(), sharedRows()...) {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := simulate(t, tt.api, tt.crowds)
				for _, want := range tt.want {
					want.check(t, s)
				}
			})
		})
	}
}

// After a refusal with a strange wait that call fails, and the next ones are answered.
func TestPacerStrangeWaits(t *testing.T) {
	for _, tt := range []struct {
		name    string
		headers []string
	}{
		{"a day", []string{"Retry-After", "86400"}},
		{"infinite", []string{"Retry-After", "inf"}},
		{"a date", []string{"Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"}},
		{"a reset", []string{"X-Ratelimit-Remaining-Tokens", "0", "X-Ratelimit-Reset-Tokens", "24h0m0s"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, _, _ := newClient(t, 3, answer(429, rateLimited, tt.headers...), answer(200, finished))
				ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
				defer cancel()
				begin := time.Now()

				_, err := c.Create(ctx, question())
				e := asError(t, err)
				if e.Kind != KindRateLimit || e.RetryAfter < 24*time.Hour {
					t.Errorf("the refused call: %v, try again in %v, want a day or more", err, e.RetryAfter)
				}
				if took := time.Since(begin); took > 0 {
					t.Errorf("the refused call ends after %v, want at once", took)
				}

				for range 5 {
					_, err := c.Create(ctx, question())
					if err != nil {
						t.Error(err)
					}
				}
				if took := time.Since(begin); took > 5*time.Second {
					t.Errorf("5 later calls took %v, want at most 5 s", took)
				}
			})
		})
	}
}

// play makes calls to an API that plays its part for each person, and returns the requests, each
// as milliseconds and person. A letter is a request: R is refused after 10 ms, A is answered after
// 10 ms, S is refused after 3 s, and L is answered after 10 s. The last letter repeats.
func play(t *testing.T, retryAfterMs string, script parts, calls []string) []string {
	script = maps.Clone(script)
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
	api := func(req *http.Request) (*http.Response, error) {
		person, _ := req.Context().Value(personKey{}).(string)
		letter := next(person)
		delays := map[byte]time.Duration{'S': 3 * time.Second, 'L': 10 * time.Second}
		time.Sleep(max(10*time.Millisecond, delays[letter]))
		if letter == 'R' || letter == 'S' {
			return answer(429, rateLimited, "Retry-After-Ms", retryAfterMs)(req)
		}
		return answer(200, finished)(req)
	}
	c := New(Options{BaseURL: "http://api.test/v1", APIKey: testKey, MaxRetries: 6, HTTPClient: &http.Client{Transport: step(api)}})

	var all sync.WaitGroup
	for i, call := range calls {
		var at int
		var person string
		_, err := fmt.Sscan(call, &at, &person)
		if err != nil {
			t.Fatal(err)
		}
		all.Go(func() {
			time.Sleep(time.Duration(at)*time.Millisecond + time.Duration(i)*time.Microsecond)
			_, _ = c.Create(WithPerson(t.Context(), person), question())
		})
	}
	all.Wait()
	return requests
}

// milliseconds returns the time of a request.
func milliseconds(t *testing.T, request string) (n int) {
	_, err := fmt.Sscan(request, &n)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// parts are the letters of play by person.
type parts map[string]string

// timesRows have the times of requests, which follow from the rules of the pacer.
var timesRows = []struct {
	name  string
	asked string // Retry-After-Ms
	parts parts
	calls string
	want  string
}{
	{"a call waits longer after each refusal, and a gap before its last request", "", parts{"alice": "R"},
		"0 alice",
		"0 alice, 510 alice, 1520 alice, 3530 alice, 7540 alice, 15550 alice, 24060 alice"},
	{"only the refused call waits for the API, and the first gap is a second", "20000", parts{"alice": "RA"},
		"0 alice, 20 alice, 30 alice",
		"0 alice, 1010 alice, 2010 alice, 20010 alice"},
	{"a burst that was accepted shortens a long gap", "20000", parts{"alice": "RA"},
		"0 alice, 5 alice, 20 alice, 30 alice",
		"0 alice, 5 alice, 1010 alice, 1760 alice, 20010 alice"},
	{"a burst that was accepted does not shorten a short gap", "500", parts{"alice": "RA"},
		"0 alice, 5 alice, 20 alice",
		"0 alice, 5 alice, 510 alice, 1010 alice"},
	{"a refused call keeps its place, and each accepted request shortens the gap", "1000", parts{"alice": "RA"},
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 1010 alice, 2010 alice, 2960 alice, 3862 alice"},
	{"without a time the rate rises fast", "", parts{"alice": "RA"},
		"0 alice, 20 alice, 30 alice, 40 alice, 50 alice",
		"0 alice, 510 alice, 1010 alice, 1385 alice, 1666 alice, 1877 alice"},
	{"a second counted refusal makes the gap longer and ends the rise", "", parts{"alice": "RARA"},
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1010 alice, 1582 alice, 2145 alice, 2679 alice"},
	{"refusals without an accepted request count once, and the person makes a pause", "", parts{"alice": "RRRRA"},
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1020 alice, 2030 alice, 4040 alice, 4540 alice, 4915 alice, 5196 alice"},
	{"refusals of requests that were on their way together count once", "1000", parts{"alice": "ARRRA"},
		"0 alice, 1 alice, 2 alice, 3 alice, 20 alice",
		"0 alice, 1 alice, 2 alice, 3 alice, 1011 alice, 2011 alice, 2961 alice, 3863 alice"},
	{"a pause is that of one person", "", parts{"alice": "R", "bob": "RA"},
		"0 alice, 0 bob, 20 bob, 30 bob",
		"0 alice, 0 bob, 510 alice, 1010 bob, 1510 bob, 1885 alice, 2166 bob, 3895 alice, 7905 alice, 15915 alice, 24135 alice"},
	{"people take turns", "", parts{"alice": "RA", "bob": "RA"},
		"0 alice, 1 bob, 20 alice, 30 alice, 40 bob",
		"0 alice, 1 bob, 510 alice, 1010 bob, 1385 alice, 1666 bob, 1877 alice"},
	{"a request that is not refused in time is accepted", "", parts{"alice": "RRLA"},
		"0 alice, 20 alice, 30 alice",
		"0 alice, 510 alice, 1020 alice, 1520 alice, 1895 alice"},
	{"which takes a second at most", "", parts{"alice": "SRLA"},
		"0 alice, 3020 alice, 3030 alice",
		"0 alice, 3500 alice, 4010 alice, 5010 alice, 5385 alice"},
	{"a minute without a refusal ends the limit", "", parts{"alice": "RA"},
		"0 alice, 50000 alice, 50000 alice, 61000 alice, 61000 alice",
		"0 alice, 510 alice, 50000 alice, 50375 alice, 61000 alice, 61000 alice"},
	{"and the gap", "", parts{"alice": "RAARA"},
		"0 alice, 61000 alice, 61000 alice, 61100 alice, 61200 alice",
		"0 alice, 510 alice, 61000 alice, 61000 alice, 61510 alice, 62010 alice, 62385 alice"},
	{"calls without a refusal go out at once", "", parts{"alice": "RA", "bob": "A"},
		"0 alice, 20 alice, 21 bob, 22 bob, 23 bob",
		"0 alice, 21 bob, 22 bob, 23 bob, 510 alice, 1010 alice"},
}

func TestPacerTimes(t *testing.T) {
	for _, tt := range timesRows {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				requests := play(t, tt.asked, tt.parts, strings.Split(tt.calls, ", "))
				got := strings.Join(requests, ", ")
				if got != tt.want {
					t.Errorf("requests:\n got %s\nwant %s", got, tt.want)
				}
			})
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
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				calls := append([]string{"0 alice"}, slices.Repeat([]string{"20 alice"}, tt.calls-1)...)
				requests := play(t, "1000", parts{"alice": tt.part}, calls)
				got := milliseconds(t, requests[tt.at]) - milliseconds(t, requests[tt.at-1])
				if got != tt.want {
					t.Errorf("%d ms, want %d", got, tt.want)
				}
			})
		})
	}
}

// refused returns a client whose API has refused a request of alice, and accepts all others.
func refused(t *testing.T) (*Client, *scripted) {
	c, api, _ := newClient(t, 0, answer(429, rateLimited, "Retry-After", "10"), answer(200, finished))
	_, err := c.Create(WithPerson(t.Context(), "alice"), question())
	if asError(t, err).Kind != KindRateLimit {
		t.Fatal(err)
	}
	return c, api
}

// A waiting call says how many calls are ahead: those of its person, and as many of each other one.
func TestPacerAhead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refuse := answer(429, rateLimited, "Retry-After", "10")
		c, _, _ := newClient(t, 0, refuse, refuse, answer(200, finished))
		for _, person := range []string{"alice", "bob"} {
			_, err := c.Create(WithPerson(t.Context(), person), question())
			if asError(t, err).Kind != KindRateLimit {
				t.Fatal(err)
			}
			time.Sleep(300 * time.Millisecond)
		}

		people := []string{"alice", "alice", "alice", "alice", "bob", "bob"}
		aheads := make([][]int, len(people))
		var calls sync.WaitGroup
		for i, person := range people {
			calls.Go(func() {
				for ev, err := range c.Stream(WithPerson(t.Context(), person), question()) {
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
		if n := c.Waiting(); n != len(people) {
			t.Errorf("%d calls wait, want %d", n, len(people))
		}
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
		c, api := refused(t)
		alice := WithPerson(t.Context(), "alice")
		ended := make(chan error, 10_000)
		ctx, cancel := context.WithCancel(alice)
		for range cap(ended) {
			go func() {
				_, err := c.Create(ctx, question())
				ended <- err
			}()
		}
		synctest.Wait()
		if n := c.Waiting(); n != cap(ended) {
			t.Errorf("%d calls wait, want %d", n, cap(ended))
		}

		short, stop := context.WithTimeout(alice, 999*time.Millisecond)
		defer stop()
		_, err := c.Create(short, question())
		queued, waited := errors.AsType[QueuedError](err)
		if kindOf(t, err) != KindTimeout || !waited || int(queued) != cap(ended) {
			t.Errorf("a call with little time: %v, %d calls ahead, want %v, %d calls ahead", err, queued, KindTimeout, cap(ended))
		}

		cancel()
		for range cap(ended) {
			if err := <-ended; kindOf(t, err) != KindCanceled {
				t.Fatalf("a cancelled call: %v, want %v", err, KindCanceled)
			}
		}
		if n := c.Waiting(); n != 0 {
			t.Errorf("%d calls wait after all were cancelled", n)
		}
		if n := api.requests(); n != 1 {
			t.Errorf("%d requests, want the refused one", n)
		}

		start := time.Now()
		_, err = c.Create(alice, question())
		if err != nil {
			t.Error(err)
		}
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
			_, _ = c.Create(WithPerson(t.Context(), fmt.Sprint(i)), question())
		}
		p := c.pacer("gpt-5.2")
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

// A 429 about something else, and one of another model, limits no call.
func TestPacerUnlimited(t *testing.T) {
	for _, tt := range []struct{ name, body, model string }{
		{"quota", apiBody("insufficient_quota", "insufficient_quota", "", "No."), "gpt-5.2"},
		{"too large", apiBody("tokens", "rate_limit_exceeded", "", "Request too large for gpt-5.2 on tokens per min (TPM): Limit 30000, Requested 40000."), "gpt-5.2"},
		{"another model", rateLimited, "gpt-5-mini"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c, api, _ := newClient(t, 0, answer(429, tt.body, "Retry-After", "10"), answer(200, finished))
				_, err := c.Create(t.Context(), question())
				asError(t, err)
				if n := api.requests(); n != 1 {
					t.Errorf("%d requests, want 1", n)
				}

				r := question()
				r.Model = tt.model
				start := time.Now()
				_, err = c.Create(t.Context(), r)
				if err != nil {
					t.Error(err)
				}
				if took := time.Since(start); took > 0 {
					t.Errorf("the next call waited %v", took)
				}
			})
		})
	}
}
