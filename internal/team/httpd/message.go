package httpd

import (
	"cmp"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
)

// maxID bounds the ids that are integers: larger ones lose digits in many JSON decoders, that of
// the SDK included.
const maxID = 1 << 53

// readMessage keeps the message of a body in the response, and reports whether it can be answered.
// It answers what is not a message for this server: the SDK would change some ids.
func readMessage(w http.ResponseWriter, r *http.Request, body []byte) bool {
	m, refusal := server.Methods.Read(body)
	id := "" // of a request whose response is an error
	switch {
	case m == nil:
	case m.ID.Exists() && !validID(m.ID.Raw):
		refusal = rpc.Invalid("id is not a string or an integer within ±2^53")
	case m.Method == "":
		refusal = rpc.Invalid("not a request") // the server sends none, so it is no response
	case refusal != nil:
		id = m.ID.Raw
	default:
		if m.Method == "initialize" {
			negotiate(r.Header, m.Params)
		}
		responseOf(w).message = m
		return true
	}

	status := http.StatusBadRequest
	switch {
	case id != "" && r.Header.Get(versionHeader) < server.Stateless:
		status = http.StatusOK // before that version an error about a request is an ordinary response
	case refusal.Code == jsonrpc.CodeMethodNotFound:
		status = http.StatusNotFound
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%q}}`,
		cmp.Or(id, "null"),
		refusal.Code,
		refusal.Message)
	return false
}

// negotiate drops the version that a client prefers from the header of initialize, which agrees on
// one by its params: the SDK would refuse it. A stateless request has its version in its params,
// too, and keeps the header.
func negotiate(header http.Header, params []byte) {
	version := gjson.GetBytes(params, "_meta").Map()[mcp.MetaKeyProtocolVersion]
	_, err := time.Parse(time.DateOnly, header.Get(versionHeader))
	if err == nil && version.Type == gjson.Null { // or there is none
		header.Del(versionHeader)
	}
}

// normalizeAccept reports whether a client takes an event stream. The SDK wants clients to accept
// JSON, too, but some name one of the two, or nothing: the header then gets both.
func normalizeAccept(header http.Header) bool {
	list := strings.ToLower(strings.Join(header.Values("Accept"), ","))
	has := func(kind string) bool { return strings.Contains(list, kind) }
	stream := has("text/event-stream") || has("text/*") || has("*/*")
	plain := has("application/json") || has("application/*") || list == ""

	if stream || plain {
		header.Set("Accept", "application/json, text/event-stream")
	}
	return stream
}

// validID reports whether an id, which is JSON, comes back as it is.
func validID(id string) bool {
	if id[0] == '"' {
		return true
	}
	n, err := strconv.ParseInt(id, 10, 64)
	return err == nil && -maxID <= n && n <= maxID
}
