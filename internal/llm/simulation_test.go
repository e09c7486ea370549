package llm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"
)

// limits is what a simulated API allows.
type limits struct {
	rate    float64                               // requests a second; 0: everything
	burst   float64                               // at most at once
	window  bool                                  // rate in the last second, in place of a bucket that fills
	others  float64                               // requests a second that other programs make
	counts  bool                                  // a refused request takes what is left of the limit
	latency time.Duration                         // from a request to its refusal; 0: 40 ms
	answers time.Duration                         // from a request to its answer
	header  string                                // of a refusal: a key of headers, or a Retry-After
	refuse  refusal                               // nil: none
	change  func(at time.Duration) (rate float64) // nil: the rate stays
}

// refusal refuses further requests.
type refusal func(person string, at time.Duration) bool

// simulation is an API with limits, and what became of its requests. Its time is that of a synctest
// bubble.
type simulation struct {
	limits
	begin time.Time

	mu       sync.Mutex
	tokens   float64
	filled   time.Time            // when tokens was right
	accepted []time.Time          // in the last second
	requests map[string]int       // by person
	outcomes map[string][]outcome // by person
	ended    time.Duration        // when the last call ended
}

// crowd is calls of one person.
type crowd struct {
	person string
	start  time.Duration
	calls  int
	every  time.Duration // from one call to the next; 0: all at once
	loops  time.Duration // each of the calls is followed by others until then; 0: none
}

// outcome is what became of a call.
type outcome struct {
	start, wait time.Duration // wait: without the time that the answer takes
	err         error
}

// bounds are what the calls of a person may cost, which are all answered. Those that are 0 are not
// checked.
type bounds struct {
	person   string
	since    time.Duration // only calls that start from then on count
	most     time.Duration // that a call waits
	requests float64       // for each call
}

// check compares the outcomes of a run with the bounds.
func (b bounds) check(t testing.TB, s *simulation) {
	t.Helper()
	calls := 0
	for _, o := range s.outcomes[b.person] {
		if o.start < b.since {
			continue
		}

		calls++
		if o.err != nil {
			t.Errorf("%s: %v", b.person, o.err)
		}

		if b.most > 0 && o.wait > b.most {
			t.Errorf("%s: a call waits %v, want at most %v", b.person, o.wait, b.most)
		}
	}

	requests := float64(s.requests[b.person]) / float64(calls)
	if calls == 0 || b.requests > 0 && requests > b.requests {
		t.Errorf("%s: %.2f requests a call, want at most %.2f", b.person, requests, b.requests)
	}
}

func (s *simulation) RoundTrip(req *http.Request) (*http.Response, error) {
	person := callOf(req.Context()).Person
	time.Sleep(s.latency / 2)
	wait := s.take(person)
	if wait > 0 {
		time.Sleep(s.latency / 2)
		header := []string{"Retry-After", s.header}
		if say := headers[s.header]; say != nil {
			header = say(wait)
		}

		return answer(429, rateLimited, header...)(req)
	}

	select {
	case <-time.After(s.answers):
	case <-req.Context().Done():
	}

	return answer(200, finished)(req)
}

// take returns how long it takes until a request is accepted, 0 when it is.
func (s *simulation) take(person string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	s.requests[person]++
	if s.change != nil {
		s.rate = s.change(now.Sub(s.begin))
	}

	if s.refuse != nil && s.refuse(person, now.Sub(s.begin)) {
		return time.Second
	}

	if s.rate == 0 {
		return 0
	}

	if s.window {
		s.accepted = slices.DeleteFunc(s.accepted, func(at time.Time) bool {
			return now.Sub(at) >= time.Second
		})

		if len(s.accepted) >= int(s.rate) {
			wait := s.accepted[0].Add(time.Second).Sub(now)
			if s.counts {
				s.accepted = append(s.accepted[1:], now)
			}

			return wait
		}

		s.accepted = append(s.accepted, now)
		return 0
	}

	s.tokens = math.Min(s.burst, s.tokens+(s.rate-s.others)*now.Sub(s.filled).Seconds())
	s.filled = now
	if s.tokens >= 1-1e-9 {
		s.tokens--
		return 0
	}

	wait := time.Duration((1 - s.tokens) / s.rate * float64(time.Second))
	if s.counts {
		s.tokens = 0
	}

	return wait
}

// simulate lets crowds call an API until all their calls have ended.
func simulate(t testing.TB, l limits, crowds []crowd) *simulation {
	l.latency = cmp.Or(l.latency, 40*time.Millisecond)
	s := &simulation{
		limits:   l,
		begin:    time.Now(),
		tokens:   l.burst,
		filled:   time.Now(),
		requests: map[string]int{},
		outcomes: map[string][]outcome{},
	}

	c := newClientOf(s, 3)

	call := func(person string) {
		ctx, cancel := context.WithTimeout(as(t, person), 5*time.Minute)
		defer cancel()
		start := time.Since(s.begin)
		_, err := c.Create(ctx, question())
		s.mu.Lock()
		defer s.mu.Unlock()
		s.ended = time.Since(s.begin)
		wait := s.ended - start - s.answers - s.latency/2
		s.outcomes[person] = append(s.outcomes[person], outcome{start, wait, err})
	}

	var calls sync.WaitGroup
	for _, w := range crowds {
		for i := range w.calls {
			calls.Go(func() {
				time.Sleep(w.start + time.Duration(i)*w.every)
				call(w.person)
				for time.Since(s.begin) < w.loops {
					time.Sleep(500 * time.Millisecond)
					call(w.person)
				}
			})
		}
	}

	calls.Wait()
	if n := c.Waiting(); n != 0 {
		t.Errorf("%d calls still wait", n)
	}

	return s
}

// headers are how APIs say how long to wait.
var headers = map[string]func(wait time.Duration) []string{
	"no time": func(time.Duration) []string { return nil },
	"seconds": func(wait time.Duration) []string {
		return []string{"Retry-After", fmt.Sprint(math.Ceil(wait.Seconds()))}
	},
	"milliseconds": func(wait time.Duration) []string {
		return []string{"Retry-After-Ms", fmt.Sprint(math.Ceil(wait.Seconds() * 1000))}
	},
	"time of the reset": func(wait time.Duration) []string {
		const prefix = "X-Ratelimit-"
		return []string{
			prefix + "Remaining-Requests", "0",
			prefix + "Reset-Requests", wait.String(),
			prefix + "Reset-Tokens", "6m0s",
		}
	},
}
