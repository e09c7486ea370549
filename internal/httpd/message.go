package httpd

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

const (
	maxID   = 1 << 53 // larger integers lose digits in many JSON decoders, that of the SDK included
	maxName = 128     // of a tool (https://modelcontextprotocol.io/specification/2025-11-25/server/tools), a version
)

// refuse answers a request that is not a single message for this server, and reports whether it did.
// The SDK would run an array of calls as one request, change some ids, and repeat params that it
// cannot decode in its errors.
func refuse(w http.ResponseWriter, r *http.Request, data []byte) bool {
	var message struct {
		Version string `json:"jsonrpc"`
		ID      json.RawMessage
		Method  string
		Params  json.RawMessage
	}
	err := json.Unmarshal(data, &message)
	params := map[string]mcp.Params{ // what the SDK decodes params to
		"initialize":      &mcp.InitializeParams{},
		"ping":            &mcp.PingParams{},
		"server/discover": &mcp.DiscoverParams{},
		"tools/call":      &mcp.CallToolParamsRaw{},
		"tools/list":      &mcp.ListToolsParams{},
	}[message.Method]
	status, id, code, why := http.StatusBadRequest, "null", 0, ""
	switch {
	case !json.Valid(data):
		code, why = jsonrpc.CodeParseError, "the body is not JSON"
	case err != nil || message.Version != "2.0" || message.Method == "":
		code, why = jsonrpc.CodeInvalidRequest, "the body is not a JSON-RPC 2.0 request; batches are not supported"
	case !validID(message.ID):
		code, why = jsonrpc.CodeInvalidRequest, "id is not a string or an integer within ±2^53"
	case message.ID == nil: // there is no response to a notification
		return false
	case params == nil:
		status, id, code, why = http.StatusNotFound, string(message.ID), jsonrpc.CodeMethodNotFound, "method not found"
	case message.Params != nil && !decodes(message.Params, params):
		id, code, why = string(message.ID), jsonrpc.CodeInvalidParams, "the params of "+message.Method+" cannot be decoded"
	default:
		return false
	}
	aboutRequest := id != "null"
	if aboutRequest && r.Header.Get(versionHeader) < server.Stateless {
		status = http.StatusOK // there such an error is an ordinary response
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`, id, code, why)
	return true
}

// validID reports whether id comes back as it is. A notification has none.
func validID(id json.RawMessage) bool {
	if id == nil || id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(string(id), 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}

// decodes reports whether the SDK can decode data, and does not repeat much of it when a header differs.
func decodes(data json.RawMessage, params mcp.Params) bool {
	err := json.Unmarshal(data, params)
	version, _ := params.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
	call, isCall := params.(*mcp.CallToolParamsRaw)
	return err == nil && len(version) <= maxName && (!isCall || len(call.Name) <= maxName)
}
