package httpd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/rpc"
)

const (
	maxBody   = 1 << 20  // bytes of a request
	maxBodies = 64 << 20 // bytes of all requests at a time

	elementBytes = 200 // that an element of a message takes when it is decoded
)

// limiter bounds the requests for MCP that run or wait, and their bytes: those of each person and all
// of them.
type limiter struct {
	Options
	strangers *strangers
	draining  atomic.Bool // the notice time is over: no call is accepted

	mu     sync.Mutex      // guards the fields below
	all    load            // of the requests that run or wait
	people map[string]load // of each person who has such requests, by ID
}

// inFlight returns how many requests for MCP there are.
func (l *limiter) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.all.requests
}

// load is what requests take.
type load struct{ requests, bytes int }

func (l load) plus(more load) load {
	return load{l.requests + more.requests, l.bytes + more.bytes}
}

// check returns an error if l is more than maxCalls that run, as many that wait, and maxBytes. It
// names whose limit that is. Without maxCalls there is no limit.
func (l load) check(maxCalls, maxBytes int, reason, whose string) error {
	switch {
	case maxCalls == 0:
		return nil
	case l.requests > 2*maxCalls:
		return &busy{http.StatusTooManyRequests, reason, fmt.Sprintf(
			"too many calls: at most %d of %s run at a time, and as many wait", maxCalls, whose)}
	case l.bytes > maxBytes:
		return &busy{http.StatusTooManyRequests, "bytes", fmt.Sprintf(
			"too many bytes: %s have at most %d MiB at a time", whose, maxBytes>>20)}
	}
	return nil
}

// busy is why a request is refused that may be sent again later.
type busy struct {
	status int
	reason string // for metrics and logs
	text   string
}

func (b *busy) Error() string {
	return b.text
}

// admit refuses requests beyond the limits, and all of them in the drain: they might not end before
// it does. It reads the body of the others and checks that it is a message for this server.
func (l *limiter) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.strangers.trust(r.RemoteAddr)
		res := w.(*response)
		_ = res.control.SetReadDeadline(time.Now().Add(readTime))
		a := &admission{
			limiter: l,
			body:    http.MaxBytesReader(w, r.Body, maxBody),
			person:  res.person.ID,
		}
		defer a.end()

		err := a.take(0)
		var data []byte
		if err == nil {
			data, err = io.ReadAll(a)
		}
		elements := rpc.Elements(data)
		if err == nil && elements <= rpc.MaxElements {
			err = a.take(elements * elementBytes)
		}
		if err != nil {
			res.refuseBody(err)
			return
		}

		if r.Method == http.MethodPost && refuseMessage(w, r, data) {
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(data))
		next.ServeHTTP(w, r)
	})
}

// admission is a request that takes a place and bytes: those of its body, which count from when they
// are read, and what decoding adds. As a reader it is the body.
type admission struct {
	limiter *limiter
	body    io.Reader
	person  string // "": anonymous
	taken   load   // a place and bytes, which end gives back
}

// take takes more bytes, and before them a place. If that exceeds a limit, it returns whose.
func (a *admission) take(more int) error {
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	add := load{bytes: more}
	if a.taken.requests == 0 {
		add.requests = 1
	}
	if l.draining.Load() && add.requests > 0 {
		return &busy{http.StatusServiceUnavailable, "shutting down", "shutting down"}
	}

	own := l.people[a.person].plus(add)
	all := l.all.plus(add)
	err := cmp.Or(
		own.check(l.PerPerson(), maxBodies/4, "person", "your calls"),
		all.check(l.MaxCalls, maxBodies, "server", "the calls of all users"))
	if err == nil {
		l.people[a.person] = own
		l.all = all
		a.taken = a.taken.plus(add)
	}
	return err
}

// end gives everything back.
func (a *admission) end() {
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()
	less := load{-a.taken.requests, -a.taken.bytes}
	l.all = l.all.plus(less)
	l.people[a.person] = l.people[a.person].plus(less)
	if l.people[a.person].requests == 0 {
		delete(l.people, a.person)
	}
}

func (a *admission) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	return n, cmp.Or(a.take(n), err)
}

// refuseBody answers a request that has no place, or whose body could not be read.
func (r *response) refuseBody(err error) {
	if b, ok := errors.AsType[*busy](err); ok {
		r.reason = b.reason
		r.Header().Set("Retry-After", "1")
		http.Error(r, b.text, b.status)
		return
	}

	if errors.As(err, new(*http.MaxBytesError)) {
		http.Error(r, "the request is larger than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(r, "the request did not arrive", http.StatusRequestTimeout)
}
