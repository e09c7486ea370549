package main

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestSection(t *testing.T) {
	const text = `# Changelog

## Unreleased

## v0.11.0 — Unreleased

- next

## v0.10.0-rc.1 — 2027-01-01

- try

## v0.10.0 — 2027-01-02

### Added

- one

## v0.1.0 — 2026-11-20

- first
`
	folder := t.TempDir()
	write := func(name, text string) {
		path := filepath.Join(folder, name)
		_ = os.MkdirAll(filepath.Dir(path), 0o755) // WriteFile reports the error
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(changelog, text)
	write("README.md", "There is a release.")

	for version, want := range map[string]string{
		"v0.10.0":    "### Added\n\n- one",
		"v0.1.0":     "- first",
		"Unreleased": "error: the section of Unreleased in docs/changelog.md is empty",
		"v0.11.0":    "error: the heading of v0.11.0 in docs/changelog.md has no date",
		"v0.10":      "error: docs/changelog.md has no section for v0.10",
	} {
		t.Run(version, func(t *testing.T) {
			got, err := release(folder, version, false)
			if err != nil {
				got += "error: " + err.Error()
			}

			compare.Equal(t, "section", got, want)
		})
	}

	draft, _ := release(folder, "v0.11.0", true)
	compare.Equal(t, "draft", draft, "- next")

	write("docs/reference/installation.md", "Once there is a release"+marker)
	_, err := release(folder, "v0.10.0", false)
	compare.Contains(t, "error", fmt.Sprint(err), "installation.md says that there is no release")
	notes, _ := release(folder, "v0.10.0-rc.1", false)
	compare.Equal(t, "prerelease", notes, "- try")
}
