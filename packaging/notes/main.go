// Command notes prints what docs/changelog.md says of one version, or of what
// is not released yet: the notes of a release.
//
//	go run ./packaging/notes v0.9.0
//
// A version without a section, or with an empty one, is an error: a tag that
// was put before its changelog must not become a release.
package main

import (
	"fmt"
	"os"
	"strings"
)

const changelog = "docs/changelog.md"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./packaging/notes vX.Y.Z | Unreleased")
		os.Exit(2)
	}
	text, err := os.ReadFile(changelog)
	if err == nil {
		var notes string
		if notes, err = section(string(text), strings.TrimPrefix(os.Args[1], "v")); err == nil {
			fmt.Print(notes)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "notes: error:", err)
	os.Exit(1)
}

// section is what stands between the heading of a version ("## v0.9.0 — date",
// spec §16; "## [0.9.0] - date" is read too) and the next one, without the
// link definitions at the end of the file.
func section(text, version string) (string, error) {
	var body []string
	inside := false
	for line := range strings.Lines(text) {
		name, heading := strings.CutPrefix(line, "## ")
		switch {
		case heading && inside:
			return tidy(body, version)
		case heading:
			title, _, _ := strings.Cut(strings.TrimSpace(name), " ")
			inside = strings.TrimPrefix(strings.Trim(title, "[]"), "v") == version
		case inside && !isLink(line):
			body = append(body, line)
		}
	}
	if !inside {
		return "", fmt.Errorf("%s has no section for %s", changelog, version)
	}
	return tidy(body, version)
}

// isLink reports a link definition, "[0.9.0]: https://…".
func isLink(line string) bool {
	return strings.HasPrefix(line, "[") && strings.Contains(line, "]: ")
}

func tidy(lines []string, version string) (string, error) {
	s := strings.TrimSpace(strings.Join(lines, ""))
	if s == "" {
		return "", fmt.Errorf("%s says nothing of %s", changelog, version)
	}
	return s + "\n", nil
}
