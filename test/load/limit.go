package main

import (
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"time"
)

// wave is a number of calls at once to an API that limits their rate.
type wave struct {
	calls       int
	rate, burst float64       // requests a second, and at once
	answers     time.Duration // from a request to its answer
	others      float64       // requests a second of other programs
	counts      bool          // a refused request takes what is left of the limit
	silent      bool          // a refusal names no time
	ideal       float64       // seconds
	slack       float64       // times the ideal
}

var waves = []wave{
	{calls: 20, rate: 5, burst: 10, answers: 2 * time.Second, ideal: 4, slack: 1.3},
	{calls: 60, rate: 5, burst: 10, answers: 2 * time.Second, ideal: 12, slack: 1.3},
	{calls: 200, rate: 5, burst: 10, answers: 2 * time.Second, ideal: 40, slack: 1.3},
	{calls: 60, rate: 5, burst: 10, answers: 2 * time.Second, counts: true, ideal: 12, slack: 1.6},
	{calls: 60, rate: 5, burst: 10, answers: 2 * time.Second, others: 2, ideal: 18.7, slack: 1.6},
	{calls: 60, rate: 5, burst: 10, answers: 2 * time.Second, silent: true, ideal: 12, slack: 1.6},
	{calls: 100, rate: 1, burst: 60, answers: 5 * time.Second, ideal: 45, slack: 1.3},
}

// limited sends the waves side by side, each to a server and an API of its own.
func limited(binary string) error {
	if failed := sideBySide(len(waves), func(i int) error { return waves[i].run(binary) }); failed > 0 {
		return fmt.Errorf("%d waves exceed their limits", failed)
	}
	return nil
}

func (w wave) run(binary string) error {
	api := &limitedAPI{wave: w, left: w.burst, at: time.Now()}
	backend := httptest.NewServer(api)
	defer backend.Close()
	s, err := start(binary, backend.URL+"/v1", w.calls)
	if err != nil {
		return err
	}
	defer s.kill()
	begin := time.Now()
	lost := sideBySide(w.calls, func(int) error {
		_, err := s.call("load")
		return err
	})
	took, requests := time.Since(begin).Seconds(), float64(api.requests.Load())/float64(w.calls)
	fmt.Printf("%d calls at %v a second: %d lost, %.1f s of %.1f at best, %.2f requests a call\n", w.calls, w.rate, lost, took, w.ideal, requests)
	if lost > 0 || took > w.slack*w.ideal+3 || requests > 2.2 {
		return fmt.Errorf("%d calls at %v a second: at most %.1f s and 2.2 requests a call", w.calls, w.rate, w.slack*w.ideal+3)
	}
	return nil
}

// limitedAPI answers while the limit has something left, which grows with time.
type limitedAPI struct {
	wave
	requests atomic.Int64

	mu   sync.Mutex
	left float64
	at   time.Time
}

func (a *limitedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	a.requests.Add(1)
	wait := a.take()
	w.Header().Set("Content-Type", "application/json")
	if wait == 0 {
		time.Sleep(a.answers)
		_, _ = io.WriteString(w, `{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`)
		return
	}
	if !a.silent {
		w.Header().Set("Retry-After", fmt.Sprint(math.Ceil(wait)))
	}
	w.WriteHeader(http.StatusTooManyRequests)
	_, _ = io.WriteString(w, `{"error":{"type":"requests","code":"rate_limit_exceeded","message":"Slow down."}}`)
}

// take returns after how many seconds a request would be accepted, 0 for now.
func (a *limitedAPI) take() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := time.Now()
	a.left = min(a.burst, a.left+(a.rate-a.others)*now.Sub(a.at).Seconds())
	a.at = now
	if a.left >= 1 {
		a.left--
		return 0
	}
	wait := (1 - a.left) / a.rate
	if a.counts {
		a.left = 0
	}
	return wait
}
