package version

import "testing"

func TestDescribe(t *testing.T) {
	for _, tt := range []struct{ release, module, want string }{
		{"true", "(devel)", Version}, // goreleaser
		{"", "v" + Version, Version}, // go install @VERSION, or a build at the tag
		{"", "v0.0.0-20261122052352-a515ba238ce8", Version + "-dev+a515ba238ce8"},
		{"", "v1.3.1-0.20261122052352-a515ba238ce8+dirty", Version + "-dev+a515ba238ce8.dirty"},
		{"", "v" + Version + "+dirty", Version + "-dev"}, // changed files at the tag
		{"", "(devel)", Version + "-dev"},                // go run
		{"", "", Version + "-dev"},
	} {
		if got := describe(tt.release, tt.module); got != tt.want {
			t.Errorf("describe(%q, %q) = %q, want %q", tt.release, tt.module, got, tt.want)
		}
	}
}
