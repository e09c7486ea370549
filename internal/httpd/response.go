package httpd

import (
	"cmp"
	"context"
	"maps"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
)

const (
	writeTime  = 30 * time.Second // for the client to take writeChunk bytes
	writeChunk = 32 << 10

	// lingerTime is for the body of a request that is answered without reading it. A connection
	// that is closed with unread bytes can lose the response.
	lingerTime = time.Second
)

// tracker knows the responses of a server: how many there are, which connections stay open after
// them, and which rejected a request.
type tracker struct {
	o      Options
	ctx    context.Context // done when the server shuts down
	active atomic.Int64
	kept   atomic.Int64 // when a response last left its connection open, in Unix nanoseconds

	strangers *strangers
	draining  atomic.Bool // the notice time is over: no call is accepted

	logged logging.Limiter
}

// rejection is a kind of rejected requests.
type rejection struct {
	status int
	reason string // such as person, server or bytes of a 429
	person string // the name of the person, "" if unknown
}

// track passes requests to next with a response of the tracker.
func (t *tracker) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{
			w:       w,
			control: http.NewResponseController(w),
			tracker: t,
			address: t.o.clientAddress(r),
			header:  http.Header{},
		}
		if r.Body != http.NoBody { // else net/http reads on, to see whether the client leaves
			res.allow(lingerTime)
		}

		t.active.Add(1)
		defer res.end()
		next.ServeHTTP(res, r)
	})
}

// clientAddress returns the address of a client for the log: the one that a trusted proxy has added to
// X-Forwarded-For, or that of the connection.
func (o Options) clientAddress(r *http.Request) string {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	list := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	entry := list[strings.LastIndex(list, ",")+1:]
	last, _ := netip.ParseAddr(HostName(strings.TrimSpace(entry))) // some proxies add the port
	isTrusted := from.IsValid() && from.Addr().Unmap() == o.TrustedProxy
	if !isTrusted || !last.IsValid() {
		return r.RemoteAddr
	}
	return last.String()
}

// watch is the ConnState of a server. A connection whose response has ended is closed in the drain,
// also after a stream that began before, and so had no header for it.
func (t *tracker) watch(c net.Conn, state http.ConnState) {
	if state != http.StateIdle {
		return
	}
	if t.draining.Load() {
		_ = c.Close()
	}
	c.(*stranger).lines.Store(0) // all listeners are strangers
}

// accept refuses requests in the drain: they might not end before it does.
func accept(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := responseOf(w)
		if res.tracker.draining.Load() {
			res.reason = "shutting down"
			w.Header().Set("Retry-After", "1")
			http.Error(w, res.reason, http.StatusServiceUnavailable)
			return
		}
		next.ServeHTTP(w, r)
	})
}

// drain waits until all responses have ended, and those that left their connection open have done
// so long enough ago, but not longer than the options allow.
func (t *tracker) drain() {
	end := time.Now().Add(t.o.Drain)
	mayFollow := func() bool { // another request on a connection that was left open
		kept := time.Unix(0, t.kept.Load())
		return time.Since(kept) < t.o.Notice
	}
	for t.active.Load() > 0 || mayFollow() {
		if time.Now().After(end) {
			t.o.Log.Warn("cancelling the calls that are still in flight",
				"after", t.o.Drain.String())
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// reject counts a rejected request, and logs it: at most one line a second for each kind and person.
// An SDK begins with a GET, whose 405 is not worth a line.
func (t *tracker) reject(kind rejection, address string) {
	t.o.Metrics.reject(1, kind)

	n := t.logged.Count(kind)
	if n == 0 {
		return
	}

	log := t.o.Log.Info
	if kind.status == http.StatusMethodNotAllowed {
		log = t.o.Log.Debug
	}
	values := []any{"status", kind.status, "reason", kind.reason}
	if kind.person != "" {
		values = append(values, "client", kind.person)
	}
	log("rejected", append(values, "remote", address, "count", n)...)
}

// response is a response of a tracker. A client that takes nothing of it for writeTime loses its
// connection: then the request ends, and its place is free.
//
// The handler and the timer of keepOpen write to it. The handler owns header until it writes.
type response struct {
	tracker *tracker
	address string     // of the client
	reason  string     // of a rejection; "": the text of its status
	person  llm.Person // zero until it is known
	header  http.Header

	mu      sync.Mutex // guards the fields below
	w       http.ResponseWriter
	control *http.ResponseController
	silent  *time.Timer // sends the next comment; nil before keepOpen and after end
	begun   bool        // the header is out
}

// responseOf returns the response that track has passed to every handler.
func responseOf(w http.ResponseWriter) *response {
	return w.(*response)
}

// allow gives the client time to send the body of the request.
func (r *response) allow(d time.Duration) {
	_ = r.control.SetReadDeadline(time.Now().Add(d))
}

func (r *response) Header() http.Header {
	return r.header
}

func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(status, r.header)
}

func (r *response) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginLocked(http.StatusOK, r.header)
	return r.writeLocked(b)
}

// beginLocked sends the header once. A rejection is counted and closes the connection.
func (r *response) beginLocked(status int, header http.Header) {
	if r.begun {
		return
	}
	r.begun = true

	maps.Copy(r.w.Header(), header)
	rejected := status/100 == 4 || r.reason != ""
	if rejected {
		reason := cmp.Or(r.reason, http.StatusText(status))
		r.tracker.reject(rejection{status, reason, r.person.Name}, r.address)
	}
	if rejected || r.tracker.ctx.Err() != nil {
		r.w.Header().Set("Connection", "close")
	}
	r.w.WriteHeader(status)
}

// writeLocked writes b, and gives the client time for each part of it. A comment or an event that
// could not be written is the last.
func (r *response) writeLocked(b []byte) (written int, err error) {
	for chunk := range slices.Chunk(b, writeChunk) {
		_ = r.control.SetWriteDeadline(time.Now().Add(writeTime))
		n, err := r.w.Write(chunk)
		written += n
		if err != nil {
			return written, err
		}
	}

	if r.silent != nil {
		err = r.control.Flush()
		r.silent.Reset(silence)
	}
	return written, err
}

// end completes the response, which must not be used after it.
func (r *response) end() {
	r.WriteHeader(http.StatusOK)

	r.mu.Lock()
	defer r.mu.Unlock()
	if r.silent != nil {
		r.silent.Stop()
		r.silent = nil
	}
	isClosing := r.w.Header().Get("Connection") == "close" ||
		r.tracker.draining.Load()
	if !isClosing {
		r.tracker.kept.Store(time.Now().UnixNano())
	}
	r.tracker.active.Add(-1)
}
