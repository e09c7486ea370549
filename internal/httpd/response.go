package httpd

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	writeTime  = 30 * time.Second // for the client to take writeChunk bytes
	writeChunk = 32 << 10

	// lingerTime is for the rest of a request that has been answered before it was read. A
	// connection that is closed with unread bytes can lose the response.
	lingerTime = time.Second
)

// tracker knows the responses of a server: how many there are, which connections stay open after
// them, and which rejected a request.
type tracker struct {
	o      Options
	ctx    context.Context // done when the server shuts down
	active atomic.Int64
	kept   atomic.Int64 // when a response last left its connection open, in Unix nanoseconds

	logged sync.Map // when a rejection was last logged, in Unix seconds
}

// rejection is a kind of rejected requests.
type rejection struct {
	status int
	reason string // of a 429: person, server or bytes
}

// track passes requests to next with a response of the tracker.
func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{
			ResponseWriter: w,
			control:        http.NewResponseController(w),
			tracker:        t,
			request:        &requestBody{ReadCloser: r.Body},
			remote:         r.RemoteAddr,
		}
		r.Body = res.request

		t.active.Add(1)
		defer res.end()
		next.ServeHTTP(res, r)
	})
}

// quiet reports whether all responses have ended, and those that left their connection open have
// done so long enough ago.
func (t *tracker) quiet(notice time.Duration) bool {
	return t.active.Load() == 0 && time.Since(time.Unix(0, t.kept.Load())) >= notice
}

// reject counts a rejected request, and logs it: at most one line a second for each kind. An SDK
// begins with a GET, whose 405 is not worth a line.
func (t *tracker) reject(kind rejection, problem, remote string) {
	t.o.Metrics.reject(kind, 1)

	now := time.Now().Unix()
	last, _ := t.logged.Swap(kind, now)
	if last == now {
		return
	}
	log := t.o.Log.With("status", kind.status)
	if kind.reason != "" {
		log = log.With("reason", kind.reason)
	}
	if problem != "" {
		log = log.With("problem", problem)
	}
	level := slog.LevelInfo
	if kind.status == http.StatusMethodNotAllowed {
		level = slog.LevelDebug
	}
	log.Log(t.ctx, level, "rejected", "remote", remote)
}

// requestBody is the body of a request.
type requestBody struct {
	io.ReadCloser
	ended bool // all of it has been read
}

func (b *requestBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.ended = true
	}
	return n, err
}

// response is a response of a tracker, used by one goroutine at a time. A client that takes nothing
// of it for writeTime loses its connection: then the request ends, and its place is free.
type response struct {
	http.ResponseWriter
	control *http.ResponseController
	tracker *tracker
	request *requestBody
	remote  string
	reason  string // of a rejection
	problem string // of a token of OAuth, for the log
	begun   bool   // the header is out
}

// Unwrap lets [http.ResponseController] flush the response.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// WriteHeader sends the header once. A rejection is counted and closes the connection.
func (r *response) WriteHeader(status int) {
	if r.begun {
		return
	}
	r.begun = true

	if !r.request.ended {
		_ = r.control.SetReadDeadline(time.Now().Add(lingerTime))
	}

	rejected := status/100 == 4
	if rejected {
		r.tracker.reject(rejection{status, r.reason}, r.problem, r.remote)
	}
	if rejected || r.tracker.ctx.Err() != nil {
		r.Header().Set("Connection", "close")
	}
	r.ResponseWriter.WriteHeader(status)
}

// Write writes b, after the header, and gives the client time for each part of it.
func (r *response) Write(b []byte) (written int, err error) {
	r.WriteHeader(http.StatusOK)

	for chunk := range slices.Chunk(b, writeChunk) {
		_ = r.control.SetWriteDeadline(time.Now().Add(writeTime))
		n, err := r.ResponseWriter.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}

// end completes the response, which must not be used after it.
func (r *response) end() {
	r.WriteHeader(http.StatusOK)

	if r.Header().Get("Connection") != "close" {
		r.tracker.kept.Store(time.Now().UnixNano())
	}
	r.tracker.active.Add(-1)
}
