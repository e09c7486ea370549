// Package rpc checks the messages of clients before the SDK decodes them, the same on all
// transports: the SDK would run an array of calls as one request, and repeat params that it cannot
// decode in its errors.
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

// Message is a message of a client: a request, a notification, which has no ID, or a response,
// which has no method.
type Message struct {
	ID     gjson.Result // a string or a number as it was sent
	Method string
	Params json.RawMessage // nil: none
}

// Key makes ids comparable: strings by their value, numbers by their digits. It is "" if id cannot
// be an id.
func Key(id gjson.Result) string {
	switch id.Type {
	case gjson.String:
		return strconv.Quote(id.Str) // without bytes that are not UTF-8
	case gjson.Number:
		return id.Raw
	}
	return ""
}

// Methods are the requests that a server answers, each with the check of its params: Optional or
// Required.
type Methods map[string]func(params []byte) *jsonrpc.Error

// Optional is the check of params that decode to a T, or are missing.
func Optional[T any](params []byte) *jsonrpc.Error {
	if params != nil && json.Unmarshal(params, new(T)) != nil {
		return invalidParams("invalid params")
	}
	return nil
}

// Required is the check of params that decode to a T.
func Required[T any](params []byte) *jsonrpc.Error {
	if params == nil || string(params) == "null" {
		return Invalid(`missing required "params"`)
	}
	return Optional[T](params)
}

// Read returns the message in data. The client gets an error: as the response to the request if
// there is a message, else with the id null.
func (methods Methods) Read(data []byte) (*Message, *jsonrpc.Error) {
	if !json.Valid(data) {
		return nil, NotJSON("not JSON")
	}
	if jsonx.Elements(data) > jsonx.MaxElements {
		return nil, Invalid("more than 10,000 elements or 64 levels")
	}
	object := gjson.ParseBytes(data)
	if object.IsArray() {
		return nil, Invalid("batches are not supported")
	}

	m := &Message{
		ID:     object.Get("id"),
		Method: object.Get("method").Str,
	}
	params := object.Get("params")
	if params.Exists() {
		m.Params = json.RawMessage(params.Raw)
	}
	validID := m.ID.Type == gjson.String || m.ID.Type == gjson.Number
	responds := object.Get("result").Exists() || object.Get("error").Exists()
	switch {
	case !unambiguous(object) || object.Get("jsonrpc").Str != "2.0",
		m.ID.Exists() && !validID,
		m.Method == "" && !(validID && responds):
		return nil, Invalid("not a JSON-RPC 2.0 request")
	case m.Method == "" || !validID:
		return m, nil
	}

	check := methods[m.Method]
	switch {
	case check == nil:
		return m, NoMethod()
	case repeats(params):
		return m, invalidParams("invalid params: a member twice")
	}
	return m, check(m.Params)
}

// members are those of a message.
var members = []string{"jsonrpc", "id", "method", "params", "result", "error"}

// unambiguous reports whether an object is the same message to every decoder: some ignore the case
// of the names of members, and of two with one name some take the first, some the last.
func unambiguous(object gjson.Result) bool {
	seen := map[int]bool{}
	ok := true
	object.ForEach(func(key, _ gjson.Result) bool {
		i := slices.IndexFunc(members, func(name string) bool {
			return strings.EqualFold(name, key.Str)
		})
		known := i >= 0
		ok = !known || (members[i] == key.Str && !seen[i])
		seen[i] = true
		return ok
	})
	return ok
}

// repeats reports whether params have a member twice that is read here and by the SDK, or their
// _meta any: the first counts here, the last there.
func repeats(params gjson.Result) bool {
	meta := params.Get("_meta")
	return hasTwice(params, "name", "arguments", "_meta") || hasTwice(meta)
}

// hasTwice reports whether an object has one of these members twice; without names, any.
func hasTwice(object gjson.Result, names ...string) bool {
	twice := false
	seen := map[string]bool{}
	object.ForEach(func(key, _ gjson.Result) bool {
		counts := object.IsObject() && (len(names) == 0 || slices.Contains(names, key.Str))
		twice = counts && seen[key.Str]
		if counts {
			seen[key.Str] = true
		}
		return !twice
	})
	return twice
}

// NotJSON is the error for input that is not JSON.
func NotJSON(reason string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeParseError, Message: "Parse error: " + reason}
}

func invalidParams(message string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: message}
}

// Invalid is the error for JSON that is not a request, or is one that cannot be answered.
func Invalid(reason string) *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid Request: " + reason}
}

// NoMethod is the error for requests that the server does not answer.
func NoMethod() *jsonrpc.Error {
	return &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}
}
