package stdio

import (
	"encoding/json"
	"errors"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	methodCancelled = "notifications/cancelled" // spec §6.1
	methodProgress  = "notifications/progress"
)

// message is a request or notification as the client sent it. Its method is
// empty if it is a response.
type message struct {
	method string
	params json.RawMessage
	id     json.RawMessage // nil for a notification
}

var errInvalid = errors.New("not a JSON-RPC 2.0 request")

// parse reads a JSON value as a message. Unlike the fields of a struct, the
// names of members are case-sensitive.
func parse(v []byte) (message, error) {
	var o map[string]json.RawMessage
	if json.Unmarshal(v, &o) != nil || decode(o["jsonrpc"]) != "2.0" {
		return message{}, errInvalid
	}
	m := message{method: decode(o["method"]), params: o["params"], id: o["id"]}
	switch {
	case m.id != nil && key(m.id) == "": // null, a boolean, an object
		return m, errInvalid
	case m.method == "" && (o["method"] != nil || m.id == nil || o["result"] == nil && o["error"] == nil):
		return m, errInvalid
	case m.id != nil && m.method == methodCancelled:
		return m, errInvalid
	}
	return m, nil
}

// decode returns the value of a JSON string, and "" for anything else.
func decode(v json.RawMessage) string {
	var s string
	_ = json.Unmarshal(v, &s)
	return s
}

// key makes ids comparable: strings by their value, numbers by their digits. It
// is empty if v cannot be an id.
func key(v json.RawMessage) string {
	switch {
	case len(v) == 0:
		return ""
	case v[0] == '"':
		return `"` + decode(v)
	case v[0] == '-' || v[0] >= '0' && v[0] <= '9':
		return string(v)
	}
	return ""
}

// response is the JSON of an answer.
type response struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"` // nil: null
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// wireError returns the error for the client. The SDK quotes whole params in
// some errors, and others have no code. Before initialize that is any method.
func wireError(method string, err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	what, _, quoted := strings.Cut(err.Error(), ": unmarshaling ")
	var e *jsonrpc.Error
	switch {
	case errors.As(err, &e) && e.Code != 0:
		return &jsonrpc.Error{Code: e.Code, Message: what, Data: e.Data}
	case quoted:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: what + ": invalid params"}
	case method == "initialize" || method == "tools/list" || method == "tools/call":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: what}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found: " + strconv.Quote(text.Truncate(method, 100))}
}
