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
	maxID = 1 << 53 // larger integers lose digits in many JSON decoders, that of the SDK included

	// maxName is the length of the name of a tool, in bytes
	// (https://modelcontextprotocol.io/specification/2025-11-25/server/tools), and of a version.
	maxName = 128
)

// refuseMessage answers a request that is not a single message for this server, and reports
// whether it did. The SDK would run an array of calls as one request, change some ids, and repeat
// params that it cannot decode in its errors.
func refuseMessage(w http.ResponseWriter, r *http.Request, data []byte) bool {
	id, problem := check(data)
	if problem == nil {
		return false
	}

	status := http.StatusBadRequest
	switch {
	case id != noID && r.Header.Get(versionHeader) < server.Stateless:
		status = http.StatusOK // there an error about a request is an ordinary response
	case problem.Code == jsonrpc.CodeMethodNotFound:
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`,
		id, problem.Code, problem.Message)
	return true
}

// noID is the id of an error about a message whose id is not known.
const noID = "null"

// check returns why data is not a message for this server, or nil, and the id of the message.
func check(data []byte) (id string, problem *jsonrpc.Error) {
	refuse := func(code int64, text string) (string, *jsonrpc.Error) {
		return id, &jsonrpc.Error{Code: code, Message: text}
	}

	id = noID
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
		return id, nil // there is no response to a notification
	case !validID(string(message.ID)):
		return refuse(jsonrpc.CodeInvalidRequest, "id is not a string or an integer within ±2^53")
	}

	id = string(message.ID)
	params := newParams(message.Method)
	if params == nil {
		return refuse(jsonrpc.CodeMethodNotFound, "method not found")
	}
	if message.Params != nil && !decodes(message.Params, params) {
		return refuse(jsonrpc.CodeInvalidParams,
			"the params of "+message.Method+" cannot be decoded")
	}
	return id, nil
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
func newParams(method string) mcp.Params {
	switch method {
	case "initialize":
		return &mcp.InitializeParams{}
	case "ping":
		return &mcp.PingParams{}
	case "server/discover":
		return &mcp.DiscoverParams{}
	case "tools/call":
		return &mcp.CallToolParamsRaw{}
	case "tools/list":
		return &mcp.ListToolsParams{}
	case "tasks/get", "tasks/cancel", "tasks/update": // the SDK knows whether they are served
		return &server.TaskParams{}
	}
	return nil
}

// decodes reports whether the SDK can decode data to params, and does not repeat much of it when a
// header differs.
func decodes(data json.RawMessage, params mcp.Params) bool {
	if err := json.Unmarshal(data, params); err != nil {
		return false
	}

	version, _ := params.GetMeta()[mcp.MetaKeyProtocolVersion].(string)
	if len(version) > maxName {
		return false
	}

	call, isCall := params.(*mcp.CallToolParamsRaw)
	return !isCall || len(call.Name) <= maxName
}
