package httpd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/auth"
)

const (
	maxBody   = 1 << 20  // bytes of a request
	maxBodies = 64 << 20 // bytes of all requests at a time
)

// limiter bounds the requests for MCP that run or wait, and their bytes: those of each person and
// all of them. Each request gives back what it has taken when it ends, so the loads are those of
// the requests that are there.
type limiter struct {
	maxCalls int
	perUser  func() int // see Options.CallsPerUser

	mu     sync.Mutex // guards the fields below
	all    load
	people map[string]load // by ID; only those who have requests
}

// load is what requests take.
type load struct{ requests, bytes int }

func (l load) plus(more load) load {
	return load{l.requests + more.requests, l.bytes + more.bytes}
}

func newLimiter(maxCalls int, perUser func() int) *limiter {
	return &limiter{
		maxCalls: maxCalls,
		perUser:  perUser,
		people:   map[string]load{},
	}
}

// requests counts the requests.
func (l *limiter) requests() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.requests
}

// admit refuses requests beyond the limits with 429, reads the body of the others and checks that
// it is a message for this server.
func (l *limiter) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := &admission{limiter: l, body: http.MaxBytesReader(w, r.Body, maxBody)}
		if token := auth.TokenInfoFromContext(r.Context()); token != nil {
			a.person = token.UserID
		}

		defer a.release()
		err := a.take(load{requests: 1})
		var data []byte
		if err == nil {
			data, err = io.ReadAll(a)
		}
		if err != nil {
			refuseBody(w, err)
			return
		}

		if r.Method == http.MethodPost && refuseMessage(w, r, data) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		next.ServeHTTP(w, r)
	})
}

// busy is why a request is refused that may be sent again later.
type busy struct {
	reason string // for metrics and logs
	text   string
}

func (b *busy) Error() string { return b.text }

// Whose limit a refusal names.
const (
	yours = "your calls"
	total = "the calls of all users"
)

func tooManyCalls(reason, whose string, n int) error {
	const text = "too many calls: at most %d of %s run at a time, and as many wait"
	return &busy{reason, fmt.Sprintf(text, n, whose)}
}

func tooManyBytes(whose string, limit int) error {
	const text = "too many bytes: %s have at most %d MiB at a time"
	return &busy{"bytes", fmt.Sprintf(text, whose, limit>>20)}
}

// admission is the part of a request in the loads of a limiter. As a reader it is the body of the
// request, whose bytes count from when they are read.
type admission struct {
	limiter *limiter
	body    io.Reader
	person  string // "": anonymous
	held    load
}

// take adds more to the load, or returns whose limit that would exceed. That of the person comes
// first: a refused request takes nothing from others, not even for a moment.
func (a *admission) take(more load) error {
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()

	own := l.people[a.person].plus(more)
	all := l.all.plus(more)
	if n := l.perUser(); n > 0 {
		switch {
		case own.requests > 2*n:
			return tooManyCalls("person", yours, n)
		case own.bytes > maxBodies/4:
			return tooManyBytes(yours, maxBodies/4)
		}
	}
	switch {
	case all.requests > 2*l.maxCalls:
		return tooManyCalls("server", total, l.maxCalls)
	case all.bytes > maxBodies:
		return tooManyBytes(total, maxBodies)
	}

	l.people[a.person] = own
	l.all = all
	a.held = a.held.plus(more)
	return nil
}

// release gives everything back.
func (a *admission) release() {
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()

	less := load{-a.held.requests, -a.held.bytes}
	l.all = l.all.plus(less)
	l.people[a.person] = l.people[a.person].plus(less)
	if l.people[a.person] == (load{}) {
		delete(l.people, a.person)
	}
}

func (a *admission) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	if n > 0 {
		if err := a.take(load{bytes: n}); err != nil {
			return n, err
		}
	}
	return n, err
}

// refuseBody answers a request that has no place, or whose body could not be read.
func refuseBody(w http.ResponseWriter, err error) {
	if b, ok := errors.AsType[*busy](err); ok {
		refuseBusy(w, b)
		return
	}
	switch {
	case errors.As(err, new(*http.MaxBytesError)):
		http.Error(w, "the request is larger than 1 MiB", http.StatusRequestEntityTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
	default:
		http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
	}
}

// refuseBusy answers a request that may be sent again later.
func refuseBusy(w http.ResponseWriter, b *busy) {
	if res, ok := w.(*response); ok {
		res.reason = b.reason
	}
	w.Header().Set("Retry-After", "1")
	http.Error(w, b.text, http.StatusTooManyRequests)
}
