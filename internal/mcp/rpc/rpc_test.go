package rpc

import (
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var methods = Methods{
	"ping":       Optional[mcp.PingParams],
	"tools/call": Required[mcp.CallToolParamsRaw],
}

func TestParse(t *testing.T) {
	for _, row := range compare.Table(t, "parse", 3) {
		t.Run(row[0], func(t *testing.T) {
			m, err := methods.Parse([]byte(`{"jsonrpc":"2.0",` + row[1] + `}`))
			got := "null"
			if m != nil {
				got = m.ID.Raw
				err = m.Error
			}
			if err != nil {
				got += " " + err.Message
			}
			compare.Equal(t, "message", got, row[2])
		})
	}
}
