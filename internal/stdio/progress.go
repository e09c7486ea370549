package stdio

import (
	"encoding/json"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// A progress token is the client's and goes back as it was written; the SDK
// rounds a large number, as it rounds a large id. So the server gets the number
// of the call in place of the token, and what it tells under that number leaves
// with the token. What it tells of a call that was cancelled does not leave.

// notifyProgress is the notification that carries a progress token.
const notifyProgress = "notifications/progress"

// swapToken puts the number n in place of the progress token in params. It
// returns the token, or nil when there is none that is a string or a number.
func swapToken(params json.RawMessage, n int64) (swapped, token json.RawMessage) {
	outer := members(params)
	meta := members(outer["_meta"])
	if key(meta["progressToken"]) == "" {
		return params, nil
	}
	token, meta["progressToken"] = meta["progressToken"], strconv.AppendInt(nil, n, 10)
	var err error
	if outer["_meta"], err = unescaped.JSON(meta); err != nil {
		return params, nil
	}
	if swapped, err = unescaped.JSON(outer); err != nil {
		return params, nil
	}
	return swapped, token
}

// progress encodes a progress notification with the client's token; nil when
// its call is over.
func (c *conn) progress(r *jsonrpc.Request) (call int64, b []byte, err error) {
	params := members(r.Params)
	n, _ := strconv.ParseInt(string(params["progressToken"]), 10, 64) // else 0, which is no call
	token := c.calls.token(n)
	if token == nil {
		return n, nil, nil
	}
	params["progressToken"] = token
	b, err = unescaped.JSON(notification{Version: "2.0", Method: r.Method, Params: params})
	return n, b, err
}

// notification is the wire form of one.
type notification struct {
	Version string                     `json:"jsonrpc"`
	Method  string                     `json:"method"`
	Params  map[string]json.RawMessage `json:"params"`
}

// members are those of an object, undecoded; none of anything else.
func members(v json.RawMessage) map[string]json.RawMessage {
	var o map[string]json.RawMessage
	if json.Unmarshal(v, &o) != nil {
		return nil
	}
	return o
}
