// Command notes prints the section of docs/changelog.md for a version: the
// notes of its release.
//
//	go run ./packaging/notes [-draft] v1.3.0
//
// A version without a section, or with an empty one, is an error. So is, without -draft, one
// without a date, and a release while a page says that there is none: such places have a marker.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	changelog = "docs/changelog.md"
	marker    = "<!--unreleased-->"
)

func main() {
	draft := flag.Bool("draft", false, "the version has no date yet")
	flag.Parse()
	if flag.NArg() != 1 {
		fmt.Fprintln(os.Stderr, "usage: go run ./packaging/notes [-draft] vX.Y.Z")
		os.Exit(2)
	}
	notes, err := release(".", flag.Arg(0), *draft)
	if err != nil {
		fmt.Fprintln(os.Stderr, "notes: error:", err)
		os.Exit(1)
	}
	fmt.Println(notes)
}

// release returns the notes of a version of the repository in a folder. A version with a hyphen is
// a prerelease, for which the pages need not change.
func release(folder, version string, draft bool) (string, error) {
	text, err := os.ReadFile(filepath.Join(folder, changelog))
	if err != nil {
		return "", err
	}
	notes, dated, err := section(string(text), version)
	switch {
	case err != nil:
		return "", err
	case draft:
		return notes, nil
	case !dated:
		return "", fmt.Errorf("the heading of %s in %s has no date", version, changelog)
	case strings.Contains(version, "-"):
		return notes, nil
	}

	for _, pattern := range []string{"*.md", "docs/reference/*.md"} {
		pages, _ := filepath.Glob(filepath.Join(folder, pattern)) // the patterns are valid
		for _, page := range pages {
			text, err := os.ReadFile(page)
			if err != nil {
				return "", err
			}
			if strings.Contains(string(text), marker) {
				return "", fmt.Errorf("%s says that there is no release: see %s", page, marker)
			}
		}
	}
	return notes, nil
}

// date matches the end of a heading with a date.
var date = regexp.MustCompile(`— \d{4}-\d\d-\d\d$`)

// section returns the text between the heading of a version,
// "## v1.3.0 — 2026-11-20", and the next heading of that level, and whether the
// heading has a date.
func section(text, version string) (body string, dated bool, err error) {
	for part := range strings.SplitSeq("\n"+text, "\n## ") {
		heading, body, _ := strings.Cut(part, "\n")
		if title, _, _ := strings.Cut(heading, " "); title != version {
			continue
		}
		if body = strings.TrimSpace(body); body == "" {
			return "", false, fmt.Errorf("the section of %s in %s is empty", version, changelog)
		}
		return body, date.MatchString(heading), nil
	}
	return "", false, fmt.Errorf("%s has no section for %s", changelog, version)
}
