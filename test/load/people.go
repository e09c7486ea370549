package main

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"time"
)

// trouble is what an API does to the requests of alice, and how bob's calls fare meanwhile.
type trouble struct {
	name    string
	refuses func(a *troubledAPI, person string) bool
	header  [2]string // of a refusal; none: it names no time
	rate    float64   // requests a second for both together; 0: everything

	earlier time.Duration // from the start of alice's calls to that of bob's
	alice   int           // calls
	loops   bool          // alice asks again and again
	bob     int           // calls, one a second
	before  bool          // bob asks from the start

	since    time.Duration // only bob's calls from then on count
	most     time.Duration // that 95 % of them may take
	answered float64       // share of them
}

// troubles returns the scenarios. They last about a minute more than earlier.
func troubles(earlier time.Duration) []trouble {
	alice := func(_ *troubledAPI, person string) bool { return person == "alice" }
	first := func(a *troubledAPI, _ string) bool { return a.requests["alice"] == 1 && a.requests["bob"] == 0 }
	minute := func(a *troubledAPI, _ string) bool { return time.Since(a.begin) < time.Minute }
	refused := trouble{refuses: alice, earlier: earlier, alice: 1, loops: true, bob: 60, most: 3 * time.Second, answered: 0.95}

	var all []trouble
	for _, after := range []string{"20", "5", "60", "310", ""} {
		t := refused
		t.name = "alice is refused, Retry-After " + after
		t.header = [2]string{"Retry-After", after}
		all = append(all, t)
	}
	crowd := all[0]
	crowd.name = "five of alice's calls are refused, Retry-After 20"
	crowd.alice = 5
	all = append(all, crowd)

	for _, header := range [][2]string{
		{"Retry-After", "86400"},
		{"Retry-After", "inf"},
		{"Retry-After", "Fri, 01 Jan 2100 00:00:00 GMT"},
		{"X-Ratelimit-Reset-Tokens", "24h0m0s"},
	} {
		all = append(all, trouble{
			name:     "one call is refused, " + header[0] + " " + header[1],
			refuses:  first,
			header:   header,
			earlier:  time.Second,
			alice:    1,
			bob:      5,
			most:     5 * time.Second,
			answered: 1,
		})
	}
	return append(all,
		trouble{name: "all are refused for a minute", refuses: minute, header: [2]string{"Retry-After", "20"},
			alice: 5, loops: true, bob: 75, since: time.Minute, most: 10 * time.Second, answered: 1},
		trouble{name: "60 calls at 2 a second, and another", header: [2]string{"Retry-After", "1"}, rate: 2, earlier: time.Second, alice: 60,
			bob: 1, most: 6 * time.Second, answered: 1},
		trouble{name: "60 calls at 2 a second, and another all the time", header: [2]string{"Retry-After", "1"}, rate: 2, earlier: 10 * time.Second, alice: 60,
			bob: 60, before: true, most: time.Hour, answered: 1},
	)
}

// people runs the scenarios side by side, each with a server and an API of its own.
func people(binary string, earlier time.Duration) error {
	all := troubles(earlier)
	failed := sideBySide(len(all), func(i int) error { return all[i].run(binary) })
	if failed > 0 {
		return fmt.Errorf("%d people wait for others", failed)
	}
	return nil
}

// run makes the calls of both people, and compares those of bob with the bounds.
func (t trouble) run(binary string) error {
	api := &troubledAPI{trouble: t, begin: time.Now(), requests: map[string]int{}}
	backend := httptest.NewServer(api)
	defer backend.Close()
	s, err := startAt("127.0.0.1:0", binary, backend.URL+"/v1", 1000, "alice", "bob")
	if err != nil {
		return err
	}
	defer s.kill()

	aliceStart, bobStart := time.Duration(0), t.earlier
	if t.before {
		aliceStart, bobStart = t.earlier, 0
	}
	var alice sync.WaitGroup
	var lost int64
	alice.Go(func() {
		time.Sleep(aliceStart)
		lost = t.callAsAlice(s, api.begin)
	})
	time.Sleep(bobStart)
	calls, took := t.callAsBob(s, api.begin)
	if t.rate > 0 {
		alice.Wait() // else they end with the server
	}

	var usual time.Duration
	if len(took) > 0 {
		usual = took[(len(took)-1)*95/100].Round(time.Millisecond)
	}
	requests := float64(api.count("alice")) / float64(t.alice)
	fmt.Printf("%s: %d of %d of bob's calls answered, 95 %% within %v, %.2f requests for each of alice's calls\n",
		t.name, len(took), calls, usual, requests)

	if float64(len(took)) < t.answered*float64(calls) || usual > t.most {
		return fmt.Errorf("%s: want %.0f %% of bob's calls answered, within %v", t.name, 100*t.answered, t.most)
	}
	if t.rate > 0 && (lost > 0 || requests > 2.2) {
		return fmt.Errorf("%s: %d of alice's calls lost, want none, and 2.2 requests each", t.name, lost)
	}
	return nil
}

// callAsAlice makes alice's calls, and returns how many are lost. Where the API refuses her
// requests, that is none of the figures.
func (t trouble) callAsAlice(s *process, begin time.Time) int64 {
	end := t.earlier + time.Duration(t.bob)*time.Second
	return sideBySide(t.alice, func(int) error {
		_, err := s.callAs("alice", "alice")
		for t.loops && time.Since(begin) < end {
			time.Sleep(100 * time.Millisecond)
			_, _ = s.callAs("alice", "alice")
		}
		if t.rate == 0 {
			return nil
		}
		return err
	})
}

// callAsBob makes a call each second. Of the calls that count it returns how many there are, and
// how long the answered ones took, from the shortest.
func (t trouble) callAsBob(s *process, begin time.Time) (calls int, took []time.Duration) {
	var mu sync.Mutex
	var all sync.WaitGroup
	for range t.bob {
		counts := time.Since(begin) >= t.since
		if counts {
			calls++
		}
		all.Go(func() {
			d, err := s.callAs("bob", "bob")
			mu.Lock()
			defer mu.Unlock()
			if counts && err == nil {
				took = append(took, d)
			}
		})
		time.Sleep(time.Second)
	}
	all.Wait()
	slices.Sort(took)
	return calls, took
}

// troubledAPI answers requests, whose person is in the question.
type troubledAPI struct {
	trouble
	begin time.Time

	mu       sync.Mutex
	requests map[string]int
	accepted []time.Time // in the last second
}

func (a *troubledAPI) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	person := "bob"
	if strings.Contains(string(body), "alice") {
		person = "alice"
	}

	w.Header().Set("Content-Type", "application/json")
	if !a.accepts(person) {
		if a.header[1] != "" {
			w.Header().Set(a.header[0], a.header[1])
		}
		w.Header().Set("X-Ratelimit-Remaining-Tokens", "0")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = io.WriteString(w, `{"error":{"type":"tokens","code":"rate_limit_exceeded","message":"Slow down."}}`)
		return
	}
	_, _ = io.WriteString(w, `{"id":"resp_1","status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`)
}

// count returns how many requests a person has made.
func (a *troubledAPI) count(person string) int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.requests[person]
}

func (a *troubledAPI) accepts(person string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.requests[person]++
	if a.rate == 0 {
		return !a.refuses(a, person)
	}

	now := time.Now()
	a.accepted = slices.DeleteFunc(a.accepted, func(at time.Time) bool { return now.Sub(at) >= time.Second })
	if len(a.accepted) >= int(a.rate) {
		return false
	}
	a.accepted = append(a.accepted, now)
	return true
}
