package terminal

import (
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

const (
	// glue is white space for the parser. Printable texts do not contain it, and it is not shown.
	glue = "\f"

	// maxBlock is the length of the longest block that is parsed, in bytes.
	maxBlock = 32 << 10

	// marker matches the marker of a quote or of an entry of a list.
	marker = `(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])`
)

var (
	// nested matches a line with 15 or more markers and steps of indentation in front of a marker.
	// The parser needs quadratic time for nested blocks.
	nested = text.LazyRegexp(`(?m)^(?:[ \t]?(?:  |\t|` + marker + `)){15}[ \t]*` + marker)

	// wide matches a line with more than 32 columns. In every row of a table the parser makes a
	// cell for each column.
	wide = text.LazyRegexp(`(?m)^(?:[^|\n]*\|){33}`)

	// strong matches bold text with its asterisks, and the character before it.
	strong = text.LazyRegexp(`(^|[^*])(\*\*[^*\s](?:[^*\n]*[^*\s])?\*\*)`)
)

// blockEnd returns where the first block of s ends. If that is the end of s, the block may be
// incomplete. An entry of a list after a blank line counts as a block of its own.
func blockEnd(s string) int {
	end := 0
	open := "" // the fence of a block of code that has not ended
	afterBlank := false

	for line := range strings.Lines(s) {
		trimmed := strings.Trim(line, " \t\r\n")
		isIndented := !strings.HasPrefix(line, trimmed)
		if afterBlank && trimmed != "" && open == "" && !isIndented {
			break
		}

		afterBlank = trimmed == ""
		open = cite.NextFence(open, line)
		end += len(line)
	}

	return end
}

// parse parses a block. It returns nil if the source of the block is to be shown.
func parse(block string) (doc *markdown.Document) {
	isCostly := len(block) > maxBlock ||
		nested().MatchString(block) ||
		wide().MatchString(block)
	if isCostly {
		return nil
	}

	// The parser panics for some tables, such as "a\n-||". Then doc is nil.
	defer func() { _ = recover() }()

	// Without glue the parser would drop footnotes.
	block = strings.ReplaceAll(block, "[^", glue+"[^")
	// In CommonMark the second ** of **「強調」** does not end bold text before a letter.
	block = strong().ReplaceAllString(block, "${1}"+glue+"${2}"+glue)

	block = keepURLs(block)

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

// inURL keeps the underscores and asterisks of a URL from beginning or ending emphasis.
var inURL = strings.NewReplacer(`\_`, `\_`, `\*`, `\*`, "_", glue+"_"+glue, "*", glue+"*"+glue)

// keepURLs protects the URLs in a text, such as https://a.example/__init__.py. Those in the syntax
// of a link need no protection.
func keepURLs(s string) string {
	var b strings.Builder
	written := 0
	for _, at := range cite.FindLinks(s, -1) {
		before := s[:at.Start]
		isTarget := strings.HasSuffix(before, "](") || strings.HasSuffix(before, "<") ||
			strings.HasSuffix(before, "]: ")
		if !isTarget {
			b.WriteString(s[written:at.Start] + inURL.Replace(s[at.Start:at.End]))
			written = at.End
		}
	}
	return b.String() + s[written:]
}
