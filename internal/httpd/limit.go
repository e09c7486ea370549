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

// limiter bounds the requests for MCP that run or wait, and their bytes.
type limiter struct {
	max      int64
	requests atomic.Int64
	bytes    atomic.Int64
}

var errBusy = errors.New("too many bytes at once")

// Write counts the bytes of a body while they are read.
func (l *limiter) Write(p []byte) (int, error) {
	if l.bytes.Add(int64(len(p))) > maxBodies {
		return len(p), errBusy
	}
	return len(p), nil
}

// admit refuses requests beyond the limits with 429, reads the body of the
// others and checks that it is a message for this server.
func (l *limiter) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer l.requests.Add(-1)
		if l.requests.Add(1) > l.max {
			http.Error(w, "too many calls", http.StatusTooManyRequests)
			return
		}
		data, err := io.ReadAll(io.TeeReader(http.MaxBytesReader(w, r.Body, maxBody), l))
		defer l.bytes.Add(-int64(len(data)))
		switch {
		case errors.Is(err, errBusy):
			http.Error(w, err.Error(), http.StatusTooManyRequests)
		case errors.As(err, new(*http.MaxBytesError)):
			http.Error(w, "the request is larger than 1 MiB", http.StatusRequestEntityTooLarge)
		case errors.Is(err, os.ErrDeadlineExceeded):
			http.Error(w, "the request did not arrive in time", http.StatusRequestTimeout)
		case err != nil:
			http.Error(w, "reading the request: "+err.Error(), http.StatusBadRequest)
		case r.Method == http.MethodPost && refuse(w, r, data):
		default:
			r.Body = io.NopCloser(bytes.NewReader(data))
			next.ServeHTTP(w, r)
		}
	})
}
