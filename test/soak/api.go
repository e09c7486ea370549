package main

import (
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

const (
	// key is the API key of all servers. It must turn up in no output.
	key = "sk-canary-Wq8YcU1xRm55nLgS"
	// retries is how often the servers repeat a request (OPENAI_MAX_RETRIES).
	retries = 2
	// remembered is how many finished questions are still known, so that a
	// request on their behalf can be told from nonsense.
	remembered = 8192
)

// api is the fake API of one lane. It knows what each question is to meet.
type api struct {
	fake  *fakeapi.Server
	http  *http.Server
	url   string
	tally *tally
	asks  atomic.Pointer[session] // who asks at present

	mu    sync.Mutex
	plans map[string]*plan // by nonce
	over  []string         // nonces of finished questions, oldest first
	busy  int              // requests that are being answered
}

// plan is what is left of a scenario.
type plan struct {
	kind  string
	steps []fakeapi.Step
	seen  int  // requests so far
	over  bool // the call is
}

// newAPI listens on a loopback port.
func newAPI(t *tally) (*api, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	a := &api{
		fake:  fakeapi.New(fakeapi.Options{Key: key, Keep: 1}),
		url:   "http://" + l.Addr().String() + "/v1",
		tally: t,
		plans: map[string]*plan{},
	}
	a.fake.Choose(a.choose)
	a.http = &http.Server{Handler: http.HandlerFunc(a.serve), ErrorLog: log.New(io.Discard, "", 0)}
	go func() {
		if err := a.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			a.asks.Load().fail("the API ended: %v", err)
		}
	}()
	return a, nil
}

func (a *api) close() {
	a.fake.Close()
	_ = a.http.Close()
}

func (a *api) serve(w http.ResponseWriter, r *http.Request) {
	a.count(1)
	defer a.count(-1)
	a.fake.ServeHTTP(w, r)
}

func (a *api) count(n int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.busy += n
}

// quiet reports that no request is being answered, and closes the connections
// that wait for the next: what is left of descriptors is then the server's own.
func (a *api) quiet() bool {
	a.http.SetKeepAlivesEnabled(false)
	a.http.SetKeepAlivesEnabled(true)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.busy == 0
}

// expect prepares for a question.
func (a *api) expect(nonce, kind string, steps []fakeapi.Step) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.plans[nonce] = &plan{kind: kind, steps: steps}
}

// finish says that the call of a question is over: no request is due any more.
func (a *api) finish(nonce string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	p := a.plans[nonce]
	if p == nil || p.over {
		return
	}
	p.over, p.seen = true, 0
	a.over = append(a.over, nonce)
	if len(a.over) > remembered {
		delete(a.plans, a.over[0])
		a.over = a.over[1:]
	}
}

// choose is asked for each request what it meets.
func (a *api) choose(question string) fakeapi.Step {
	nonce, _, _ := strings.Cut(question, " ")
	step, err := a.next(nonce)
	if err != nil {
		a.asks.Load().fail("%v", err)
	}
	return step
}

func (a *api) next(nonce string) (fakeapi.Step, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.tally.add(requests)
	p := a.plans[nonce]
	if p == nil {
		return fakeapi.Step{}, fmt.Errorf("the API is asked %q, which nobody has asked", nonce)
	}
	p.seen++
	switch {
	// One request may have been on its way, its connection closed behind it.
	case p.over && p.seen > 1:
		return fakeapi.Step{}, fmt.Errorf("the API is asked %q again, %d times since the call was over", nonce, p.seen)
	case !p.over && p.seen > 1+retries:
		return fakeapi.Step{}, fmt.Errorf("the API is asked %q for the %dth time", nonce, p.seen)
	case p.over || len(p.steps) == 0:
		return fakeapi.Step{}, nil
	}
	step := p.steps[0]
	p.steps = p.steps[1:]
	if p.kind != "" {
		a.tally.fault(p.kind)
	}
	return step, nil
}
