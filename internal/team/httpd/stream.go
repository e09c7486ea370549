package httpd

import (
	"net/http"
	"time"
)

// commentInterval is the time without a write after which an event stream gets a comment. Proxies
// close idle streams, many after 60 s.
const commentInterval = 15 * time.Second

// keepOpen makes r a response that may become an event stream. From then on each write is sent at
// once, and a comment follows after each silence
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): a call without a progress token
// sends nothing else before its result.
func (r *response) keepOpen() {
	r.mu.Lock() // sendComment uses the timer
	defer r.mu.Unlock()
	r.keepAlive = time.AfterFunc(commentInterval, r.sendComment)
}

// streamHeader returns the header of an event stream.
func streamHeader() http.Header {
	return http.Header{
		"Content-Type":  {"text/event-stream"},
		"Cache-Control": {"no-cache, no-transform"},
	}
}

// sendComment sends a comment. A response that has not begun by now is the event stream of a call,
// or of a method of tasks that waits for the API: everything else is answered at once. So
// sendComment begins it, with streamHeader: the handler may be changing r.header.
func (r *response) sendComment() {
	if !r.mu.TryLock() {
		return // the client is slow to take a write, which sets the timer when it is done
	}
	defer r.mu.Unlock()
	if r.keepAlive == nil || r.cancelled.Load() { // the handler has returned, or soon will
		return
	}

	r.beginLocked(http.StatusOK, streamHeader())
	_, _ = r.writeLocked([]byte(": keep-alive\n\n"))
}
