package llm

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// limits is what a simulated API allows.
type limits struct {
	rate    float64       // requests a second; 0: everything
	burst   float64       // at most at once
	window  bool          // rate in the last second, in place of a bucket that fills
	others  float64       // requests a second that other programs make
	counts  bool          // a refused request takes what is left of the limit
	drops   bool          // a tenth of the rate from the 3rd to the 43rd second
	random  float64       // share of the requests that are refused at random
	well    time.Duration // end of the refusals at random; 0: none
	latency time.Duration // from a request to its refusal; 0: 40 ms
	answers time.Duration // from a request to its answer
	header  string        // of a refusal: a name that headers knows, or a Retry-After
	seed    uint64        // of what is random
}

// crowd is calls of one person, and what they may cost.
type crowd struct {
	person  string
	start   time.Duration
	calls   int
	every   time.Duration // from one call to the next; 0: all at once
	loops   time.Duration // each of the calls is followed by others until then; 0: none
	refused time.Duration // all requests of the person are refused until then

	since    time.Duration // only calls that start from then on are checked
	most     time.Duration // that a call waits; 0: not checked
	requests float64       // for each call; 0: not checked
}

// outcome is what became of a call.
type outcome struct {
	start, wait time.Duration // wait: without the time that the answer takes
	err         error
}

// simulation is an API with limits, and what became of its requests. Its time is that of a synctest
// bubble.
type simulation struct {
	limits
	crowds []crowd
	begin  time.Time

	mu       sync.Mutex
	attempts map[string]uint64 // by call
	tokens   float64
	filled   time.Time            // when tokens was right
	accepted []time.Time          // in the last second
	requests map[string]int       // by person
	outcomes map[string][]outcome // by person
	ended    time.Duration        // when the last call ended
}

// check checks the calls of a crowd, which are all answered, if it says what they may cost.
func (w crowd) check(t *testing.T, s *simulation) {
	if w.most == 0 && w.requests == 0 {
		return
	}

	calls := 0
	for _, o := range s.outcomes[w.person] {
		if o.start < w.since {
			continue
		}

		calls++
		if o.err != nil {
			t.Errorf("%s: %v", w.person, o.err)
		}

		if w.most > 0 && o.wait > w.most {
			t.Errorf("%s: a call waits %v, want at most %v", w.person, o.wait, w.most)
		}
	}

	requests := float64(s.requests[w.person]) / float64(calls)
	if calls == 0 || w.requests > 0 && requests > w.requests {
		t.Errorf("%s: %.2f requests a call, want at most %.2f", w.person, requests, w.requests)
	}
}

func (s *simulation) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(s.latency / 2)
	wait := s.take(req.Header.Get("Traceparent"))
	if wait > 0 {
		time.Sleep(s.latency / 2)
		return s.refusal(wait)(req)
	}

	select {
	case <-time.After(s.answers):
	case <-req.Context().Done():
	}

	return answer(200, finished)(req)
}

// take returns how long it takes until a request of a call is accepted, 0 when it is.
func (s *simulation) take(call string) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()

	person, _, _ := strings.Cut(call, "#")
	s.attempts[call]++
	s.requests[person]++
	at := time.Since(s.begin)
	for _, w := range s.crowds {
		if w.person == person && at < w.refused {
			return time.Second
		}
	}

	recovered := s.well > 0 && at >= s.well
	if !recovered && s.chance(call) < s.random {
		return time.Second
	}

	rate := s.rate
	if s.drops && at > 3*time.Second && at < 43*time.Second {
		rate /= 10
	}

	switch {
	case rate == 0:
		return 0
	case s.window:
		return s.takeOfWindow(time.Now(), int(rate))
	}

	s.tokens = math.Min(s.burst, s.tokens+(rate-s.others)*time.Since(s.filled).Seconds())
	s.filled = time.Now()
	if s.tokens >= 1-1e-9 {
		s.tokens--
		return 0
	}

	wait := time.Duration((1 - s.tokens) / rate * float64(time.Second))
	if s.counts {
		s.tokens = 0
	}

	return wait
}

// chance returns the random number of an attempt, which does not depend on the order of requests.
func (s *simulation) chance(call string) float64 {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, call)
	return rand.New(rand.NewPCG(s.seed+s.attempts[call]<<32, hash.Sum64())).Float64()
}

// takeOfWindow is take for a number of requests within a second.
func (s *simulation) takeOfWindow(now time.Time, most int) time.Duration {
	s.accepted = slices.DeleteFunc(s.accepted, func(at time.Time) bool {
		return now.Sub(at) >= time.Second
	})

	if len(s.accepted) >= most {
		return s.accepted[0].Add(time.Second).Sub(now)
	}

	s.accepted = append(s.accepted, now)
	return 0
}

// simulate lets crowds call an API until all their calls have ended.
func simulate(t *testing.T, l limits, crowds ...crowd) *simulation {
	l.latency = cmp.Or(l.latency, 40*time.Millisecond)
	s := &simulation{
		limits:   l,
		crowds:   crowds,
		begin:    time.Now(),
		attempts: map[string]uint64{},
		tokens:   l.burst,
		filled:   time.Now(),
		requests: map[string]int{},
		outcomes: map[string][]outcome{},
	}

	cl := newClientOf(testURL, s, 3, io.Discard)
	cl.o.Logger = slog.New(slog.DiscardHandler) // Logging bodies takes long.
	call := func(person, name string) {
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		start := time.Since(s.begin)
		named := as(person)
		named.Traceparent = person + "#" + name
		_, err := cl.Create(ctx, named, question())

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
				call(w.person, fmt.Sprint(i))
				for n := 1; time.Since(s.begin) < w.loops; n++ {
					time.Sleep(500 * time.Millisecond)
					call(w.person, fmt.Sprint(i, " ", n))
				}
			})
		}
	}

	calls.Wait()
	wantEqual(t, "waiting calls", cl.Waiting(), 0)
	return s
}

// refusal returns a refusal, as APIs say how long to wait.
func (l limits) refusal(wait time.Duration) step {
	switch l.header {
	case "no time":
		return answer(429, rateLimited)
	case "seconds":
		return answer(429, rateLimited, "Retry-After", fmt.Sprint(math.Ceil(wait.Seconds())))
	case "milliseconds":
		ms := fmt.Sprint(math.Ceil(wait.Seconds() * 1000))
		return answer(429, rateLimited, "Retry-After-Ms", ms)
	case "words":
		message := fmt.Sprintf("Please try again in %v.", wait.Round(time.Millisecond))
		return answer(429, apiBody("tokens", "rate_limit_exceeded", "", message))
	case "time of the reset":
		whole := time.Duration(l.burst / l.rate * float64(time.Second))
		return answer(429, rateLimited,
			"X-Ratelimit-Remaining-Requests", "0",
			"X-Ratelimit-Reset-Requests", whole.String())
	}
	return answer(429, rateLimited, "Retry-After", l.header)
}
