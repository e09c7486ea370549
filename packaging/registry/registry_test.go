package main

import "testing"

func TestFill(t *testing.T) {
	const (
		npm    = `{"packages":[{"registryType":"npm"}]}`
		bundle = `{"packages":[{"registryType":"mcpb","identifier":"https://example.com/v1/x_1.mcpb"}]}`
		filled = `{"packages":[{"registryType":"mcpb","identifier":"https://example.com/v1/x_1.mcpb","fileSha256":"bb"}]}`
	)
	for _, tt := range []struct {
		name  string
		entry string
		sums  string
		want  string
		err   string
	}{
		{name: "one of several", entry: bundle, sums: "aa  y\nbb  x_1.mcpb\ncc  x_1.mcpb.json\n", want: filled},
		{name: "no checksum", entry: bundle, sums: "bb  x_2.mcpb\n", err: "no checksum of x_1.mcpb"},
		{name: "no bundle", entry: npm, err: "no package of type mcpb"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := fill(tt.entry, tt.sums)
			if got != tt.want {
				t.Errorf("fill = %s, want %s", got, tt.want)
			}
			if message(err) != tt.err {
				t.Errorf("fill: error %q, want %q", message(err), tt.err)
			}
		})
	}
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
