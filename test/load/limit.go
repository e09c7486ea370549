package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// scenario is calls of alice and bob to an API that refuses some requests, with 429 and a header.
type scenario struct {
	name        string
	rate, burst float64       // requests a second, and at once; 0: no limit
	counts      bool          // a refused request takes what is left of the burst
	loops       int           // calls that alice repeats until the crowds have their answers
	isRefused   bool          // all requests of alice are refused
	answers     time.Duration // from a request to its answer
	header      string        // "": Retry-After, the seconds until a request is accepted
	crowds      []crowd
}

// crowd is calls of one person.
type crowd struct {
	person string
	start  time.Duration
	calls  int
	every  time.Duration // from one call to the next; 0: all at once
	within time.Duration // each call must be answered so soon
}

const second = time.Second

// unnamed is a header that does not say how long to wait.
const unnamed = "X-Ratelimit-Remaining-Tokens: 0"

// scenarios last about half a minute. The tests of internal/llm have more, in simulated time.
func scenarios() (all []scenario) {
	add := func(sc scenario, name string, crowds ...crowd) {
		sc.name = name
		sc.crowds = crowds
		all = append(all, sc)
	}
	sixty := func(within time.Duration) crowd {
		return crowd{person: "alice", calls: 60, within: within}
	}

	// A rate that calls share.
	five := scenario{rate: 5, burst: 10, answers: 2 * second}
	add(five, "60 calls", sixty(19*second))
	five.header = unnamed
	add(five, "60 calls, the API names no time", sixty(22*second))
	five.header = ""
	five.counts = true
	add(five, "60 calls, refused requests count", sixty(22*second))
	shared := scenario{rate: 3, burst: 10, answers: 2 * second} // others use 2 of 5
	add(shared, "60 calls, others use a part", sixty(33*second))
	two := scenario{rate: 2, burst: 2}
	once := crowd{person: "bob", start: second, calls: 1, within: 6 * second}
	add(two, "60 calls at 2 a second, and another", sixty(45*second), once)
	steady := crowd{person: "bob", calls: 30, every: second, within: 30 * second}
	twenty := crowd{person: "alice", start: 5 * second, calls: 20, within: 45 * second}
	add(two, "20 calls at 2 a second, while another asks all the time", steady, twenty)

	// Requests of alice are refused. Bob asks meanwhile, and does not wait for her.
	bob := crowd{person: "bob", start: 5 * second, calls: 20, every: second, within: 3 * second}
	for _, header := range []string{"Retry-After: 5", "Retry-After: 20", "Retry-After: 310", unnamed} {
		for _, calls := range []int{1, 5} {
			name := fmt.Sprintf("%d of alice's calls are refused, %s", calls, header)
			add(scenario{loops: calls, isRefused: true, header: header}, name, bob)
		}
	}
	return all
}

// run makes the calls, with a server and an API of their own.
func (sc scenario) run(binary string) error {
	api := &limitedAPI{
		scenario: sc,
		requests: map[string]*atomic.Int64{"alice": {}, "bob": {}},
	}
	backend := httptest.NewServer(api)
	defer backend.Close()

	s, err := program{binary, backend.URL + "/v1"}.start(anyPort)
	if err != nil {
		return err
	}
	var over atomic.Bool
	var alice sync.WaitGroup
	alice.Go(func() {
		sideBySide(sc.loops, func(int) error {
			for !over.Load() {
				s.call("alice", "alice", 0)
				time.Sleep(second / 10)
			}
			return nil
		})
	})

	err = sideBySide(len(sc.crowds), func(i int) error { return sc.crowds[i].call(s, api) })
	over.Store(true)
	s.kill()
	alice.Wait()
	return err
}

// call makes the calls of a crowd.
func (w crowd) call(s *process, api *limitedAPI) error {
	err := sideBySide(w.calls, func(i int) error {
		time.Sleep(w.start + time.Duration(i)*w.every)
		return s.call(w.person, w.person, w.within)
	})

	requests := float64(api.requests[w.person].Load()) / float64(w.calls)
	fmt.Printf("%s: %d calls of %s within %v, %.2f requests each, error: %v\n",
		api.name, w.calls, w.person, w.within, requests, err)
	if api.rate > 0 && requests > 2.2 {
		return fmt.Errorf("%.2f requests for each of %s's calls, want 2.2", requests, w.person)
	}
	return err
}

// limitedAPI plays the API of a scenario. The question of a request is its person.
type limitedAPI struct {
	scenario
	requests map[string]*atomic.Int64 // by person

	mu     sync.Mutex
	left   float64   // of the burst
	filled time.Time // when left was right; zero before the first request
}

func (a *limitedAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	person := "bob"
	if strings.Contains(string(body), "alice") {
		person = "alice"
	}

	w.Header().Set("Content-Type", "application/json")
	wait := a.take(person)
	if wait == 0 {
		time.Sleep(a.answers)
		io.WriteString(w, `{"id":"resp_1","status":"completed","output":[`+
			`{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`)
		return
	}

	header := cmp.Or(a.header, fmt.Sprint("Retry-After: ", math.Ceil(wait)))
	name, value, _ := strings.Cut(header, ": ")
	w.Header().Set("X-Ratelimit-Remaining-Tokens", "0")
	w.Header().Set(name, value)
	w.WriteHeader(http.StatusTooManyRequests)
	io.WriteString(w, `{"error":{"type":"tokens","code":"rate_limit_exceeded"}}`)
}

// take returns after how many seconds a request would be accepted, 0 for now.
func (a *limitedAPI) take(person string) float64 {
	a.mu.Lock()
	defer a.mu.Unlock()

	a.requests[person].Add(1)
	if a.isRefused && person == "alice" {
		return 1
	}
	if a.rate == 0 {
		return 0
	}

	now := time.Now()
	a.left = min(a.burst, a.left+a.rate*now.Sub(a.filled).Seconds())
	a.filled = now
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
