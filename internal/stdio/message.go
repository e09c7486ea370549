package stdio

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/tidwall/gjson"
)

// message is a request or notification as the client sent it. Its method is
// empty if it is a response.
type message struct {
	method string
	id     gjson.Result
	params json.RawMessage // nil if there are none
}

var errInvalid = errors.New("not a JSON-RPC 2.0 request")

// parse reads a JSON value as a message. Unlike the fields of a struct, the
// names of members are case-sensitive.
func parse(v []byte) (message, error) {
	o := gjson.ParseBytes(v)
	method := o.Get("method")
	m := message{method: method.Str, id: o.Get("id")}
	if p := o.Get("params"); p.Exists() {
		m.params = json.RawMessage(p.Raw)
	}
	switch {
	case o.Get("jsonrpc").Str != "2.0":
		return m, errInvalid
	case m.id.Exists() && key(m.id) == "": // null, a boolean, an object
		return m, errInvalid
	case m.method == "" && (method.Exists() || !m.id.Exists() || !o.Get("result").Exists() && !o.Get("error").Exists()):
		return m, errInvalid
	}
	return m, nil
}

// key makes ids comparable: strings by their value, numbers by their digits. It
// is empty if v cannot be an id.
func key(v gjson.Result) string {
	switch v.Type {
	case gjson.String:
		return `"` + v.Str
	case gjson.Number:
		return v.Raw
	}
	return ""
}

// wire is a response or a notification in JSON.
type wire struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id,omitempty"`
	Method  string          `json:"method,omitempty"`
	Params  json.RawMessage `json:"params,omitempty"`
	Result  json.RawMessage `json:"result,omitempty"`
	Error   *jsonrpc.Error  `json:"error,omitempty"`
}

// wireError returns the error for the client.
func wireError(err error) *jsonrpc.Error {
	if err == nil {
		return nil
	}
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok && e.Code != 0 {
		return e // without the text around it, in which the SDK quotes params
	}
	// A request before initialize, or params that the SDK cannot decode.
	why, _, _ := strings.Cut(err.Error(), ": unmarshaling ")
	return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "Invalid Request: " + why}
}
