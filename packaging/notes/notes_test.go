package main

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestSection(t *testing.T) {
	const text = `# Changelog

## Unreleased

## v0.10.0 — 2027-01-02

### Added

- one

## v0.1.0 — 2026-11-20

- first
`
	for version, want := range map[string]string{
		"v0.10.0":    "### Added\n\n- one",
		"v0.1.0":     "- first",
		"Unreleased": "error: the section of Unreleased in docs/changelog.md is empty",
		"v0.10":      "error: docs/changelog.md has no section for v0.10",
	} {
		t.Run(version, func(t *testing.T) {
			got, err := section(text, version)
			if err != nil {
				got += "error: " + err.Error()
			}

			compare.Equal(t, "section", got, want)
		})
	}
}
