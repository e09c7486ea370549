package httpd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// maxID bounds the ids that are integers: larger ones lose digits in many JSON decoders, that of
// the SDK included.
const maxID = 1 << 53

// refuseMessage answers a request that is not a single message for this server, and reports
// whether it did. The SDK would run an array of calls as one request, change some ids, and repeat
// params that it cannot decode in its errors. Only a message with few elements is decoded.
func refuseMessage(w http.ResponseWriter, r *http.Request, data []byte, elements int) bool {
	id := "" // of a message whose response may be an error
	refuse := func(code int64, text string) bool {
		status := http.StatusBadRequest
		switch {
		case id != "" && r.Header.Get(versionHeader) < server.Stateless:
			status = http.StatusOK // there an error about a request is an ordinary response
		case code == jsonrpc.CodeMethodNotFound:
			status = http.StatusNotFound
		}

		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`,
			cmp.Or(id, "null"),
			code,
			text)
		return true
	}

	if elements > jsonx.MaxElements {
		return refuse(jsonrpc.CodeInvalidRequest, "the body has "+jsonx.TooDense)
	}
	if !json.Valid(data) {
		return refuse(jsonrpc.CodeParseError, "the body is not JSON")
	}
	message := gjson.ParseBytes(data)
	method := message.Get("method").Str
	switch {
	case !jsonx.IsMessage(message) || method == "":
		return refuse(jsonrpc.CodeInvalidRequest,
			"the body is not a JSON-RPC 2.0 request; batches are not supported")
	case !message.Get("id").Exists():
		return false // there is no response to a notification
	case !validID(message.Get("id").Raw):
		return refuse(jsonrpc.CodeInvalidRequest,
			"id is not a string or an integer within ±2^53")
	}

	id = message.Get("id").Raw
	params := newParams(method)
	raw := message.Get("params").Raw
	switch {
	case params == nil:
		return refuse(jsonrpc.CodeMethodNotFound, "method not found")
	case raw != "" && json.Unmarshal([]byte(raw), params) != nil:
		return refuse(jsonrpc.CodeInvalidParams, "the params cannot be decoded")
	case method == "initialize":
		negotiate(r.Header, params.(mcp.Params).GetMeta())
	}
	return false
}

// negotiate drops the version that a client prefers from the header of initialize, which agrees on one
// by its params: the SDK would refuse it. A stateless request has its version there, too.
func negotiate(header http.Header, meta mcp.Meta) {
	_, err := time.Parse(time.DateOnly, header.Get(versionHeader))
	if err == nil && meta[mcp.MetaKeyProtocolVersion] == nil {
		header.Del(versionHeader)
	}
}

// validID reports whether an id, which is JSON, comes back as it is.
func validID(id string) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}

// newParams returns what the SDK decodes the params of a method to, or nil if there is no such
// method.
func newParams(method string) any {
	switch method {
	case "initialize":
		return &mcp.InitializeParams{}
	case "tools/call":
		return &mcp.CallToolParamsRaw{}
	case "ping", "server/discover", "tools/list", "prompts/list", "resources/list",
		"resources/templates/list": // their params have _meta, and those of lists a cursor
		return &mcp.ListToolsParams{}
	case "tasks/get", "tasks/cancel", "tasks/update": // the SDK knows whether they are served
		return &server.TaskParams{}
	}
	return nil
}
