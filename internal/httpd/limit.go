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

// body is the body of a request. Its bytes count until it is closed.
type body struct {
	io.Reader
	limiter *limiter
	read    int64
}

func (b *body) Read(p []byte) (int, error) {
	n, err := b.Reader.Read(p)
	b.read += int64(n)
	if b.limiter.bytes.Add(int64(n)) > maxBodies {
		return n, errBusy
	}
	return n, err
}

func (b *body) Close() { b.limiter.bytes.Add(-b.read) }

// admit refuses requests beyond the limits with 429, reads the body of the
// others and checks that it is a message for this server.
func (l *limiter) admit(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer l.requests.Add(-1)
		if l.requests.Add(1) > l.max {
			tooMany(w, "too many calls")
			return
		}
		body := &body{Reader: http.MaxBytesReader(w, r.Body, maxBody), limiter: l}
		defer body.Close()
		data, err := io.ReadAll(body)
		_, tooLarge := errors.AsType[*http.MaxBytesError](err)
		switch {
		case errors.Is(err, errBusy):
			tooMany(w, err.Error())
		case tooLarge:
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

func tooMany(w http.ResponseWriter, why string) {
	w.Header().Set("Retry-After", "1")
	http.Error(w, why, http.StatusTooManyRequests)
}
