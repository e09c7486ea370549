package httpd

import (
	"net/http"
	"time"
)

// commentInterval is the time without a write after which a response that waits for its result gets
// a comment, or JSON a blank line. Proxies close idle responses, many after 60 s.
const commentInterval = 15 * time.Second

// keepOpen makes r a response that may take long. Then something that clients skip follows each
// silence: on an event stream a comment
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), before JSON a blank line. A call
// without a progress token sends nothing else before its result.
func (r *response) keepOpen(isStream bool) {
	r.mu.Lock() // sendComment uses the timer
	defer r.mu.Unlock()
	r.isStream = isStream
	r.commentTimer = time.AfterFunc(commentInterval, r.sendComment)
}

// earlyHeader returns the header of a response that begins before its handler writes.
func (r *response) earlyHeader() http.Header {
	contentType := "application/json"
	if r.isStream {
		contentType = "text/event-stream"
	}
	return http.Header{
		"Content-Type":  {contentType},
		"Cache-Control": {"no-cache, no-transform"},
	}
}

// sendComment sends a comment or a blank line. A response that has not begun by now is that of a
// call, or of a method of tasks that waits for the API: everything else is answered at once. So
// sendComment begins it, with earlyHeader: the handler may be changing r.header.
func (r *response) sendComment() {
	if !r.mu.TryLock() {
		return // the client is slow to take a write, which sets the timer when it is done
	}
	defer r.mu.Unlock()
	if r.commentTimer == nil || r.isCancelled() { // the handler has returned, or soon will
		return
	}

	comment := "\n"
	if r.isStream {
		comment = ": keep-alive\n\n"
	}
	r.beginLocked(http.StatusOK, r.earlyHeader())
	_, err := r.writeLocked([]byte(comment))
	if err == nil {
		_ = r.flushLocked() // of JSON, too
	}
}
