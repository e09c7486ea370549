package version

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

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
			compare.Equal(t, "version", describe("", module), want)
		})
	}
}

func TestRelease(t *testing.T) {
	compare.Equal(t, "a release", describe("true", "(devel)"), Version)
}
