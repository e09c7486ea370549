package main

import (
	"bytes"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// hurtAfter is a time that no call without a fault takes.
const hurtAfter = 10 * time.Second

// workers are those of each person, who make one call after the other.
const workers = 6

// faultsOf are the faults of the calls of each worker, as steps of apitest. Every second call has
// none, so that no person has three refusals of the key in a row, or two of a parameter: those
// change the person's next calls, as the program promises.
var faultsOf = [workers][]string{
	keyFaults, keyFaults, {"refuses=reasoning.effort+without-code"},
	otherFaults, otherFaults, otherFaults,
}

var (
	keyFaults   = []string{"401", "402", "quota"}
	otherFaults = []string{"forbidden", "quoting", "404", "500", "cut", "cut-after=2", "delay=20s"}
)

// fate returns the fault of a call of a worker, which does not depend on the order of calls, or
// "ok". Of all calls 3 % have each fault. Those of erin are refused because the API has blocked
// her.
func fate(person string, worker, n int) string {
	const share = 2 * 3 // in a hundred: every second call has a fault
	words := faultsOf[worker]
	h := fnv.New32a()
	fmt.Fprint(h, person, worker, n)
	i := int(h.Sum32()%100) * sharing(words) / (share * workers)
	switch {
	case person == "erin":
		return "blocked"
	case n%2 == 0 && i < len(words):
		return words[i]
	}
	return "ok"
}

// sharing returns how many workers have the same faults.
func sharing(words []string) int {
	n := 0
	for _, other := range faultsOf {
		if other[0] == words[0] {
			n++
		}
	}
	return n
}

// asked is an API that remembers what calls have sent. The query of a call begins with its fault.
type asked struct {
	*apitest.Server
	mu    sync.Mutex        // guards lacks
	lacks map[string]string // what a request without a fault lacks, by query
}

func (a *asked) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if r.Method == http.MethodPost {
		a.note(body)
	}
	a.Server.ServeHTTP(w, r)
}

func (a *asked) note(body []byte) {
	a.mu.Lock()
	defer a.mu.Unlock()
	query, _, _ := strings.Cut(gjson.GetBytes(body, "input.0.content.0.text").Str, "\n")
	for _, param := range []string{"background", "safety_identifier", "reasoning.effort", "stream"} {
		if strings.HasPrefix(query, "ok ") && !gjson.GetBytes(body, param).Exists() {
			a.lacks[query] = param
		}
	}
}

// faults runs five people whose requests have faults, and prints the calls that were hurt although
// their own request had none.
func faults(p program, dir string, total time.Duration) error {
	server, err := apitest.New("always", "asked")
	if err != nil {
		return err
	}
	api := &asked{Server: server, lacks: map[string]string{}}
	listener := httptest.NewServer(api)
	defer listener.Close()

	config := filepath.Join(dir, "faults.yaml")
	err = os.WriteFile(config, []byte("model_profiles: {answer: {background: true}}\n"), 0o600)
	if err != nil {
		return err
	}
	p.Base = listener.URL + "/v1"
	s, err := p.start(serving.AnyPort, "--config "+config)
	if err != nil {
		return err
	}
	defer s.Kill()
	return s.runFaults(api, time.Now().Add(total))
}

// runFaults makes calls of all workers of all people until a time.
func (s *process) runFaults(api *asked, end time.Time) error {
	var mu sync.Mutex
	calls := map[string]int{} // by fault
	answered := map[string]int{}
	hurts := 0
	var example error
	_ = sideBySide(workers*len(people), func(i int) error {
		person := people[i%len(people)]
		worker := i / len(people)
		for n := 0; time.Now().Before(end); n++ {
			word := fate(person, worker, n)
			query := fmt.Sprintf("%s the background of %d.%d of %s", word, worker, n, person)
			err, hurt := s.tryCall(api, person, query)

			mu.Lock()
			calls[word]++
			if err == nil {
				answered[word]++
			}
			if word == "ok" && hurt != nil {
				hurts++
				example = fmt.Errorf("%s: %w", query, hurt)
			}
			mu.Unlock()
			time.Sleep(100 * time.Millisecond)
		}
		return nil
	})

	for _, word := range slices.Sorted(maps.Keys(calls)) {
		fmt.Printf("%-38s %5d calls, %5d answered\n", word, calls[word], answered[word])
	}
	fmt.Printf("%d calls were hurt although their own request had no fault\n", hurts)
	return example
}

// tryCall makes a call. hurt is why it was hurt, if its request had no fault.
func (s *process) tryCall(api *asked, person, query string) (err, hurt error) {
	began := time.Now()
	err = s.call(person, query, 0)
	took := time.Since(began)

	api.mu.Lock()
	defer api.mu.Unlock()
	switch {
	case err != nil:
		return err, err
	case took > hurtAfter:
		return nil, fmt.Errorf("answered after %v", took)
	case api.lacks[query] != "":
		return nil, errors.New("asked without " + api.lacks[query])
	}
	return nil, nil
}
