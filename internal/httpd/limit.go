package httpd

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
)

const (
	maxBody   = 1 << 20  // bytes of a request
	maxBodies = 64 << 20 // bytes of all requests at a time

	elementBytes = 200 // that an element of a message takes when it is decoded
)

// limiter bounds the requests for MCP that run or wait, and their bytes: those of each person and
// all of them. Each request gives back what it has taken when it ends, so the loads are those of
// the requests that are there.
type limiter struct {
	o Options

	mu     sync.Mutex // guards the fields below
	all    load
	people map[string]load // by ID; only those who have requests
}

// load is what requests take: bytes are those of their bodies, and what decoding adds.
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
		return &busy{reason, fmt.Sprintf(
			"too many calls: at most %d of %s run at a time, and as many wait", maxCalls, whose)}
	case l.bytes > maxBytes:
		return &busy{"bytes", fmt.Sprintf(
			"too many bytes: %s have at most %d MiB at a time", whose, maxBytes>>20)}
	}
	return nil
}

// admit refuses requests beyond the limits with 429, reads the body of the others and checks that
// it is a message for this server.
func (l *limiter) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := responseOf(w)
		a := &admission{
			limiter: l,
			body:    http.MaxBytesReader(w, r.Body, maxBody),
			person:  res.person.ID,
		}

		res.tracker.strangers.trust(r.RemoteAddr)
		res.allow(readTime)
		defer a.release()

		err := a.take(load{requests: 1})
		var data []byte
		if err == nil {
			data, err = io.ReadAll(a)
		}
		elements := jsonx.Elements(data)
		if err == nil && elements <= jsonx.MaxElements {
			err = a.take(load{bytes: elements * elementBytes})
		}
		if err != nil {
			res.refuseBody(err)
			return
		}

		if r.Method == http.MethodPost && refuseMessage(w, r, data, elements) {
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

func (b *busy) Error() string {
	return b.text
}

// admission is the part of a request in the loads of a limiter. As a reader it is the body of the
// request, whose bytes count from when they are read.
type admission struct {
	limiter *limiter
	body    io.Reader
	person  string // "": anonymous
	taken   load   // what this request has taken so far
}

// take adds more to the load, or returns whose limit that would exceed. That of the person comes
// first: a refused request takes nothing from others, not even for a moment.
func (a *admission) take(more load) error {
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()

	own := l.people[a.person].plus(more)
	all := l.all.plus(more)
	err := own.check(l.o.PerPerson(), maxBodies/4,
		"person", "your calls")
	if err == nil {
		err = all.check(l.o.MaxCalls, maxBodies,
			"server", "the calls of all users")
	}
	if err != nil {
		return err
	}

	l.people[a.person] = own
	l.all = all
	a.taken = a.taken.plus(more)
	return nil
}

// release gives everything back.
func (a *admission) release() {
	l := a.limiter
	l.mu.Lock()
	defer l.mu.Unlock()

	less := load{-a.taken.requests, -a.taken.bytes}
	l.all = l.all.plus(less)
	own := l.people[a.person].plus(less)
	l.people[a.person] = own
	if own == (load{}) {
		delete(l.people, a.person)
	}
}

func (a *admission) Read(p []byte) (int, error) {
	n, err := a.body.Read(p)
	return n, cmp.Or(a.take(load{bytes: n}), err)
}

// refuseBody answers a request that has no place, or whose body could not be read.
func (r *response) refuseBody(err error) {
	if b, ok := errors.AsType[*busy](err); ok {
		r.reason = b.reason
		r.Header().Set("Retry-After", "1")
		http.Error(r, b.text, http.StatusTooManyRequests)
		return
	}

	if errors.As(err, new(*http.MaxBytesError)) {
		http.Error(r, "the request is larger than 1 MiB", http.StatusRequestEntityTooLarge)
		return
	}
	http.Error(r, "the request did not arrive", http.StatusRequestTimeout)
}
