// Command notes prints the section of docs/changelog.md for a version: the
// notes of its release.
//
//	go run ./packaging/notes v1.3.0
//
// A version without a section, or with an empty one, is an error.
package main

import (
	"fmt"
	"os"
	"strings"
)

const changelog = "docs/changelog.md"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: go run ./packaging/notes vX.Y.Z")
		os.Exit(2)
	}
	text, err := os.ReadFile(changelog)
	if err == nil {
		var notes string
		if notes, err = section(string(text), os.Args[1]); err == nil {
			fmt.Println(notes)
			return
		}
	}
	fmt.Fprintln(os.Stderr, "notes: error:", err)
	os.Exit(1)
}

// section returns the text between the heading of a version,
// "## v1.3.0 — 2026-11-20", and the next heading of that level.
func section(text, version string) (string, error) {
	for part := range strings.SplitSeq("\n"+text, "\n## ") {
		heading, body, _ := strings.Cut(part, "\n")
		if title, _, _ := strings.Cut(heading, " "); title != version {
			continue
		}
		if body = strings.TrimSpace(body); body == "" {
			return "", fmt.Errorf("the section of %s in %s is empty", version, changelog)
		}
		return body, nil
	}
	return "", fmt.Errorf("%s has no section for %s", changelog, version)
}
