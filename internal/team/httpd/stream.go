package httpd

import (
	"net/http"
	"time"
)

// silence is how long an event stream may be silent. Proxies close idle streams, many after 60 s.
const silence = 15 * time.Second

// keepOpen makes r the response to a message for the SDK, often an event stream. Each write is sent
// at once, and after each silence follows a comment
// (https://html.spec.whatwg.org/multipage/server-sent-events.html): a call without a progress token
// sends nothing else before its result.
func (r *response) keepOpen() {
	r.mu.Lock() // comment uses the timer
	defer r.mu.Unlock()
	r.silent = time.AfterFunc(silence, r.comment)
}

// streamHeader is the header of an event stream.
func streamHeader() http.Header {
	return http.Header{
		"Content-Type":  {"text/event-stream"},
		"Cache-Control": {"no-cache, no-transform"},
	}
}

// comment sends a comment. A response that has not begun by then is the event stream of a call:
// everything else is answered at once. Its header is not that of the handler, which may change it.
func (r *response) comment() {
	if !r.mu.TryLock() {
		return // a write is waiting for the client; it sets the timer at its end
	}
	defer r.mu.Unlock()
	if r.silent == nil || r.cancelled.Load() { // the handler has returned, or soon will
		return
	}

	r.beginLocked(http.StatusOK, streamHeader())
	_, _ = r.writeLocked([]byte(": keep-alive\n\n"))
}
