package httpd

import (
	"context"
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
	// silence is how long an event stream may be silent. Proxies close idle streams, many after 60 s.
	silence = 15 * time.Second
	// lingerTime is for the rest of a request that has been answered before it was read. A connection
	// that is closed with unread bytes can lose the response.
	lingerTime = time.Second
)

// tracker knows the responses of a server: how many there are, which connections stay open after them,
// and which rejected a request.
type tracker struct {
	o      Options
	ctx    context.Context // done when the server shuts down
	active atomic.Int64
	kept   atomic.Int64      // when a response last left its connection open, in Unix nanoseconds
	logged [100]atomic.Int64 // when a rejection was last logged, in Unix seconds, by status from 400 on
}

// track passes requests to next with a response of the tracker.
func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		res := &response{w: w, control: control, tracker: t, remote: r.RemoteAddr, header: http.Header{}}
		t.active.Add(1)
		defer res.end()
		next.ServeHTTP(res, r)
	})
}

// quiet reports whether all responses have ended, and those that left their connection open have done
// so long enough ago.
func (t *tracker) quiet(notice time.Duration) bool {
	return t.active.Load() == 0 && time.Since(time.Unix(0, t.kept.Load())) >= notice
}

// response is a response of a tracker. A client that takes nothing of it for writeTime loses its
// connection: then the request ends, and its place is free.
type response struct {
	w       http.ResponseWriter
	control *http.ResponseController
	tracker *tracker
	remote  string
	header  http.Header // of the handler; a comment may have to send one meanwhile

	mu       sync.Mutex
	comments *time.Timer // from keepAlive, when the request has been read, to the end
	begun    bool        // the header is out
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
	return r.writeLocked(b, r.header)
}

// beginLocked sends the header once. A rejection is counted and closes the connection.
func (r *response) beginLocked(status int, header http.Header) {
	if r.begun {
		return
	}
	r.begun = true
	out := r.w.Header()
	maps.Copy(out, header)
	switch status {
	case http.StatusUnauthorized:
		out.Set("WWW-Authenticate", "Bearer") // RFC 6750 section 3
	case http.StatusTooManyRequests:
		out.Set("Retry-After", "1")
	}
	if r.comments == nil {
		_ = r.control.SetReadDeadline(time.Now().Add(lingerTime))
	}
	t := r.tracker
	if status/100 == 4 {
		t.o.Metrics.reject(status, 1)
		now := time.Now().Unix()
		if t.logged[status-400].Swap(now) != now { // at most one line a second
			t.o.Log.Info("rejected", "status", status, "remote", r.remote)
		}
	}
	if status/100 == 4 || t.ctx.Err() != nil {
		out.Set("Connection", "close")
	}
	r.w.WriteHeader(status)
}

// writeLocked writes b, after the header, and gives the client time for each part of it.
func (r *response) writeLocked(b []byte, header http.Header) (written int, err error) {
	r.beginLocked(http.StatusOK, header)
	for chunk := range slices.Chunk(b, writeChunk) {
		_ = r.control.SetWriteDeadline(time.Now().Add(writeTime))
		n, err := r.w.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}
	if r.comments != nil { // an event of a stream
		err = r.control.Flush()
		r.comments.Reset(silence)
	}
	return written, err
}

// keepAlive sends an SSE comment
// (https://html.spec.whatwg.org/multipage/server-sent-events.html) after each silence from now on. A
// call without a progress token sends nothing else before its result.
func (r *response) keepAlive() {
	r.mu.Lock() // comment reads the timer
	defer r.mu.Unlock()
	r.comments = time.AfterFunc(silence, r.comment)
}

// comment sends a comment, after which the next silence begins. A response that has not begun by then
// is the event stream of a call: everything else is answered at once.
func (r *response) comment() {
	if !r.mu.TryLock() {
		return // a write is waiting for the client; it sets the timer at its end
	}
	defer r.mu.Unlock()
	if r.comments == nil {
		return // the response has ended
	}
	header := http.Header{"Content-Type": {"text/event-stream"}, "Cache-Control": {"no-cache, no-transform"}}
	_, _ = r.writeLocked([]byte(": keep-alive\n\n"), header)
}

// end completes the response, which must not be used after it.
func (r *response) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(http.StatusOK, r.header)
	if r.comments != nil {
		r.comments.Stop()
		r.comments = nil
	}
	if r.w.Header().Get("Connection") != "close" {
		r.tracker.kept.Store(time.Now().UnixNano())
	}
	r.tracker.active.Add(-1)
}
