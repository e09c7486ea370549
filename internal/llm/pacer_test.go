package llm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// limited is an API with a rate limit: a bucket of tokens that fills with time, from which each
// request takes one.
type limited struct {
	rate, burst float64                           // tokens a second, and at most
	answers     time.Duration                     // from a request to its answer
	others      float64                           // tokens a second that other programs take
	counts      bool                              // a refused request empties the bucket
	header      func(wait time.Duration) []string // of a refusal, in pairs

	mu       sync.Mutex
	tokens   float64
	at       time.Time
	requests int
}

const latency = 20 * time.Millisecond // of a request, and of its refusal

func (l *limited) RoundTrip(req *http.Request) (*http.Response, error) {
	time.Sleep(latency) // a whole wave is on its way before the first refusal
	wait := l.take()
	if wait > 0 {
		time.Sleep(latency)
		return answer(429, rateLimited, l.header(wait)...)(req)
	}
	time.Sleep(l.answers)
	return answer(200, finished)(req)
}

// take returns how long it takes until there is a token, 0 when there is one.
func (l *limited) take() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	passed := time.Since(l.at).Seconds() // at the first request ages
	l.at = time.Now()
	l.tokens = math.Min(l.burst, l.tokens+(l.rate-l.others)*passed)
	l.requests++
	if l.tokens >= 1-1e-9 {
		l.tokens--
		return 0
	}
	wait := time.Duration((1 - l.tokens) / l.rate * float64(time.Second))
	if l.counts {
		l.tokens = 0
	}
	return wait
}

// All calls of a wave are answered, with few requests and in about the time that the limit allows.
func TestPacerWaves(t *testing.T) {
	none := func(time.Duration) []string { return nil }
	seconds := func(wait time.Duration) []string {
		return []string{"Retry-After", fmt.Sprint(math.Ceil(wait.Seconds()))}
	}
	exact := func(wait time.Duration) []string {
		return []string{"Retry-After-Ms", fmt.Sprint(math.Ceil(wait.Seconds() * 1000))}
	}
	reset := func(wait time.Duration) []string {
		const prefix = "X-Ratelimit-"
		return []string{prefix + "Remaining-Requests", "0", prefix + "Reset-Requests", wait.String(), prefix + "Reset-Tokens", "6m0s"}
	}
	for _, tt := range []struct {
		name  string
		calls int
		api   *limited
		ideal float64 // seconds
		slack float64 // times the ideal
	}{
		{"20", 20, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: seconds}, 4, 1.3},
		{"60", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: seconds}, 12, 1.3},
		{"60, exact", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: exact}, 12, 1.3},
		{"60, reset", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: reset}, 12, 1.3},
		{"200", 200, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: seconds}, 40, 1.3},
		{"200, exact", 200, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: exact}, 40, 1.3},
		{"refused requests count", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, counts: true, header: seconds}, 12, 1.6},
		{"refused requests count, exact", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, counts: true, header: exact}, 12, 1.6},
		{"others use a part", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, others: 2, header: seconds}, 18.7, 1.6},
		{"others use a part, exact", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, others: 2, header: exact}, 18.7, 1.6},
		{"no headers", 60, &limited{rate: 5, burst: 10, answers: 2 * time.Second, header: none}, 12, 1.6},
		{"slow", 100, &limited{rate: 1, burst: 60, answers: 5 * time.Second, header: seconds}, 45, 1.3},
		{"slow, exact", 100, &limited{rate: 1, burst: 60, answers: 5 * time.Second, header: exact}, 45, 1.3},
		{"slow, no headers", 100, &limited{rate: 1, burst: 60, answers: 5 * time.Second, header: none}, 45, 1.6},
		{"fast", 400, &limited{rate: 50, burst: 10, answers: time.Second, header: exact}, 8.8, 1.3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := New(Options{BaseURL: "http://api.test/v1", APIKey: testKey, MaxRetries: 3, HTTPClient: &http.Client{Transport: tt.api}})
				ctx, cancel := context.WithTimeout(t.Context(), 300*time.Second)
				defer cancel()
				start := time.Now()
				var wg sync.WaitGroup
				for range tt.calls {
					wg.Go(func() {
						if _, err := c.Create(ctx, question()); err != nil {
							t.Error(err)
						}
					})
				}
				wg.Wait()
				took, most, requests := time.Since(start).Seconds(), tt.slack*tt.ideal+3, float64(tt.api.requests)/float64(tt.calls)
				if took > most || requests > 2.2 || c.Waiting() != 0 {
					t.Errorf("%.1f s, want at most %.1f; %.2f requests a call; %d calls still wait", took, most, requests, c.Waiting())
				}
			})
		})
	}
}

// refused returns a client whose API has refused a request for 10 seconds.
func refused(t *testing.T) (*Client, *scripted) {
	c, api, _ := newClient(t, 0, answer(429, rateLimited, "Retry-After", "10"), answer(200, finished))
	if _, err := c.Create(t.Context(), question()); asError(t, err).Kind != KindRateLimit {
		t.Fatal(err)
	}
	return c, api
}

