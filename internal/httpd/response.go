package httpd

import (
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// lingerTime is for the rest of a rejected request to arrive. A connection that
// is closed with unread bytes can lose the response.
const lingerTime = time.Second

// tracker knows the responses of a server: how many there are, which
// connections stay open after them, and which rejected a request.
type tracker struct {
	stopping <-chan struct{} // closed when the server shuts down
	active   atomic.Int64
	kept     atomic.Int64 // when a response last left its connection open, in Unix nanoseconds
	metrics  *Metrics
	log      *slog.Logger

	mu     sync.Mutex
	logged map[int]time.Time // when a rejection was last logged, by status
}

func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		t.active.Add(1)
		defer t.active.Add(-1)
		res := &response{ResponseWriter: w, tracker: t, remote: r.RemoteAddr}
		next.ServeHTTP(res, r)
		res.begin(http.StatusOK)
		if w.Header().Get("Connection") != "close" {
			t.kept.Store(time.Now().UnixNano())
		}
	})
}

// quiet reports whether all responses have ended, and those that left their
// connection open have done so long enough ago.
func (t *tracker) quiet(notice time.Duration) bool {
	return t.active.Load() == 0 && time.Since(time.Unix(0, t.kept.Load())) >= notice
}

// response is a response of a tracker.
type response struct {
	http.ResponseWriter
	tracker *tracker
	remote  string
	begun   bool
}

func (r *response) WriteHeader(status int) {
	r.begin(status)
	r.ResponseWriter.WriteHeader(status)
}

func (r *response) Write(b []byte) (int, error) {
	r.begin(http.StatusOK)
	return r.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (r *response) Unwrap() http.ResponseWriter { return r.ResponseWriter }

// begin completes the header before it is sent.
func (r *response) begin(status int) {
	if r.begun {
		return
	}
	r.begun = true
	if status/100 == 4 {
		r.Header().Set("Connection", "close")
		_ = http.NewResponseController(r.ResponseWriter).SetReadDeadline(time.Now().Add(lingerTime))
		r.tracker.rejected(status, r.remote)
	}
	select {
	case <-r.tracker.stopping:
		r.Header().Set("Connection", "close")
	default:
	}
}

// rejected counts a rejected request, and logs at most one a second for each
// status.
func (t *tracker) rejected(status int, remote string) {
	t.metrics.reject(status)
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	if now.Sub(t.logged[status]) < time.Second {
		return
	}
	t.logged[status] = now
	t.log.Info("rejected", "status", status, "remote", remote)
}
