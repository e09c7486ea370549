package httpd

import (
	"net/http"
	"time"
)

// commentInterval is how long a response writes nothing, while it waits for its result, before it
// gets a comment or, if it is JSON, a blank line. Proxies close idle responses, many after 60 s.
const commentInterval = 15 * time.Second

// keepOpen keeps res open, which may take long: after each commentInterval without a write,
// sendComment writes something that clients skip. On an event stream this is a comment
// (https://html.spec.whatwg.org/multipage/server-sent-events.html), before JSON a blank line. A
// call without a progress token sends nothing else before its result.
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

// sendComment sends a comment or a blank line. If the response has not begun, sendComment begins
// it, with status 200: only calls, and methods of tasks that ask the API, take so long. It sets
// earlyHeader, because the handler may be changing res.header.
func (res *response) sendComment() {
	if !res.mu.TryLock() {
		return // another write sets the timer again, or is the result: no comment follows it
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
	if err == nil && !res.isStream { // writeLocked has flushed a stream
		_ = res.flushLocked()
	}
}
