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
	for _, tt := range []struct {
		name    string
		version string
		want    string
		err     string
	}{
		{name: "in the middle", version: "v0.10.0", want: "### Added\n\n- one"},
		{name: "the last one", version: "v0.1.0", want: "- first"},
		{name: "empty", version: "Unreleased", err: "the section of Unreleased in docs/changelog.md is empty"},
		{name: "missing", version: "v0.10", err: "docs/changelog.md has no section for v0.10"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := section(text, tt.version)
			if got != tt.want {
				t.Errorf("section(%q) = %q, want %q", tt.version, got, tt.want)
			}
			if message(err) != tt.err {
				t.Errorf("section(%q): error %q, want %q", tt.version, message(err), tt.err)
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
