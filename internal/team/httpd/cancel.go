package httpd

import (
	"context"
	"errors"
	"slices"
	"sync"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
)

const (
	sessionHeader = "Mcp-Session-Id"
	cancelMethod  = "notifications/cancelled"
)

// cancellableCalls holds the running calls of clients with a protocol version before
// server.StatelessVersion. These clients cancel a call with a notification, and leave its response
// open. Later clients close the response.
type cancellableCalls struct {
	mu    sync.Mutex
	byKey map[callKey][]*response // more than one response only if a client uses an id twice
}

// callKey identifies a call for its cancellation.
type callKey struct {
	personID string // "" if anonymous
	session  string // Mcp-Session-Id of the client; "" if it sends none
	id       string // id of the request, in the form of rpc.IDKey
}

// keyOf returns the key of a call with an id. res responds to the call, or to its cancellation:
// both come from the same person and session.
func keyOf(res *response, id gjson.Result) callKey {
	return callKey{
		personID: res.person.ID,
		session:  res.request.Header.Get(sessionHeader),
		id:       rpc.IDKey(id),
	}
}

// add adds a call, which cancel may end until remove.
func (c *cancellableCalls) add(key callKey, res *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[key] = append(c.byKey[key], res)
}

func (c *cancellableCalls) remove(key callKey, res *response) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.byKey[key] = slices.DeleteFunc(c.byKey[key], func(other *response) bool { return other == res })
	if len(c.byKey[key]) == 0 {
		delete(c.byKey, key)
	}
}

// cancel ends the calls with a key, and returns how many. With a session, all these calls come from
// one client. Without a session they may come from several clients of the person, so cancel ends
// none if there is more than one. Without a session it also ends no anonymous call, because several
// people may be anonymous.
func (c *cancellableCalls) cancel(key callKey) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	calls := c.byKey[key]
	if key.session == "" && (key.personID == "" || len(calls) > 1) {
		return 0
	}
	for _, res := range calls {
		res.cancelCall(call.ErrCancelled)
	}
	return len(calls)
}

// cancelCalls ends the calls that the cancellation m names, if they run in this process.
func (s *instance) cancelCalls(res *response, m *rpc.Message) {
	id := gjson.GetBytes(m.Params, "requestId")
	calls := s.cancellable.cancel(keyOf(res, id))
	reason := gjson.GetBytes(m.Params, "reason").Str
	s.Log.Debug("cancelled",
		"requestId", text.ShortLine(id.Raw),
		"reason", text.ShortLine(reason),
		"client", res.person.Name,
		"calls", calls)
}

// isCancelled reports whether another request has cancelled the call that res responds to. The rest
// of the result is not sent (Write); response.end completes the response.
func (res *response) isCancelled() bool {
	return errors.Is(context.Cause(res.request.Context()), call.ErrCancelled)
}
