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
	Rate    float64       // requests a second; 0: everything
	Burst   float64       // at most at once
	Window  bool          // rate in the last second, in place of a bucket that fills
	Others  float64       // requests a second that other programs make
	Counts  bool          // a refused request takes what is left of the limit
	Drops   bool          // a tenth of the rate from the 3rd to the 43rd second
	Random  float64       // share of the requests that are refused at random
	Well    time.Duration // end of the refusals at random; 0: none
	Latency time.Duration // from a request to its refusal; 0: 40 ms
	Answers time.Duration // from a request to its answer
	Header  string        // of a refusal: a name that headers knows, or a Retry-After
	Seed    uint64        // of what is random
}

// crowd is calls of one person, and what they may cost.
type crowd struct {
	Person  string
	Start   time.Duration
	Calls   int
	Every   time.Duration // from one call to the next; 0: all at once
	Loops   time.Duration // each of the calls is followed by others until then; 0: none
	Refused time.Duration // all requests of the person are refused until then
	Named   string        // the Retry-After of these refusals; "": as of all others
	Stream  bool          // these refusals come in streams

	Since    time.Duration // only calls that start from then on are checked
	Most     time.Duration // that a call waits; 0: not checked
	Requests float64       // for each call; 0: not checked
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
	if w.Most == 0 && w.Requests == 0 {
		return
	}

	calls := 0
	for _, o := range s.outcomes[w.Person] {
		if o.start < w.Since {
			continue
		}

		calls++
		if o.err != nil {
			t.Errorf("%s: %v", w.Person, o.err)
		}

		if w.Most > 0 && o.wait > w.Most {
			t.Errorf("%s: a call waits %v, want at most %v", w.Person, o.wait, w.Most)
		}
	}

	requests := float64(s.requests[w.Person]) / float64(calls)
	if calls == 0 || w.Requests > 0 && requests > w.Requests {
		t.Errorf("%s: %.2f requests a call, want at most %.2f", w.Person, requests, w.Requests)
	}
}

func (s *simulation) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(s.Latency / 2)
	wait := s.take(req.Header.Get("Traceparent"))
	if wait > 0 {
		time.Sleep(s.Latency / 2)
		return s.refusalOf(req.Header.Get("Traceparent"), wait)(req)
	}

	select {
	case <-time.After(s.Answers):
	case <-req.Context().Done():
	}

	return succeed(req)
}

// refusalOf returns the refusal of a request of a call.
func (s *simulation) refusalOf(call string, wait time.Duration) step {
	person, _, _ := strings.Cut(call, "#")
	l := s.limits
	for _, w := range s.crowds {
		ofPerson := w.Person == person && time.Since(s.begin) < w.Refused
		if ofPerson && w.Stream {
			return answer(200, `{"status":"failed","error":{"code":"rate_limit_exceeded",`+
				`"message":"Please try again in `+cmp.Or(w.Named, "0")+`s."}}`)
		}
		if ofPerson {
			l.Header = cmp.Or(w.Named, l.Header)
		}
	}
	return l.refusal(wait)
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
		if w.Person == person && at < w.Refused {
			return time.Second
		}
	}

	recovered := s.Well > 0 && at >= s.Well
	if !recovered && s.chance(call) < s.Random {
		return time.Second
	}

	rate := s.Rate
	if s.Drops && at > 3*time.Second && at < 43*time.Second {
		rate /= 10
	}

	switch {
	case rate == 0:
		return 0
	case s.Window:
		return s.takeOfWindow(time.Now(), int(rate))
	}

	s.tokens = math.Min(s.Burst, s.tokens+(rate-s.Others)*time.Since(s.filled).Seconds())
	s.filled = time.Now()
	if s.tokens >= 1-1e-9 {
		s.tokens--
		return 0
	}

	wait := time.Duration((1 - s.tokens) / rate * float64(time.Second))
	if s.Counts {
		s.tokens = 0
	}

	return wait
}

// chance returns the random number of an attempt, which does not depend on the order of requests.
func (s *simulation) chance(call string) float64 {
	hash := fnv.New64a()
	_, _ = io.WriteString(hash, call)
	return rand.New(rand.NewPCG(s.Seed+s.attempts[call]<<32, hash.Sum64())).Float64()
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

// simulate lets crowds call an API until all their calls have ended, and checks what the calls
// cost.
func simulate(t *testing.T, l limits, crowds ...crowd) *simulation {
	l.Latency = cmp.Or(l.Latency, 40*time.Millisecond)
	s := &simulation{
		limits:   l,
		crowds:   crowds,
		begin:    time.Now(),
		attempts: map[string]uint64{},
		tokens:   l.Burst,
		filled:   time.Now(),
		requests: map[string]int{},
		outcomes: map[string][]outcome{},
	}

	cl := newClientOf(testURL, s, 3, io.Discard)
	cl.options.Logger = slog.New(slog.DiscardHandler) // Logging bodies takes long.
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
		wait := s.ended - start - s.Answers - s.Latency/2
		s.outcomes[person] = append(s.outcomes[person], outcome{start, wait, err})
	}

	var calls sync.WaitGroup
	for _, w := range crowds {
		for i := range w.Calls {
			calls.Go(func() {
				time.Sleep(w.Start + time.Duration(i)*w.Every)
				call(w.Person, fmt.Sprint(i))
				for n := 1; time.Since(s.begin) < w.Loops; n++ {
					time.Sleep(500 * time.Millisecond)
					call(w.Person, fmt.Sprint(i, " ", n))
				}
			})
		}
	}

	calls.Wait()
	wantEqual(t, "waiting calls", cl.NumWaiting(), 0)
	for _, w := range crowds {
		w.check(t, s)
	}
	return s
}

// refusal returns a refusal, as APIs say how long to wait.
func (l limits) refusal(wait time.Duration) step {
	switch l.Header {
	case "no time":
		return answer(429, rateLimited)
	case "seconds":
		return answer(429, rateLimited, "Retry-After", fmt.Sprint(math.Ceil(wait.Seconds())))
	case "milliseconds":
		ms := fmt.Sprint(math.Ceil(wait.Seconds() * 1000))
		return answer(429, rateLimited, "Retry-After-Ms", ms)
	case "time of the reset":
		whole := time.Duration(l.Burst / l.Rate * float64(time.Second))
		return answer(429, rateLimited,
			"X-Ratelimit-Remaining-Requests", "0",
			"X-Ratelimit-Reset-Requests", whole.String())
	}
	return answer(429, rateLimited, "Retry-After", l.Header)
}
