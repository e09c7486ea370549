package main_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// meta are the fields by which a stateless client (MCP 2026-07-28) introduces
// itself in every request.
const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"test","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{}}`

// A stateless client never sends initialize.
func TestStateless(t *testing.T) {
	t.Parallel()
	c := serve(t, setup{api: newAPI(t)})
	c.line(`{"jsonrpc":"2.0","id":1,"method":"server/discover","params":{` + meta + `}}`)
	r := c.want("1").result(t)
	if diff := cmp.Diff(any([]any{"2026-07-28", "2025-06-18"}), r["supportedVersions"]); diff != "" {
		t.Errorf("supportedVersions (-want +got):\n%s", diff)
	}
	c.line(`{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{` + meta + `}}`)
	checkTools(t, c.want("2"))
	c.line(`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"answer","arguments":{"query":"HTTP 404"},` + meta + `}}`)
	c.want("3").answered(t)
	c.line(`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"none",` + meta + `}}`)
	c.want("4").equal(t, `{"jsonrpc":"2.0","id":4,"error":{"code":-32601,"message":"Unknown tool"}}`)
	c.done()
}

// The first request of a stateless client may well be the call itself.
func TestStatelessAtOnce(t *testing.T) {
	t.Parallel()
	c := serve(t, setup{api: newAPI(t)})
	c.line(`{"jsonrpc":"2.0","id":"x","method":"tools/call","params":{"name":"answer","arguments":{"query":"HTTP 404"},` + meta + `}}`)
	c.want(`"x"`).answered(t)
	c.done()
}

// server/discover of a client that is none of those falls back to initialize.
func TestDiscoverWithoutMeta(t *testing.T) {
	t.Parallel()
	c := serve(t, setup{api: newAPI(t)})
	for _, params := range []string{"", `,"params":{}`, `,"params":{"_meta":{}}`, `,"params":{"_meta":{"io.modelcontextprotocol/protocolVersion":"2025-06-18"}}`} {
		c.line(`{"jsonrpc":"2.0","id":1,"method":"server/discover"` + params + `}`)
		if got := c.want("1").fault(t); got.Code != -32601 {
			t.Errorf("params %q: %+v, want -32601", params, got)
		}
	}
	c.line(initialize, initialized, ask("1", "HTTP 404"))
	c.want(`"init"`)
	c.want("1").answered(t)
	c.done()
}
