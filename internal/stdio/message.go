package stdio

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// cancelled is the notification of spec §6.1.
const cancelled = "notifications/cancelled"

// message is a JSON-RPC request or notification as the client wrote it.
type message struct {
	method string
	params json.RawMessage
	id     json.RawMessage // nil for a notification
}

// errInvalid says that a JSON value is no JSON-RPC 2.0 request.
var errInvalid = errors.New("not a JSON-RPC 2.0 request")

// errIgnore says that a JSON value is a response: this server asks its client
// nothing, so it is nobody's.
var errIgnore = errors.New("a response to nothing")

// parse reads a JSON value as a message. Member names are exact, unlike those
// of a struct that encoding/json fills.
func parse(v json.RawMessage) (message, error) {
	var o map[string]json.RawMessage
	if len(v) == 0 || v[0] != '{' || json.Unmarshal(v, &o) != nil {
		return message{}, errInvalid
	}
	if text(o["jsonrpc"]) != "2.0" {
		return message{}, errInvalid
	}
	id, hasID := o["id"]
	if hasID && key(id) == "" {
		return message{}, errInvalid // null, a boolean, an object
	}
	if _, ok := o["method"]; !ok {
		if hasID && (o["result"] != nil || o["error"] != nil) {
			return message{}, errIgnore
		}
		return message{}, errInvalid
	}
	m := message{method: text(o["method"]), params: o["params"], id: id}
	if m.method == "" || m.method == cancelled && hasID {
		return message{}, errInvalid
	}
	return m, nil
}

// text decodes a JSON string; anything else is "".
func text(v json.RawMessage) string {
	var s string
	if json.Unmarshal(v, &s) != nil {
		return ""
	}
	return s
}

// key makes ids comparable: a string by its value, a number by its digits. It
// is "" for what cannot be an id.
func key(id json.RawMessage) string {
	switch {
	case len(id) == 0:
		return ""
	case id[0] == '"':
		return `"` + text(id)
	case id[0] == '-' || id[0] >= '0' && id[0] <= '9':
		return string(id)
	}
	return ""
}

// reply is the wire form of an answer.
type reply struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// encode writes the answer to the request with the given id. Text is left as
// it is: no HTML escapes. A result comes from the SDK in one line and is put in
// as it is; the encoder would check and copy all of it once more.
func encode(id, result json.RawMessage, fault *jsonrpc.Error) ([]byte, error) {
	if fault == nil && len(result) > 0 && bytes.IndexByte(result, '\n') < 0 {
		b := make([]byte, 0, len(id)+len(result)+64) // and room for a line end
		b = append(append(b, `{"jsonrpc":"2.0","id":`...), id...)
		return append(append(append(b, `,"result":`...), result...), '}'), nil
	}
	return unescaped.JSON(reply{Version: "2.0", ID: id, Result: result, Error: fault})
}

// fault makes the error of an answer presentable. The SDK leaves some without a
// code, and their texts hold the params, which may be anybody's and of any
// length. before says that the session was not initialized yet.
func fault(method string, err error, before bool) *jsonrpc.Error {
	var e *jsonrpc.Error
	switch {
	case errors.As(err, &e) && e.Code == jsonrpc.CodeInvalidParams && strings.Contains(err.Error(), ": unmarshaling "):
	case errors.As(err, &e) && e.Code != 0:
		return &jsonrpc.Error{Code: e.Code, Message: err.Error(), Data: e.Data}
	case before && method != "initialize":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid Request: the session is not initialized"}
	case !before && method == "initialize":
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid Request: the session is initialized already"}
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "Invalid params of " + method}
}

// clip bounds what an error repeats of a request.
func clip(s string) string {
	if len(s) <= maxEcho {
		return s
	}
	return strings.ToValidUTF8(s[:maxEcho], "") + "…"
}
