package httpd

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"os"
	"sync/atomic"
)

const (
	maxBody   = 1 << 20  // bytes of a request
	maxBodies = 64 << 20 // bytes of all requests at a time
)

// limiter bounds the requests for MCP that run or wait, and their bytes. Each request gives back
// what it has taken when it ends, so both counts are those of the requests that are there.
type limiter struct {
	max      int64
	requests atomic.Int64
	bytes    atomic.Int64
}

// admit refuses requests beyond the limits with 429, reads the body of the others and checks that
// it is a message for this server.
func (l *limiter) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer l.requests.Add(-1)
		if l.requests.Add(1) > l.max {
			refuseBusy(w, "too many calls")
			return
		}

		body := &countedBody{body: http.MaxBytesReader(w, r.Body, maxBody), all: &l.bytes}
		defer body.release()
		data, err := io.ReadAll(body)
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

var errBusy = errors.New("too many bytes at once")

// countedBody is the body of a request, whose bytes count from when they are read until release.
type countedBody struct {
	body io.Reader
	all  *atomic.Int64 // bytes of all requests
	held int64         // the part of all that this request has added
}

func (b *countedBody) Read(p []byte) (int, error) {
	n, err := b.body.Read(p)
	if n == 0 {
		return 0, err
	}

	b.held += int64(n)
	if b.all.Add(int64(n)) > maxBodies {
		return n, errBusy
	}
	return n, err
}

func (b *countedBody) release() { b.all.Add(-b.held) }

// refuseBody answers a request whose body could not be read.
func refuseBody(w http.ResponseWriter, err error) {
	switch {
	case errors.Is(err, errBusy):
		refuseBusy(w, err.Error())
	case errors.As(err, new(*http.MaxBytesError)):
		http.Error(w, "the request is larger than 1 MiB", http.StatusRequestEntityTooLarge)
	case errors.Is(err, os.ErrDeadlineExceeded):
		http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
	default:
		http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
	}
}

// refuseBusy answers a request that may be sent again later.
func refuseBusy(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusTooManyRequests)
}
