package httpd

import (
	"context"
	"crypto/rand"
	"io"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
)

const (
	sessionHeader = "Mcp-Session-Id"
	cancelled     = "notifications/cancelled"

	maxCancelled = 4 << 10 // bytes of a cancellation beyond the limits of requests
)

// running are the calls that run for clients before server.Stateless, which cancel a call with a
// notification and leave its response open. Later clients close the response.
type running struct {
	mu    sync.Mutex
	calls map[callKey][]*response // with the same key only if a client uses an id twice
}

// callKey is what a cancellation has to name.
type callKey struct {
	person  string // by ID, "" if anonymous
	session string // the client's Mcp-Session-Id, "" for none
	id      string // of the request, in the form of rpc.Key
}

// keyOf returns the key of the call with an id that a request is, or cancels.
func keyOf(r *response, id gjson.Result) callKey {
	return callKey{
		person:  r.person.ID,
		session: r.request.Header.Get(sessionHeader),
		id:      rpc.Key(id),
	}
}

// add makes a call known until remove.
func (c *running) add(key callKey, r *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[key] = append(c.calls[key], r)
}

func (c *running) remove(key callKey, r *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls[key] = slices.DeleteFunc(c.calls[key], func(other *response) bool { return other == r })
	if len(c.calls[key]) == 0 {
		delete(c.calls, key)
	}
}

// find returns the calls that a key means. All calls of a session are of one client. Without a
// session they are of any client of the person, so there must be one call; and anonymous callers
// are many people.
func (c *running) find(key callKey) []*response {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.calls[key]
	if key.session == "" && (key.person == "" || len(calls) > 1) {
		return nil
	}
	return slices.Clone(calls)
}

// isLegacy reports whether the client of a request cancels with notifications.
func isLegacy(r *http.Request) bool {
	return r.Header.Get(versionHeader) < server.Stateless
}

// withCancellation gives initialize the id of a session of the client (Mcp-Session-Id). A
// cancellation ends its calls, and a call can be cancelled while it runs.
func (s *instance) withCancellation(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		res := responseOf(w)
		m := res.message
		switch {
		case m == nil || !isLegacy(r):
		case m.Method == "initialize":
			res.Header().Set(sessionHeader, rand.Text()) // 130 bits, which cannot be guessed
		case m.Method == cancelled:
			s.cancel(res, m)
		case m.Method == "tools/call":
			ctx, cancel := context.WithCancelCause(r.Context())
			defer cancel(nil)
			r = r.WithContext(ctx)
			res.cancelCall = cancel
			key := keyOf(res, m.ID)
			s.running.add(key, res)
			defer s.running.remove(key, res)
		}
		next.ServeHTTP(w, r)
	})
}

// cancel ends the calls that a cancellation means, if this process runs them.
func (s *instance) cancel(res *response, m *rpc.Message) {
	id := gjson.GetBytes(m.Params, "requestId")
	calls := s.running.find(keyOf(res, id))
	for _, call := range calls {
		call.cancel()
	}

	reason := gjson.GetBytes(m.Params, "reason").Str
	s.Log.Debug("cancelled",
		"requestId", text.Label(id.Raw),
		"reason", text.Label(reason),
		"client", res.person.Name,
		"calls", len(calls))
}

// cancelBeyondLimits answers a request that is refused if it is a cancellation, and reports whether
// it is: people who run as many calls as they may can stop one. begun is what was read of its body.
func (s *instance) cancelBeyondLimits(res *response, r *http.Request, begun []byte) bool {
	small := 0 < r.ContentLength && r.ContentLength <= maxCancelled
	if r.Method != http.MethodPost || !isLegacy(r) || !small {
		return false
	}

	_ = res.control.SetReadDeadline(time.Now().Add(lingerTime))
	rest, err := io.ReadAll(r.Body)
	m, refusal := server.Methods.Read(append(begun, rest...))
	if err != nil || refusal != nil || m.Method != cancelled || m.ID.Exists() {
		return false
	}
	s.cancel(res, m)
	res.WriteHeader(http.StatusAccepted)
	return true
}

// cancel ends the call whose response r is. What is not written yet of the response is not sent.
func (r *response) cancel() {
	r.cancelled.Store(true)
	r.cancelCall(server.ErrCancelled)
}
