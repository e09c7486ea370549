package main

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestFill(t *testing.T) {
	const (
		npm    = `{"packages":[{"registryType":"npm"}]}`
		bundle = `{"packages":[{"registryType":"mcpb","identifier":"https://example.com/v1/x_1.mcpb"}]}`
		filled = `{"packages":[{"registryType":"mcpb","identifier":"https://example.com/v1/x_1.mcpb","fileSha256":"bb"}]}`
	)
	for _, tt := range []struct{ name, entry, sums, want string }{
		{"one of several", bundle, "aa  y\nbb  x_1.mcpb\ncc  x_1.mcpb.json\n", filled},
		{"no checksum", bundle, "bb  x_2.mcpb\n", "error: no checksum of x_1.mcpb"},
		{"no bundle", npm, "", "error: no package of type mcpb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fill(tt.entry, tt.sums)
			if err != nil {
				got += "error: " + err.Error()
			}

			compare.Equal(t, "entry", got, tt.want)
		})
	}
}
