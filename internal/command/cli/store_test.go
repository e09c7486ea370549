package cli

import (
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The configuration that is shown has where the store is, and not its account.
func TestShowStore(t *testing.T) {
	const url = "valkeys://mcp:hunter2-secret@store.example.com:7000/3?prefix=team-a"
	const place = `{"host":"store.example.com:7000","database":"3","prefix":"team-a"}`
	for _, tt := range []struct{ variable, want string }{
		{"MCP_STORE_URL=" + url, place},
		{"MCP_STORE_URL_FILE=" + writeFile(t, url+"\n"), place},
		{"MCP_STORE_URL=redis://store", `{"host":"store","database":"0"}`},
		{"MCP_STORE_URL=", ""},
		{"MCP_STORE_URL=redis://hunter2-secret@store", ""},
	} {
		_, _, stderr := run(t.Context(), []string{tt.variable}, nil, "--show-config")
		compare.Equal(t, tt.variable, gjson.Get(stderr, "store|@ugly").Raw, tt.want)
		compare.Equal(t, "secrets", strings.Count(stderr, "hunter2"), 0)
	}
}
