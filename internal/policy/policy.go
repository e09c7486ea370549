// Package policy holds the instructions that every request carries: the
// built-in policy.md, and how a user's own file replaces or joins it.
//
// The text goes to the model exactly as it stands here (spec §4): nothing is
// filled in, no date and no setting, so equal requests stay equal and the
// API's prompt cache can serve them.
package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Revision names the edition of the built-in policy: the date of its last
// change and the product version that brought it. A test ties it to the text.
const Revision = "2026-11-20 v0.9.0"

// SourceFile is the policy.system.source that has a policy of the user; builtin
// is the other.
const SourceFile = "file"

//go:embed policy.md
var builtin string

// merge combines the user's policy with the built-in one. Mode prepend puts
// the user's text first, append puts it last, and every other mode lets it
// replace the built-in text.
func merge(user, mode string) string {
	switch mode {
	case "prepend":
		return join(user, builtin)
	case "append":
		return join(builtin, user)
	default:
		return user
	}
}

// join sets two Markdown texts apart by one blank line.
func join(first, second string) string {
	return strings.TrimSpace(first) + "\n\n" + strings.TrimSpace(second) + "\n"
}

// Load resolves policy.system to the instructions to send. With source "file"
// it reads path, a leading ~ expanded already, through read, and merges it as
// mode says.
//
// A policy that cannot be used is no reason to stay down: Load then returns
// the built-in text and a warning of one line, which is otherwise empty.
func Load(source, path, mode string, read func(string) ([]byte, error)) (text, warning string) {
	if source != SourceFile {
		return builtin, ""
	}
	user, err := readPolicy(path, read)
	if err != nil {
		return builtin, fmt.Sprintf("%v; using the built-in policy (%s)", err, Revision)
	}
	return merge(user, mode), ""
}

// readPolicy refuses what the API would refuse or what would silently leave
// the model without any instructions: text that is no UTF-8, and an empty file.
func readPolicy(path string, read func(string) ([]byte, error)) (string, error) {
	if path == "" {
		return "", errors.New("policy.system.source is file, but policy.system.path is empty")
	}
	data, err := read(path)
	if err != nil {
		return "", fmt.Errorf("reading policy %q: %w", path, err)
	}
	// Windows editors write a BOM, which the model would see as a character.
	text := strings.TrimPrefix(string(data), "\ufeff")
	if !utf8.ValidString(text) {
		return "", fmt.Errorf("reading policy %q: not UTF-8 text", path)
	}
	if strings.TrimSpace(text) == "" {
		return "", fmt.Errorf("reading policy %q: the file is empty", path)
	}
	return text, nil
}
