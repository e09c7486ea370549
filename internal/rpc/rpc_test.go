package rpc

import (
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var methods = Methods{
	"ping":       Optional[mcp.PingParams],
	"tools/call": Required[mcp.CallToolParamsRaw],
}

const (
	notRequest = "null Invalid Request: not a JSON-RPC 2.0 request"
	noParams   = `6 Invalid Request: missing required "params"`
)

// What Read returns: the error, after the id of the request to which it is the response.
var tests = []struct {
	name, message string
	want          string // the id, and the error if there is one
}{
	{"request", `"id":6,"method":"ping"`, "6"},
	{"id of digits", `"id":9007199254740993,"method":"ping"`, "9007199254740993"},
	{"notification", `"method":"x","params":5`, ""},
	{"response", `"id":6,"result":{}`, "6"},
	{"no params", `"id":6,"method":"tools/call"`, noParams},
	{"null", `"id":6,"method":"tools/call","params":null`, noParams},
	{"array", `"id":6,"method":"tools/call","params":[]`, "6 invalid params"},
	{"params of another method", `"id":6,"method":"ping","params":{"name":5}`, "6"},
	{"unknown method", `"id":6,"method":"tasks/get","params":[]`, "6 method not found"},
	{"notification with an id", `"id":6,"method":"notifications/x"`, "6 method not found"},
	{"id that is an object", `"id":{},"method":"ping"`, notRequest},
	{"response without id", `"result":{}`, notRequest},
	{"dense and open", `"id":6,"params":` + strings.Repeat("[", 65), "null Parse error: not JSON"},
}

func TestRead(t *testing.T) {
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, err := methods.Read([]byte(`{"jsonrpc":"2.0",` + tt.message + `}`))
			got := "null"
			if m != nil {
				got = m.ID.Raw
			}
			if err != nil {
				got += " " + err.Message
			}
			compare.Equal(t, "message", got, tt.want)
		})
	}
}
