package httpd

import (
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

const (
	writeTime  = 30 * time.Second // for the client to take writeChunk bytes
	writeChunk = 32 << 10
	// silence is how long an event stream may be silent. Proxies close idle
	// streams, many after 60 seconds.
	silence = 15 * time.Second
	// lingerTime is for the rest of a request that has been answered before it
	// was read. A connection that is closed with unread bytes can lose the
	// response.
	lingerTime = time.Second
)

// tracker knows the responses of a server: how many there are, which
// connections stay open after them, and which rejected a request.
type tracker struct {
	stopping func() error // not nil when the server shuts down
	active   atomic.Int64
	kept     atomic.Int64 // when a response last left its connection open, in Unix nanoseconds
	metrics  *Metrics
	log      *slog.Logger

	mu     sync.Mutex
	logged map[int]time.Time // when a rejection was last logged, by status
}

// track passes requests to next with a response of the tracker.
func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.active.Add(1)
		defer t.active.Add(-1)
		res := &response{
			tracker: t,
			remote:  r.RemoteAddr,
			w:       w,
			control: http.NewResponseController(w),
			header:  http.Header{},
		}
		defer res.end()
		next.ServeHTTP(res, r)
	})
}

// quiet reports whether all responses have ended, and those that left their
// connection open have done so long enough ago.
func (t *tracker) quiet(notice time.Duration) bool {
	return t.active.Load() == 0 && time.Since(time.Unix(0, t.kept.Load())) >= notice
}

// rejected counts a rejected request, and logs at most one a second for each
// status.
func (t *tracker) rejected(status int, remote string) {
	t.metrics.reject(status, 1)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if now.Sub(t.logged[status]) < time.Second {
		return
	}
	t.logged[status] = now
	t.log.Info("rejected", "status", status, "remote", remote)
}

// response is a response of a tracker. A client that takes nothing of it for
// writeTime loses its connection: then the request ends, and its place is free.
type response struct {
	tracker *tracker
	remote  string
	w       http.ResponseWriter
	control *http.ResponseController
	header  http.Header // of the handler; a comment may have to send one meanwhile

	mu       sync.Mutex
	comments *time.Timer // nil until keepAlive, when the request has been read
	begun    bool        // the header is out
	ended    bool
}

func (r *response) Header() http.Header { return r.header }

func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(status, r.header)
}

func (r *response) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(http.StatusOK, r.header)
	return r.writeLocked(b)
}

// beginLocked sends the header once.
func (r *response) beginLocked(status int, header http.Header) {
	if r.begun {
		return
	}
	r.begun = true
	maps.Copy(r.w.Header(), header)
	switch status {
	case http.StatusUnauthorized:
		r.w.Header().Set("WWW-Authenticate", "Bearer") // RFC 6750 section 3
	case http.StatusTooManyRequests:
		r.w.Header().Set("Retry-After", "1")
	}
	if r.comments == nil {
		_ = r.control.SetReadDeadline(time.Now().Add(lingerTime))
	}
	rejected := status/100 == 4
	if rejected {
		r.tracker.rejected(status, r.remote)
	}
	if rejected || r.tracker.stopping() != nil {
		r.w.Header().Set("Connection", "close")
	}
	r.w.WriteHeader(status)
}

// writeLocked writes b, and gives the client time for each part of it.
func (r *response) writeLocked(b []byte) (written int, err error) {
	for chunk := range slices.Chunk(b, writeChunk) {
		r.progressLocked()
		n, err := r.w.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}
	if r.comments != nil { // an event of a stream
		err = r.control.Flush()
	}
	r.progressLocked()
	return written, err
}

// progressLocked sets the deadline of the next write, and the time of the next
// comment.
func (r *response) progressLocked() {
	_ = r.control.SetWriteDeadline(time.Now().Add(writeTime))
	if r.comments != nil {
		r.comments.Reset(silence)
	}
}

// keepAlive sends an SSE comment (https://html.spec.whatwg.org/multipage/server-sent-events.html)
// after each silence from now on. A call without a progress token sends nothing
// else before its result.
func (r *response) keepAlive() {
	r.mu.Lock() // comment reads the timer
	defer r.mu.Unlock()
	r.comments = time.AfterFunc(silence, r.comment)
}

// comment sends a comment, after which the next silence begins. A response that
// has not begun by then is the event stream of a call: everything else is
// answered at once.
func (r *response) comment() {
	if !r.mu.TryLock() {
		return // a write is waiting for the client; it sets the timer at its end
	}
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.beginLocked(http.StatusOK, http.Header{
		"Content-Type":  {"text/event-stream"},
		"Cache-Control": {"no-cache, no-transform"},
	})
	_, _ = r.writeLocked([]byte(": keep-alive\n\n"))
}

// end completes the response, which must not be used after it.
func (r *response) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ended = true
	r.beginLocked(http.StatusOK, r.header)
	if r.comments != nil {
		r.comments.Stop()
	}
	if r.w.Header().Get("Connection") != "close" {
		r.tracker.kept.Store(time.Now().UnixNano())
	}
}
