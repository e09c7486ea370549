package httpd

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
)

// maxID is the largest integer that is accepted as an id. Larger ones lose digits in many JSON
// decoders, such as the SDK's. A progress token must be smaller, because it is compared after
// decoding: 2^53+1 has become 2^53.
const maxID = 1 << 53

// methods are the requests that the server answers over HTTP. subscriptions/listen is among them
// because clients built on the Go SDK 1.7 send it in any case, and would take a 404 for the end of
// their session (https://github.com/modelcontextprotocol/go-sdk/pull/1193). The SDK acknowledges no
// notification, because the tools never change, and ends the stream.
var methods = func() rpc.Methods {
	m := maps.Clone(server.Methods)
	m["subscriptions/listen"] = rpc.Required[mcp.SubscriptionsListenParams]
	return m
}()

// acceptMessage returns the message in a body. If the SDK cannot answer it, acceptMessage answers
// with an error and returns nil. The SDK does not get such a message, because it would change the
// id of some.
func acceptMessage(w http.ResponseWriter, r *http.Request, body []byte) *rpc.Message {
	m, rpcErr := methods.Parse(body)
	id := "" // the id in the error response; "" is null
	switch {
	case rpcErr != nil:
	case m.ID.Exists() && !isValidID(m.ID.Raw):
		rpcErr = rpc.InvalidRequest("id is not a string or an integer within ±2^53")
	case m.Method == "":
		rpcErr = rpc.InvalidRequest("not a request") // a response; the server sends no requests
	case m.Error != nil:
		rpcErr = m.Error
		id = m.ID.Raw
	case math.Abs(gjson.GetBytes(m.Params, "_meta.progressToken").Num) >= maxID: // 0 for a string
		rpcErr = rpc.InvalidRequest("progressToken is not a string or a number within 2^53")
		id = m.ID.Raw
	default:
		return m
	}

	status := http.StatusBadRequest
	switch {
	case id != "" && isLegacy(r):
		status = http.StatusOK // before server.StatelessVersion an error was an ordinary response
	case rpcErr.Code == jsonrpc.CodeMethodNotFound:
		status = http.StatusNotFound
	}
	writeError(w, status, cmp.Or(id, "null"), rpcErr)
	return nil
}

// writeError answers a message with an error. id is that of the message, or null.
func writeError(w http.ResponseWriter, status int, id string, e *jsonrpc.Error) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	message, _ := jsonx.Marshal(e.Message) // a string is always valid
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, e.Code, message)
}

// dropVersionHeader removes the protocol version from the header of a request, if it is a date and
// the params have no version (_meta). It does so for two methods:
//   - initialize: its params negotiate the version. The SDK would refuse a header with a version
//     that it does not support.
//   - ping with server.StatelessVersion in the header alone. Clients on the Go SDK 1.7 and 1.8 send
//     it so. If it is refused, the connection of 1.7 ends
//     (https://github.com/modelcontextprotocol/go-sdk/issues/1130).
func dropVersionHeader(r *http.Request, m *rpc.Message) {
	isStatelessPing := m.Method == "ping" && !isLegacy(r)
	if m.Method != "initialize" && !isStatelessPing {
		return
	}
	version := gjson.GetBytes(m.Params, "_meta").Map()[mcp.MetaKeyProtocolVersion]
	_, err := time.Parse(time.DateOnly, r.Header.Get(versionHeader))
	if err == nil && version.Type == gjson.Null { // null, or absent
		r.Header.Del(versionHeader)
	}
}

// normalizeAccept reports whether a client accepts an event stream. The SDK wants clients to accept
// both an event stream and JSON. For a client that names only one of the two, or has no Accept
// header, normalizeAccept puts both into the header.
func normalizeAccept(header http.Header) (acceptsStream bool) {
	list := strings.ToLower(strings.Join(header.Values("Accept"), ","))
	has := func(kind string) bool { return strings.Contains(list, kind) }
	acceptsStream = has("text/event-stream") || has("text/*") || has("*/*")
	acceptsJSON := has("application/json") || has("application/*") || list == ""

	if acceptsStream || acceptsJSON {
		header.Set("Accept", "application/json, text/event-stream")
	}
	return acceptsStream
}

// isValidID reports whether the SDK returns an id, which is JSON, unchanged.
func isValidID(id string) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && -maxID <= n && n <= maxID && id != "-0"
}

// isLegacy reports whether a request names a version before server.StatelessVersion, or none: its
// client cancels with notifications, and gets errors with status 200.
func isLegacy(r *http.Request) bool {
	return r.Header.Get(versionHeader) < server.StatelessVersion
}

// isNotification reports whether m is a notification, not a request that lacks its id. All
// notifications are accepted, as over stdio. The SDK would refuse a notification that it does not
// know, or that lacks the headers of requests. Clients send both
// (https://github.com/modelcontextprotocol/python-sdk/issues/3324), and some give up the connection
// when one is refused (https://github.com/modelcontextprotocol/go-sdk/issues/1212).
func isNotification(m *rpc.Message) bool {
	return m.Method != "" && !m.ID.Exists() && methods[m.Method] == nil
}

// serveMessage answers an HTTP request whose message is m. Notifications end here; serveMCP answers
// all other requests. Clients for which isLegacy is true cancel a call with a notification. For
// them the response to initialize has a session id (Mcp-Session-Id), which tells the client's calls
// from those of other clients, and a call is in s.cancellable while it runs.
func (s *instance) serveMessage(res *response, r *http.Request, m *rpc.Message) {
	dropVersionHeader(r, m) // first, because isLegacy reads the header
	res.isCall = m.Method == "tools/call"
	switch {
	case isNotification(m):
		s.acceptNotification(res, r, m)
		return

	case !isLegacy(r): // later clients cancel a call by closing its response
	case m.Method == "initialize":
		res.Header().Set(sessionHeader, rand.Text()) // 130 bits, which cannot be guessed
	case res.isCall:
		ctx, cancel := context.WithCancelCause(r.Context())
		defer cancel(nil)
		r = r.WithContext(ctx)
		res.request = r
		res.cancelCall = cancel
		key := keyOf(res, m.ID)
		s.cancellable.add(key, res)
		defer s.cancellable.remove(key, res)
	}

	s.serveMCP(res, r)
}

// acceptNotification answers a notification, and ends the calls that it cancels.
func (s *instance) acceptNotification(res *response, r *http.Request, m *rpc.Message) {
	if m.Method == cancelMethod && isLegacy(r) {
		s.cancelCalls(res, m)
	}
	res.WriteHeader(http.StatusAccepted)
}
