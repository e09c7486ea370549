// Package policy holds the instructions of every request: the built-in policy.md, merged with the
// user's own file.
//
// The text is sent unchanged (spec §4). Today's date is a part of the question, not of the
// instructions, so that the API's prompt cache can serve the instructions.
package policy

import (
	_ "embed"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Revision is the date of the last change of the built-in policy and the product version at that
// time. A test compares it with the text.
const Revision = "2026-11-28 v1.3.0"

// SourceFile is the value of policy.system.source that selects the user's file. The other value is
// "builtin".
const SourceFile = "file"

//go:embed policy.md
var policyText string

// builtin is policy.md with the names of the tools in place of TOOLS.
var builtin = strings.Replace(policyText, "TOOLS", text.Enumerate(toolNames, " and "), 1)

var toolNames = call.MapTools(func(t call.Tool) string { return "`" + t.Name + "`" })

// System is policy.system of the configuration.
type System struct {
	Source string // SourceFile or "builtin"
	Path   string // of the user's file
	Merge  string // how the file is merged with the built-in text: replace, prepend or append
}

// Load returns the instructions: the built-in text or, with SourceFile, the user's file in its
// place, before it or after it. read reads the file.
//
// A file that cannot be used does not stop the server: Load returns the built-in text and a warning
// of one line. Otherwise the warning is empty.
func Load(s System, read func(string) (string, error)) (instructions, warning string) {
	if s.Source != SourceFile {
		return builtin, ""
	}

	data, err := read(s.Path)
	user := strings.TrimPrefix(data, "\ufeff") // Windows editors write a BOM
	switch {
	case err != nil:
	case !utf8.ValidString(user): // the API rejects it
		err = errors.New("not UTF-8 text")
	case strings.TrimSpace(user) == "": // the model would have no instructions
		err = errors.New("the file is empty")
	}
	if err != nil {
		warning = fmt.Sprintf("reading policy %q: %v; using the built-in policy (%s)",
			s.Path, err, Revision)
		return builtin, warning
	}

	switch s.Merge {
	case "prepend":
		return strings.TrimSpace(user) + "\n\n" + builtin, ""
	case "append":
		return builtin + "\n" + strings.TrimSpace(user) + "\n", ""
	}
	return user, ""
}
