package main

import "testing"

func TestFill(t *testing.T) {
	const entry = `{"packages":[{"registryType":"npm"},{"registryType":"mcpb","identifier":"https://example.com/v1/x_1.mcpb"}]}`
	tests := []struct{ entry, sums, want, err string }{
		{
			entry, "aa  y\nbb  x_1.mcpb\ncc  x_1.mcpb.json\n",
			`{"packages":[{"registryType":"npm"},{"registryType":"mcpb","identifier":"https://example.com/v1/x_1.mcpb","fileSha256":"bb"}]}`, "",
		},
		{entry, "bb  x_2.mcpb\n", "", "no checksum of x_1.mcpb"},
		{`{"packages":[{"registryType":"npm"}]}`, "", "", "no package of type mcpb"},
	}
	for _, tt := range tests {
		got, err := fill(tt.entry, tt.sums)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("fill(%s, %q) = %s, %v, want %s, %s", tt.entry, tt.sums, got, err, tt.want, tt.err)
		}
	}
}
