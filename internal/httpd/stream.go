package httpd

import (
	"maps"
	"net/http"
	"sync"
	"time"
)

// silence is how long an event stream may be silent. Proxies close idle streams, many after 60 s.
const silence = 15 * time.Second

// stream is the response to a message for the SDK, often an event stream. After each silence it
// sends a comment (https://html.spec.whatwg.org/multipage/server-sent-events.html): a call
// without a progress token sends nothing else before its result.
//
// The handler and the timer write to it. The handler owns header until it writes; a comment that is
// written before sends a header of its own.
type stream struct {
	header http.Header

	mu      sync.Mutex // guards the fields below
	w       http.ResponseWriter
	control *http.ResponseController
	silent  *time.Timer // sends the next comment
	begun   bool        // the header is out
	ended   bool        // the handler has returned
}

// newStream returns a stream that writes to w until end.
func newStream(w http.ResponseWriter) *stream {
	s := &stream{
		header:  http.Header{},
		w:       w,
		control: http.NewResponseController(w),
	}

	s.mu.Lock() // comment uses the timer
	defer s.mu.Unlock()
	s.silent = time.AfterFunc(silence, s.comment)
	return s
}

func (s *stream) Header() http.Header { return s.header }

func (s *stream) WriteHeader(status int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(status, s.header)
}

func (s *stream) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(http.StatusOK, s.header)
	return s.writeLocked(b)
}

// beginLocked sends the header once.
func (s *stream) beginLocked(status int, header http.Header) {
	if s.begun {
		return
	}
	s.begun = true

	maps.Copy(s.w.Header(), header)
	s.w.WriteHeader(status)
}

// writeLocked sends b at once, and lets the next silence begin. A comment or an event that could
// not be written is the last.
func (s *stream) writeLocked(b []byte) (int, error) {
	n, err := s.w.Write(b)
	if err != nil {
		return n, err
	}

	err = s.control.Flush()
	s.silent.Reset(silence)
	return n, err
}

// comment sends a comment. A response that has not begun by then is the event stream of a call:
// everything else is answered at once.
func (s *stream) comment() {
	if !s.mu.TryLock() {
		return // a write is waiting for the client; it sets the timer at its end
	}
	defer s.mu.Unlock()
	if s.ended {
		return
	}

	header := http.Header{}
	header.Set("Content-Type", "text/event-stream")
	header.Set("Cache-Control", "no-cache, no-transform")
	s.beginLocked(http.StatusOK, header)
	_, _ = s.writeLocked([]byte(": keep-alive\n\n"))
}

// end stops the comments. The stream must not be used after it.
func (s *stream) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.beginLocked(http.StatusOK, s.header)
	s.ended = true
	s.silent.Stop()
}
