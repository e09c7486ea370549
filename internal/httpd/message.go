package httpd

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

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
	var message struct {
		Version string `json:"jsonrpc"`
		ID      json.RawMessage
		Method  string
		Params  json.RawMessage
	}
	err := json.Unmarshal(data, &message)
	switch {
	case err != nil || message.Version != "2.0" || message.Method == "":
		return refuse(jsonrpc.CodeInvalidRequest,
			"the body is not a JSON-RPC 2.0 request; batches are not supported")
	case message.ID == nil:
		return false // there is no response to a notification
	case !validID(string(message.ID)):
		return refuse(jsonrpc.CodeInvalidRequest,
			"id is not a string or an integer within ±2^53")
	}

	id = string(message.ID)
	params := newParams(message.Method)
	if params == nil {
		return refuse(jsonrpc.CodeMethodNotFound, "method not found")
	}
	if message.Params != nil && json.Unmarshal(message.Params, params) != nil {
		return refuse(jsonrpc.CodeInvalidParams, "the params cannot be decoded")
	}
	return false
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
	case "tools/list", "ping", "server/discover": // the params of all three have _meta
		return &mcp.ListToolsParams{}
	case "tasks/get", "tasks/cancel", "tasks/update": // the SDK knows whether they are served
		return &server.TaskParams{}
	}
	return nil
}
