package httpd

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
)

const (
	writeTime  = 30 * time.Second // for the client to take writeChunk bytes
	writeChunk = 32 << 10

	// lingerTime is for the body of a request that is answered without reading it. A connection
	// that is closed with unread bytes can lose the response.
	lingerTime = time.Second
)

// track passes requests to next, with a response.
func (s *instance) track(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := &response{
			instance: s,
			w:        w,
			control:  http.NewResponseController(w),
			request:  r,
			header:   http.Header{},
		}
		if r.Body != http.NoBody { // else net/http reads on, to see whether the client leaves
			_ = res.control.SetReadDeadline(time.Now().Add(lingerTime))
		}

		defer res.end()
		next.ServeHTTP(res, r)
	})
}

// responseOf returns the response that track has made: the handlers below it get no other
// ResponseWriter.
func responseOf(w http.ResponseWriter) *response { return w.(*response) }

// clientAddress returns the address of a client for the log: the one that a trusted proxy has added
// to X-Forwarded-For, or that of the connection.
func (o Options) clientAddress(r *http.Request) string {
	from, _ := netip.ParseAddrPort(r.RemoteAddr)
	list := strings.Join(r.Header.Values("X-Forwarded-For"), ",")
	entry := list[strings.LastIndex(list, ",")+1:]
	last, _ := netip.ParseAddr(HostName(strings.TrimSpace(entry))) // some proxies add the port
	trusted := from.IsValid() && from.Addr().Unmap() == o.TrustedProxy
	if !trusted || !last.IsValid() {
		return r.RemoteAddr
	}
	return last.String()
}

// response is a response of an instance, the ResponseWriter of all its handlers. A client that
// takes nothing of it for writeTime loses its connection: then the request ends, and the slot of
// its call is free.
//
// The handler and the timer of keepOpen write to it. The handler owns header until it writes.
type response struct {
	instance *instance
	request  *http.Request
	reason   string      // of a rejection; "": the text of its status
	person   call.Person // zero until it is known
	header   http.Header
	message  *rpc.Message // of the request, once it is accepted; else nil
	control  *http.ResponseController

	// Of a call that its client can cancel with a notification.
	cancelCall context.CancelCauseFunc
	cancelled  atomic.Bool

	mu     sync.Mutex // guards the fields below
	w      http.ResponseWriter
	silent *time.Timer // sends the next comment; nil before keepOpen, after end, and of plain JSON
	begun  bool        // the header is out
}

func (r *response) Header() http.Header {
	return r.header
}

func (r *response) WriteHeader(status int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.cancelled.Load() {
		r.beginLocked(status, r.header)
	}
}

func (r *response) Write(b []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cancelled.Load() {
		return len(b), nil
	}
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
		r.reject(status)
	}
	if rejected || r.instance.ctx.Err() != nil {
		r.w.Header().Set("Connection", "close")
	}
	// A call may have been silent for longer.
	_ = r.control.SetWriteDeadline(time.Now().Add(writeTime))
	r.w.WriteHeader(status)
}

// rejection is what rejected requests have in common.
type rejection struct {
	status int
	reason string // such as person, server or bytes of a 429
	person string // the name of the person, "" if unknown
}

// reject counts a rejected request, and logs it: at most one line a second for each status,
// reason and person. An SDK begins with a GET, whose 405 is not worth a line.
func (r *response) reject(status int) {
	same := rejection{
		status: status,
		reason: cmp.Or(r.reason, http.StatusText(status)),
		person: r.person.Name,
	}
	s := r.instance
	s.Metrics.reject(1, same)

	log := s.Log.Info
	if status == http.StatusMethodNotAllowed {
		log = s.Log.Debug
	}
	values := []any{"status", status, "reason", same.reason}
	switch {
	case same.person != "":
		values = append(values, "client", same.person)
	case status == http.StatusForbidden: // because of one of the two
		origin := r.request.Header.Get("Origin")
		values = append(values, "host", text.Label(r.request.Host), "origin", text.Label(origin))
	}
	values = append(values, "remote", s.clientAddress(r.request))
	s.Lines.Log(same, func(n int) { log("rejected", append(values, "count", n)...) })
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
	r.mu.Lock()
	defer r.mu.Unlock()
	status := http.StatusOK
	header := r.header
	switch {
	case !r.cancelled.Load():
	case r.silent != nil:
		header = streamHeader()
	default: // the response would have been one of JSON
		status = http.StatusAccepted
		header = http.Header{}
	}
	r.beginLocked(status, header)
	if r.silent != nil {
		r.silent.Stop()
		r.silent = nil
	}
}
