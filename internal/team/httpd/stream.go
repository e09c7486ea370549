package httpd

import (
	"net/http"
	"time"
)

// commentInterval is the time without a write after which a response that waits for its result gets
// a comment, or JSON a blank line. Proxies close idle responses, many after 60 s.
const commentInterval = 15 * time.Second

// keepOpen makes res a response that may take long. Then something that clients skip follows each
// silence: on an event stream a comment
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), before JSON a blank line. A call
// without a progress token sends nothing else before its result.
func (res *response) keepOpen(isStream bool) {
	res.mu.Lock() // sendComment uses the timer
	defer res.mu.Unlock()
	res.isStream = isStream
	res.commentTimer = time.AfterFunc(commentInterval, res.sendComment)
}

// earlyHeader returns the header of a response that begins before its handler writes.
func (res *response) earlyHeader() http.Header {
	contentType := "application/json"
	if res.isStream {
		contentType = "text/event-stream"
	}
	return http.Header{
		"Content-Type":  {contentType},
		"Cache-Control": {"no-cache, no-transform"},
	}
}

// sendComment sends a comment or a blank line. A response that has not begun by now is that of a
// call, or of a method of tasks that waits for the API: everything else is answered at once. So
// sendComment begins it, with earlyHeader: the handler may be changing res.header.
func (res *response) sendComment() {
	if !res.mu.TryLock() {
		return // another write sets the timer again, or is the result, after which there is no comment
	}
	defer res.mu.Unlock()
	if res.commentTimer == nil || res.isCancelled() { // the handler has returned, or soon will
		return
	}

	comment := "\n"
	if res.isStream {
		comment = ": keep-alive\n\n"
	}
	res.beginLocked(http.StatusOK, res.earlyHeader())
	_, err := res.writeLocked([]byte(comment))
	if err == nil {
		_ = res.flushLocked()
	}
}
