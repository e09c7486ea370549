package terminal

import (
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	// glue is a white space for the parser. Printable texts do not have it, and it is not shown.
	glue = "\f"

	// maxBlock is the number of bytes of a block that is parsed.
	maxBlock = 32 << 10

	// marker matches the marker of a quote or of an entry of a list.
	marker = `(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])`
)

var (
	// nested matches a line with 15 or more markers and steps of indentation in front of a marker.
	// The parser needs quadratic time for nested blocks.
	nested = text.Regexp(`(?m)^(?:[ \t]?(?:  |\t|` + marker + `)){15}[ \t]*` + marker)

	// wide matches a line with more than 32 columns. The parser makes a cell for each of them in
	// every row.
	wide = text.Regexp(`(?m)^(?:[^|\n]*\|){33}`)

	// fence matches the line above or below a block of code, also in a list.
	fence = text.Regexp("^(?:[ \\t]|" + marker + ")*(```+|~~~+)([^`]*)$")

	// strong matches text that is to be bold, and the character before it.
	strong = text.Regexp(`(^|[^*])(\*\*[^*\s](?:[^*\n]*[^*\s])?\*\*)`)
)

// blockEnd returns where the first block of s ends. If that is the end of s, the block may be
// incomplete. An entry of a list that follows a blank line is a block.
func blockEnd(s string) int {
	end := 0
	open := "" // the fence of a block of code that has not ended
	afterBlank := false

	for line := range strings.Lines(s) {
		words := strings.Trim(line, " \t\r\n")
		indented := !strings.HasPrefix(line, words)
		if afterBlank && words != "" && open == "" && !indented {
			break
		}

		afterBlank = words == ""
		m := fence().FindStringSubmatch(words)
		switch {
		case m == nil:
		case open == "":
			open = m[1]
		case m[2] == "" && strings.HasPrefix(m[1], open):
			open = ""
		}
		end += len(line)
	}

	return end
}

// parse parses a block. It returns nil if the block is to be shown as it is.
func parse(block string) (doc *markdown.Document) {
	costly := len(block) > maxBlock ||
		nested().MatchString(block) ||
		wide().MatchString(block)
	if costly {
		return nil
	}

	// The parser panics for some tables, such as "a\n-||". Then doc is nil.
	defer func() { _ = recover() }()

	// The parser drops footnotes.
	block = strings.ReplaceAll(block, "[^", glue+"[^")
	// CommonMark does not see the end of **「強調」** before a letter.
	block = strong().ReplaceAllString(block, "${1}"+glue+"${2}"+glue)

	parser := markdown.Parser{
		Table:         true,
		Strikethrough: true,
	}
	doc = parser.Parse(block)
	if len(doc.Links) > 0 { // definitions of links are not among the blocks
		return nil
	}
	return doc
}
