package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const (
	maxID   = 1 << 53 // larger integers lose digits in many JSON decoders, that of the SDK included
	maxName = 128     // of a tool (https://modelcontextprotocol.io/specification/2025-11-25/server/tools), a method, a version
)

var null = json.RawMessage("null")

// refuse answers a request that is not a single message for this server, and
// reports whether it did. The SDK would run an array of calls as one request,
// change some ids, and repeat params that it cannot decode in its errors.
func refuse(w http.ResponseWriter, r *http.Request, data []byte) bool {
	if !json.Valid(data) {
		return writeError(w, http.StatusBadRequest, null, jsonrpc.CodeParseError, "the body is not JSON")
	}
	var message map[string]json.RawMessage
	if err := json.Unmarshal(data, &message); err != nil { // an array, for example
		return writeError(w, http.StatusBadRequest, null, jsonrpc.CodeInvalidRequest, "the body is not a JSON object; batches are not supported")
	}
	id := message["id"]
	if !validID(id) {
		return writeError(w, http.StatusBadRequest, null, jsonrpc.CodeInvalidRequest, "id is not a string or an integer within ±2^53")
	}
	var method string
	err := json.Unmarshal(message["method"], &method)
	if err != nil || string(message["jsonrpc"]) != `"2.0"` {
		return writeError(w, http.StatusBadRequest, null, jsonrpc.CodeInvalidRequest, "the body is not a JSON-RPC 2.0 request")
	}
	// Before 2026-07-28 an error about one request is an ordinary response.
	notFound, bad := http.StatusNotFound, http.StatusBadRequest
	if r.Header.Get(versionHeader) < stateless {
		notFound, bad = http.StatusOK, http.StatusOK
	}
	params := paramsOf(method)
	switch {
	case id == nil || strings.HasPrefix(method, "notifications/") && len(method) <= maxName:
		return false // there is no response to a notification
	case params == nil:
		return writeError(w, notFound, id, jsonrpc.CodeMethodNotFound, "method not found")
	case message["params"] != nil && !decodes(message["params"], params):
		return writeError(w, bad, id, jsonrpc.CodeInvalidParams, "the params of "+method+" cannot be decoded")
	}
	return false
}

// validID reports whether id comes back as it is. A notification has none.
func validID(id json.RawMessage) bool {
	if id == nil || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}

// paramsOf returns what the SDK decodes the params of a method to, or nil.
func paramsOf(method string) mcp.Params {
	switch method {
	case "initialize":
		return &mcp.InitializeParams{}
	case "ping":
		return &mcp.PingParams{}
	case "tools/list":
		return &mcp.ListToolsParams{}
	case "tools/call":
		return &mcp.CallToolParamsRaw{}
	case "server/discover":
		return &mcp.DiscoverParams{}
	}
	return nil
}

func decodes(data json.RawMessage, params mcp.Params) bool {
	var repeated struct { // by the SDK when a header differs
		Name string
		Meta struct {
			Version string `json:"io.modelcontextprotocol/protocolVersion"`
		} `json:"_meta"`
	}
	return json.Unmarshal(data, params) == nil && json.Unmarshal(data, &repeated) == nil &&
		len(repeated.Name) <= maxName && len(repeated.Meta.Version) <= maxName
}

// writeError writes a JSON-RPC error and returns true.
func writeError(w http.ResponseWriter, status int, id json.RawMessage, code int, message string) bool {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, message)
	return true
}
