package version

import "testing"

func TestDescribe(t *testing.T) {
	const commit = "v1.3.1-0.20261122052352-a515ba238ce8"

	for module, want := range map[string]string{
		"v" + Version:            Version,
		"v" + Version + "+dirty": Version + "-dev",
		commit:                   Version + "-dev+a515ba238ce8",
		commit + "+dirty":        Version + "-dev+a515ba238ce8.dirty",
		"(devel)":                Version + "-dev",
		"":                       Version + "-dev",
	} {
		t.Run(module, func(t *testing.T) {
			if got := describe("", module); got != want {
				t.Errorf("describe(%q) = %q, want %q", module, got, want)
			}
		})
	}
}

func TestRelease(t *testing.T) {
	if got := describe("true", "(devel)"); got != Version {
		t.Errorf("a release is %q, want %q", got, Version)
	}
}
