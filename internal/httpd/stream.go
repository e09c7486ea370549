package httpd

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// silence is how long a response may be silent. Proxies close idle streams,
// many after 60 seconds.
const silence = 15 * time.Second

// keepAlive sends an SSE comment (https://html.spec.whatwg.org/multipage/server-sent-events.html)
// after each silence of a POST response. A call without a progress token sends
// nothing else before its result.
func keepAlive(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			next.ServeHTTP(w, r)
			return
		}
		s := &stream{w: w, header: http.Header{}}
		s.mu.Lock() // comment reads the timer
		s.timer = time.AfterFunc(silence, s.comment)
		s.mu.Unlock()
		defer s.end()
		next.ServeHTTP(s, r)
	})
}

// stream is a response. The handler has its own header map, because the timer
// may have to send the header meanwhile.
type stream struct {
	w      http.ResponseWriter
	header http.Header

	mu    sync.Mutex
	timer *time.Timer
	begun bool // the header is out
	ended bool
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(status, s.header)
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.begin(http.StatusOK, s.header)
	defer s.timer.Reset(silence)
	return s.w.Write(b)
}

func (s *stream) FlushError() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.timer.Reset(silence)
	return http.NewResponseController(s.w).Flush()
}

// begin sends the header once.
func (s *stream) begin(status int, header http.Header) {
	if s.begun {
		return
	}
	s.begun = true
	maps.Copy(s.w.Header(), header)
	s.w.WriteHeader(status)
}

// comment sends a comment and waits for the next silence. A response that has
// not begun by then is the event stream of a call: everything else is answered
// at once.
func (s *stream) comment() {
	if !s.mu.TryLock() {
		return // a write is waiting for the client; it sets the timer at its end
	}
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.begin(http.StatusOK, http.Header{
		"Content-Type":  {"text/event-stream"},
		"Cache-Control": {"no-cache, no-transform"},
	})
	_, err := s.w.Write([]byte(": keep-alive\n\n"))
	if err == nil {
		err = http.NewResponseController(s.w).Flush()
	}
	if err == nil {
		s.timer.Reset(silence)
	}
}

// end stops the comments; the response must not be used after it.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.timer.Stop()
}
