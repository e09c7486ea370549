package version

import "testing"

func TestDescribe(t *testing.T) {
	const commit = "v1.3.1-0.20261122052352-a515ba238ce8"
	for _, tt := range []struct{ name, release, module, want string }{
		{"release", "true", "(devel)", Version},
		{"at the tag", "", "v" + Version, Version},
		{"commit", "", commit, Version + "-dev+a515ba238ce8"},
		{"changed files", "", commit + "+dirty", Version + "-dev+a515ba238ce8.dirty"},
		{"changed files at the tag", "", "v" + Version + "+dirty", Version + "-dev"},
		{"go run", "", "(devel)", Version + "-dev"},
		{"no build information", "", "", Version + "-dev"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			if got := describe(tt.release, tt.module); got != tt.want {
				t.Errorf("describe(%q, %q) = %q, want %q", tt.release, tt.module, got, tt.want)
			}
		})
	}
}
