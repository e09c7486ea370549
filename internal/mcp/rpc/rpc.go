// Package rpc checks the messages of clients before the SDK decodes them, in the same way for all
// transports. Without the check, the SDK would run an array of calls as one request, and its errors
// would repeat params that it cannot decode.
package rpc

import (
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
)

// CodeCallFailed is the code of an error of a call, and of a request beyond the bounds (spec
// appendix B).
const CodeCallFailed = -32001

// Message is a message of a client: a request, a notification, which has no ID, or a response,
// which has no method.
type Message struct {
	ID     gjson.Result // a string or a number as the client sent it
	Method string
	Params json.RawMessage // nil if the message has none

	// Error is the response to a request that is not passed on: its method is unknown, or its
	// params are invalid. nil: the message may be passed on.
	Error *jsonrpc.Error
}

// IDKey returns a string that is the same for equal ids: strings are equal by their value, numbers
// by their digits. It returns "" if id is neither.
func IDKey(id gjson.Result) string {
	switch id.Type {
	case gjson.String:
		return strconv.Quote(id.Str) // escapes bytes that are not UTF-8
	case gjson.Number:
		return id.Raw
	}
	return ""
}

// Methods are the requests that a server answers. Each has a check of its params, Optional or
// Required, which returns the error for the client, or nil.
type Methods map[string]func(params []byte) *jsonrpc.Error

// Optional checks that params decode to a T, or are missing.
func Optional[T any](params []byte) *jsonrpc.Error {
	if params != nil && json.Unmarshal(params, new(T)) != nil {
		return invalidParams("invalid params")
	}
	return nil
}

// Required checks that there are params, and that they decode to a T.
func Required[T any](params []byte) *jsonrpc.Error {
	if params == nil || string(params) == "null" {
		return InvalidRequest(`missing required "params"`)
	}
	return Optional[T](params)
}

// Parse returns the message in data. It sets Error of a request that must not be passed on. If data
// is not a message, Parse returns the error for the client, which is sent with the id null.
func (methods Methods) Parse(data []byte) (*Message, *jsonrpc.Error) {
	if !json.Valid(data) {
		return nil, ParseError("not JSON")
	}
	if jsonx.CountElements(data) > jsonx.MaxElements { // also with more than 64 levels
		return nil, InvalidRequest("more than 10,000 elements or 64 levels")
	}
	object := gjson.ParseBytes(data)
	if object.IsArray() {
		return nil, InvalidRequest("batches are not supported")
	}

	// ID and Method are copies: stdio keeps them until it answers, and must not keep the whole
	// message.
	m := &Message{
		ID:     gjson.Parse(strings.Clone(object.Get("id").Raw)),
		Method: strings.Clone(object.Get("method").Str),
	}
	params := object.Get("params")
	if params.Exists() {
		m.Params = json.RawMessage(params.Raw)
	}

	validID := m.ID.Type == gjson.String || m.ID.Type == gjson.Number
	// An error has no id, or the id null, if its sender could not read the id. Such an error is not
	// refused: a peer that answers each error with an error would never stop.
	isError := m.Method == "" && object.Get("error").Exists()
	isResult := validID && object.Get("result").Exists()

	switch {
	case isAmbiguous(object) || object.Get("jsonrpc").Str != "2.0",
		m.ID.Exists() && !validID && !isError,
		m.Method == "" && !isResult && !isError:
		return nil, InvalidRequest("not a JSON-RPC 2.0 request")
	case m.Method == "" || !validID: // a response, or a notification, which has no id
		return m, nil
	}

	check := methods[m.Method]
	switch {
	case check == nil:
		m.Error = MethodNotFound()
	case repeatsMember(params):
		m.Error = invalidParams("invalid params: a member twice")
	default:
		m.Error = check(m.Params)
	}
	return m, nil
}

// messageMembers are the members of a JSON-RPC message.
var messageMembers = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// isAmbiguous reports whether decoders may read an object as different messages. Some decoders
// ignore the case of names. Of a member that is there twice, some take the first, some the last.
func isAmbiguous(object gjson.Result) bool {
	otherCase := false
	object.ForEach(func(key, _ gjson.Result) bool {
		otherCase = slices.ContainsFunc(messageMembers, func(name string) bool {
			return name != key.Str && strings.EqualFold(name, key.Str)
		})
		return !otherCase
	})
	return otherCase || hasTwice(object, messageMembers...)
}

// repeatsMember reports whether params have a member twice that both this program and the SDK read,
// or any member of _meta twice: this program would take the first, the SDK the last.
func repeatsMember(params gjson.Result) bool {
	meta := params.Get("_meta")
	return hasTwice(params, "name", "arguments", "_meta") || hasTwice(meta)
}

// hasTwice reports whether an object has one of the named members twice, or any member if there are
// no names.
func hasTwice(object gjson.Result, names ...string) bool {
	twice := false
	seen := map[string]bool{}
	object.ForEach(func(key, _ gjson.Result) bool {
		counts := object.IsObject() && (len(names) == 0 || slices.Contains(names, key.Str))
		twice = counts && seen[key.Str]
		seen[key.Str] = true
		return !twice
	})
	return twice
}

// ParseError is the error for input that is not JSON.
func ParseError(reason string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "Parse error: " + reason}
}

func invalidParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// InvalidRequest is the error for JSON that is not a request, or is one that cannot be answered.
func InvalidRequest(reason string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid Request: " + reason}
}

// MethodNotFound is the error for a request whose method the server does not know.
func MethodNotFound() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
}
