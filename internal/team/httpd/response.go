package httpd

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"net/netip"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	writeTimeout = 30 * time.Second // for the client to take writeChunk bytes
	writeChunk   = 32 << 10

	// lingerTime is how long net/http may read the body of a request that is answered without it. A
	// connection that is closed with unread bytes can lose the response.
	lingerTime = time.Second
)

// withResponse makes the response of each request, and passes both to next. A panic, which net/http
// would log at debug level only, is logged as an error, and closes the connection.
func (s *instance) withResponse(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{
			instance: s,
			w:        w,
			control:  http.NewResponseController(w),
			request:  r,
			header:   http.Header{},
		}
		// This deadline is for a request that is answered before its body is read; admit sets
		// another. A request without a body gets none, because net/http reads on to see whether the
		// client leaves.
		if r.Body != http.NoBody {
			_ = res.control.SetReadDeadline(time.Now().Add(lingerTime))
		}

		defer func() {
			p := recover()
			err, _ := p.(error)
			if p != nil && !errors.Is(err, http.ErrAbortHandler) {
				s.Log.Error("panic in a request", "panic", p, "stack", string(debug.Stack()))
			}
			res.end()
			if p != nil {
				panic(http.ErrAbortHandler)
			}
		}()
		next.ServeHTTP(res, r)
	})
}

// response is the response to one request. It is the ResponseWriter of all handlers of an instance,
// which get no other, and convert theirs to a *response.
//
// A client that takes nothing of a response for writeTimeout loses its connection. The end of the
// request then frees the slot of its call.
//
// The handler and the timer of keepOpen write the response. Until the handler writes, only the
// handler uses header.
type response struct {
	instance *instance
	request  *http.Request
	reason   string      // why the request is rejected; "" is the text of the status
	person   call.Person // zero until requireToken knows the person
	header   http.Header // header that the handler sets; w gets it in beginLocked
	control  *http.ResponseController

	// rejectedAs is the status of a rejection in the metrics and the log; 0: that of the response.
	rejectedAs int

	// isCall is true for tools/call. WriteHeader replaces its status 404 by 200: clients on the Go
	// SDK 1.7, and on mcp-go, take a 404 for the end of their session. The SDK sends it for an
	// unknown tool, whose error has the code of an unknown method.
	isCall bool

	// cancelCall ends a call that its client can cancel with a notification (serveMessage). It ends
	// the context of request, too.
	cancelCall context.CancelCauseFunc

	mu           sync.Mutex // guards the fields below
	w            http.ResponseWriter
	commentTimer *time.Timer // sends the next comment; nil before keepOpen and after end
	isStream     bool        // an event stream; set by keepOpen
	begun        bool        // the header is sent
}

func (res *response) Header() http.Header {
	return res.header
}

func (res *response) WriteHeader(status int) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if res.isCall && status == http.StatusNotFound {
		status = http.StatusOK
	}
	if !res.isCancelled() {
		res.beginLocked(status, res.header)
	}
}

func (res *response) Write(b []byte) (int, error) {
	res.mu.Lock()
	defer res.mu.Unlock()
	if res.isCancelled() {
		return len(b), nil
	}
	res.beginLocked(http.StatusOK, res.header)
	return res.writeLocked(b)
}

// beginLocked sends the header, unless it is sent already. A rejection is counted and logged, and
// closes the connection.
func (res *response) beginLocked(status int, header http.Header) {
	if res.begun {
		return
	}
	res.begun = true

	maps.Copy(res.w.Header(), header)
	rejected := status/100 == 4 || res.reason != ""
	if rejected {
		res.recordRejection(cmp.Or(res.rejectedAs, status))
	}
	if rejected || res.instance.hasManyConns() || res.instance.serveCtx.Err() != nil {
		res.w.Header().Set("Connection", "close")
	}
	// The deadline may be over: a call may have written nothing for longer than writeTimeout.
	_ = res.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	res.w.WriteHeader(status)
}

// rejection is what rejected requests have in common, for the metrics and the log.
type rejection struct {
	status int
	reason string // such as person, server or bytes of a 429
	person string // name of the person; "" if unknown
}

// recordRejection counts a rejected request, and logs it: at most one line a second for each
// status, reason and person. A 405 is logged at debug level, because SDKs of clients begin with a
// GET.
func (res *response) recordRejection(status int) {
	rej := rejection{
		status: status,
		reason: cmp.Or(res.reason, http.StatusText(status)),
		person: res.person.Name,
	}
	s := res.instance
	s.metrics.countRejections(1, rej)

	log := s.Log.Info
	if status == http.StatusMethodNotAllowed {
		log = s.Log.Debug
	}
	values := []any{"status", status, "reason", rej.reason}
	switch {
	case rej.person != "":
		values = append(values, "client", rej.person)
	case status == http.StatusForbidden: // because of the Host or the Origin header
		origin := res.request.Header.Get("Origin")
		values = append(values, "host", text.ShortLine(res.request.Host), "origin", text.ShortLine(origin))
	}
	values = append(values, "remote", s.clientAddress(res.request))
	s.LogLimiter.Log(rej, func(n int) { log("rejected", append(values, "count", n)...) })
}

// clientAddress returns the address of a client for the log: the last address of X-Forwarded-For if
// the connection comes from TrustedProxy, which added it; else the address of the connection.
func (o Options) clientAddress(r *http.Request) string {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	list := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	entry := list[strings.LastIndex(list, ",")+1:]
	last, _ := netip.ParseAddr(HostName(strings.TrimSpace(entry))) // some proxies add the port
	trusted := from.IsValid() && from.Addr().Unmap() == o.TrustedProxy.Unmap()
	if !trusted || !last.IsValid() {
		return r.RemoteAddr
	}
	return last.String()
}

// writeLocked writes b, and gives the client writeTimeout for each chunk. On an event stream it
// flushes b. JSON is not flushed, so that net/http sends its length.
func (res *response) writeLocked(b []byte) (written int, err error) {
	for chunk := range slices.Chunk(b, writeChunk) {
		_ = res.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		n, err := res.w.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}

	if res.isStream && res.commentTimer != nil {
		err = res.flushLocked()
	}
	return written, err
}

// flushLocked sends what is written, and sets the timer for the next comment. After an error it
// sets no timer; a timer that was set before still tries one comment. writeLocked calls flushLocked
// for each write on a stream, sendComment for a blank line before JSON.
func (res *response) flushLocked() error {
	err := res.control.Flush()
	if err == nil {
		res.commentTimer.Reset(commentInterval)
	}
	return err
}

// end completes the response, which must not be used afterwards. If the call was cancelled before
// the response began, the response is an empty stream, or 202 without a body.
func (res *response) end() {
	res.mu.Lock()
	defer res.mu.Unlock()
	status := http.StatusOK
	header := res.header
	switch {
	case !res.isCancelled():
	case res.isStream:
		header = res.earlyHeader()
	default: // the response would have been plain JSON
		status = http.StatusAccepted
		header = http.Header{}
	}
	res.beginLocked(status, header)
	if res.commentTimer != nil {
		res.commentTimer.Stop()
		res.commentTimer = nil
	}
}
