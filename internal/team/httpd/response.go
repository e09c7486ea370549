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

// track makes the response of each request, and passes both to next. A panic, which net/http would
// log at debug level only, is logged as an error, and closes the connection.
func (s *instance) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{
			instance: s,
			w:        w,
			control:  http.NewResponseController(w),
			request:  r,
			header:   http.Header{},
		}
		// This deadline is for a request that is answered before its body is read; admit sets
		// another. A request without a body gets none: net/http reads on, to see whether the client
		// leaves.
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

// response is the response to one request, and the ResponseWriter of all handlers of an instance:
// they get no other, and convert theirs to a *response.
//
// A client that takes nothing of a response for writeTimeout loses its connection: then the request
// ends, and the slot of its call is freed.
//
// The handler and the timer of keepOpen write the response. Only the handler uses header until it
// writes.
type response struct {
	instance *instance
	request  *http.Request
	reason   string      // why the request is rejected; "" is the text of the status
	person   call.Person // zero until requireToken knows the person
	header   http.Header // header that the handler sets; w gets it in beginLocked
	control  *http.ResponseController

	// isCall is true for tools/call, whose unknown tool is no 404: the SDK sends one, since the code is
	// that of an unknown method, and clients on the Go SDK 1.7, and on mcp-go, take it for the end of
	// their session.
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

func (r *response) Header() http.Header {
	return r.header
}

func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isCall && status == http.StatusNotFound {
		status = http.StatusOK
	}
	if !r.isCancelled() {
		r.beginLocked(status, r.header)
	}
}

func (r *response) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.isCancelled() {
		return len(b), nil
	}
	r.beginLocked(http.StatusOK, r.header)
	return r.writeLocked(b)
}

// beginLocked sends the header, unless it is sent already. A rejection is counted and logged, and
// closes the connection.
func (r *response) beginLocked(status int, header http.Header) {
	if r.begun {
		return
	}
	r.begun = true

	maps.Copy(r.w.Header(), header)
	rejected := status/100 == 4 || r.reason != ""
	if rejected {
		r.recordRejection(status)
	}
	if rejected || r.instance.hasManyConns() || r.instance.serveCtx.Err() != nil {
		r.w.Header().Set("Connection", "close")
	}
	// The deadline may be over: a call may have written nothing for longer than writeTimeout.
	_ = r.control.SetWriteDeadline(time.Now().Add(writeTimeout))
	r.w.WriteHeader(status)
}

// rejection is what rejected requests have in common, for the metrics and the log.
type rejection struct {
	status int
	reason string // such as person, server or bytes of a 429
	person string // name of the person; "" if unknown
}

// recordRejection counts a rejected request, and logs it: at most one line a second for each
// status, reason and person. SDKs of clients begin with a GET, whose 405 is only logged for
// debugging.
func (r *response) recordRejection(status int) {
	rej := rejection{
		status: status,
		reason: cmp.Or(r.reason, http.StatusText(status)),
		person: r.person.Name,
	}
	s := r.instance
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
		origin := r.request.Header.Get("Origin")
		values = append(values, "host", text.Label(r.request.Host), "origin", text.Label(origin))
	}
	values = append(values, "remote", s.clientAddress(r.request))
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
func (r *response) writeLocked(b []byte) (written int, err error) {
	for chunk := range slices.Chunk(b, writeChunk) {
		_ = r.control.SetWriteDeadline(time.Now().Add(writeTimeout))
		n, err := r.w.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}

	if r.isStream && r.commentTimer != nil {
		err = r.flushLocked()
	}
	return written, err
}

// flushLocked sends what is written, and sets the timer for the next comment. After an error at most
// one comment is tried.
func (r *response) flushLocked() error {
	err := r.control.Flush()
	if err == nil {
		r.commentTimer.Reset(commentInterval)
	}
	return err
}

// end completes the response, which must not be used afterwards.
func (r *response) end() {
	r.mu.Lock()
	defer r.mu.Unlock()
	status := http.StatusOK
	header := r.header
	switch {
	case !r.isCancelled():
	case r.isStream:
		header = r.earlyHeader()
	default: // the response would have been plain JSON
		status = http.StatusAccepted
		header = http.Header{}
	}
	r.beginLocked(status, header)
	if r.commentTimer != nil {
		r.commentTimer.Stop()
		r.commentTimer = nil
	}
}