// Calls go out in the order of their arrival, and each says how many are ahead.
func TestPacerOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, _ := refused(t)
		ended := make(chan string, 4)
		var wg sync.WaitGroup
		for i := range 4 {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				var ahead []int
				for ev, err := range c.Stream(t.Context(), question()) {
					if err != nil {
						t.Error(err)
					}
					if w, ok := ev.(Waiting); ok {
						ahead = append(ahead, w.Ahead)
					}
				}
				ended <- fmt.Sprint(i, ahead)
			})
		}
		time.Sleep(time.Second)
		if n := c.Waiting(); n != 4 {
			t.Errorf("%d calls wait, want 4", n)
		}
		wg.Wait()
		for _, want := range []string{"0 [0]", "1 [1 0]", "2 [2 1 0]", "3 [3 2 1 0]"} {
			if got := <-ended; got != want {
				t.Errorf("call %s, want %s", got, want)
			}
		}
	})
}

// A call that cannot be sent in time ends without a request, and the others go on.
func TestPacerEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, api := refused(t)
		call := func(limit time.Duration, cancelled bool) (took time.Duration, err error) {
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			defer cancel()
			if cancelled {
				time.AfterFunc(time.Second, cancel)
			}
			start := time.Now()
			_, err = c.Create(ctx, question())
			return time.Since(start), err
		}
		var wg sync.WaitGroup
		for _, tt := range []struct {
			name      string
			limit     time.Duration
			cancelled bool
			kind      Kind // none: success
			took      time.Duration
		}{
			{"beyond the wait of the API", 5 * time.Second, false, KindRateLimit, 0},
			{"cancelled", time.Minute, true, KindCanceled, time.Second},
			{"answered", time.Minute, false, Kind{}, 10 * time.Second},
			{"the next turn is too late", 10*time.Second + time.Millisecond, false, KindRateLimit, 10 * time.Second},
			{"next", time.Minute, false, Kind{}, 11 * time.Second},
			{"too far behind", 10*time.Second + 5*time.Millisecond, false, KindTimeout, 10*time.Second + 5*time.Millisecond},
		} {
			wg.Go(func() {
				took, err := call(tt.limit, tt.cancelled)
				if took != tt.took || kindOf(t, err) != tt.kind {
					t.Errorf("%s: %v after %v, want %v after %v", tt.name, err, took, tt.kind, tt.took)
				}
				queued, waited := errors.AsType[QueuedError](err)
				if waited != (tt.kind == KindTimeout || tt.kind == KindCanceled) || tt.kind == KindTimeout && queued != 1 {
					t.Errorf("%s: %d calls were ahead: %v", tt.name, queued, err)
				}
			})
			synctest.Wait()
		}
		wg.Wait()
		if n := api.requests(); n != 3 {
			t.Errorf("%d requests, want the refused one and 2", n)
		}
		// A minute without a refusal ends the limit.
		time.Sleep(paceMemory + time.Second)
		for range 100 {
			if took, err := call(time.Minute, false); err != nil || took > 0 {
				t.Fatalf("a call after a minute: %v after %v", err, took)
			}
		}
	})
}

// A 429 about something else, and one of another model, slow no call.
func TestPacerUnlimited(t *testing.T) {
	for name, body := range map[string]string{
		"quota":     apiBody("insufficient_quota", "insufficient_quota", "", "No."),
		"too large": apiBody("tokens", "rate_limit_exceeded", "", "Request too large for gpt-5.2 on tokens per min (TPM): Limit 30000, Requested 40000."),
		"model":     rateLimited,
	} {
		synctest.Test(t, func(t *testing.T) {
			c, api, _ := newClient(t, 0, answer(429, body, "Retry-After", "10"), answer(200, finished))
			_, err := c.Create(t.Context(), question())
			if e := asError(t, err); e.Attempts != 1 || api.requests() != 1 {
				t.Errorf("%s: %v", name, err)
			}
			r, start := question(), time.Now()
			if name == "model" {
				r.Model = "gpt-5-mini"
			}
			if _, err := c.Create(t.Context(), r); err != nil || time.Since(start) > 0 {
				t.Errorf("%s: the next call ended after %v: %v", name, time.Since(start), err)
			}
		})
	}
}

// Calls are answered again soon after the API has refused everything for a while, also when they
// never stop coming.
func TestPacerRecovers(t *testing.T) {
	for _, after := range []string{"5", "20"} {
		synctest.Test(t, func(t *testing.T) {
			begin := time.Now()
			outage := func(req *http.Request) (*http.Response, error) {
				if time.Since(begin) < 45*time.Second {
					return answer(429, rateLimited, "Retry-After", after)(req)
				}
				return answer(200, finished)(req)
			}
			c, _, _ := newClient(t, 3, outage)
			var late atomic.Int32
			var wg sync.WaitGroup
			for i := range 300 {
				wg.Go(func() {
					time.Sleep(time.Duration(i) * 2 * time.Second)
					ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
					defer cancel()
					start := time.Now()
					_, err := c.Create(ctx, question())
					if i > 150 && (err != nil || time.Since(start) > time.Second) {
						late.Add(1)
					}
				})
			}
			wg.Wait()
			if n := late.Load(); n > 0 {
				t.Errorf("Retry-After %s: %d of the last 150 calls failed or waited", after, n)
			}
		})
	}
}
