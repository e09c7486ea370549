package main

import "testing"

func TestSection(t *testing.T) {
	const text = `# Changelog

## Unreleased

## v0.10.0 — 2027-01-02

### Added

- one

## v0.1.0 — 2026-11-20

- first
`
	tests := []struct{ version, want, err string }{
		{"v0.10.0", "### Added\n\n- one", ""},
		{"v0.1.0", "- first", ""},
		{"Unreleased", "", "the section of Unreleased in docs/changelog.md is empty"},
		{"v0.10", "", "docs/changelog.md has no section for v0.10"},
	}
	for _, tt := range tests {
		got, err := section(text, tt.version)
		if got != tt.want || (err == nil) != (tt.err == "") || err != nil && err.Error() != tt.err {
			t.Errorf("section(%q) = %q, %v, want %q, %s", tt.version, got, err, tt.want, tt.err)
		}
	}
}
