// Package policy holds the instructions of every request: the built-in
// policy.md, merged with the user's own file.
//
// The text is sent unchanged (spec §4). Today's date is part of the
// question instead, so the API's prompt cache can serve the instructions.
package policy

import (
	_ "embed"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Revision is the date of the last change of the built-in policy and the
// product version at that time. A test compares it with the text.
const Revision = "2026-11-21 v0.9.0"

// SourceFile is the value of policy.system.source that selects the user's file.
// The other value is builtin.
const SourceFile = "file"

//go:embed policy.md
var builtin string

// Load returns the instructions for policy.system: the built-in text, or with
// source "file" the text that read returns for path: in its place, or before it
// (prepend) or after it (append). A leading ~ in path is expanded already.
//
// A file that cannot be used does not stop the server: Load then returns the
// built-in text and a warning of one line, which is otherwise empty.
func Load(source, path, mode string, read func(string) ([]byte, error)) (text, warning string) {
	if source != SourceFile {
		return builtin, ""
	}
	user, err := readPolicy(path, read)
	if err != nil {
		return builtin, fmt.Sprintf("%v; using the built-in policy (%s)", err, Revision)
	}
	switch mode {
	case "prepend":
		user = join(user, builtin)
	case "append":
		user = join(builtin, user)
	}
	return user, ""
}

// join returns both texts, with a blank line between them.
func join(first, second string) string {
	return strings.TrimSpace(first) + "\n\n" + strings.TrimSpace(second) + "\n"
}

// readPolicy rejects what the API rejects and what leaves the model without
// instructions: text that is not UTF-8, and an empty file.
func readPolicy(path string, read func(string) ([]byte, error)) (string, error) {
	data, err := read(path)
	if err != nil {
		return "", fmt.Errorf("reading policy %q: %w", path, err)
	}
	// Windows editors write a BOM.
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("reading policy %q: not UTF-8 text", path)
	}
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("reading policy %q: the file is empty", path)
	}
	return text, nil
}
