package cli

import (
	"net/url"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// render lays out Markdown in rows of at most width cells. Code and tables keep
// their lines, links get short, and entries of the list of sources get titles.
func render(s string, width int, cited []answer.Citation) string {
	var out strings.Builder
	fenced := false
	for line := range strings.SplitSeq(text.Printable(s), "\n") {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if !fence && !fenced && !strings.HasPrefix(line, "|") {
			line = wrapLine(shortLinks(withTitle(line, cited)), width)
		}
		fenced = fenced != fence
		out.WriteString(line + "\n")
	}
	return out.String()
}

var (
	// marker is the beginning of a list entry.
	marker = regexp.MustCompile(`^\s*(?:[-*+]|\d{1,3}[.)])\s+`)
	// word is what is not broken: Latin words, and characters of Chinese and
	// Japanese with the punctuation that may not be parted from them.
	word = regexp.MustCompile(`\s*(?:[「『（【〈《]*[\p{Han}\p{Hiragana}\p{Katakana}][、。，．：；！？」』】）〉》・ー]*|[^\s\p{Han}\p{Hiragana}\p{Katakana}]+)`)
)

// wrapLine breaks a line into rows. Those of a list entry are indented to its
// text. A word that is too long has a row of its own.
func wrapLine(line string, width int) string {
	rows, row := "", marker.FindString(line)
	indent := strings.Repeat(" ", cells.StringWidth(row))
	for i, w := range word.FindAllString(line[len(row):], -1) {
		if i > 0 && cells.StringWidth(row+w) > width {
			rows, row, w = rows+row+"\n", indent, strings.TrimSpace(w)
		}
		row += w
	}
	return rows + row
}

// link is a Markdown link, with the parenthesis before it.
var link = regexp.MustCompile(`(\(?)\[([^\[\]]*)\]\((https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)`)

// shortLinks shortens Markdown links to their title and host.
func shortLinks(s string) string {
	return link.ReplaceAllStringFunc(s, func(l string) string {
		m := link.FindStringSubmatch(l)
		paren, title := m[1], m[2]
		u, err := url.Parse(m[3])
		if err != nil || u.Host == "" {
			return l
		}
		switch host := strings.TrimPrefix(u.Hostname(), "www."); {
		case title == "":
			return paren + host
		case strings.Contains(title, host):
			return paren + title
		case paren != "":
			return paren + title + ", " + host
		default:
			return title + " (" + host + ")"
		}
	})
}

// entry is an entry of the list of sources: a URL or a link to it, and a date.
var entry = regexp.MustCompile(`^- (?:\[([^\]]+)\]\((\S+)\)|(https?://\S+))( \(\d{4}-\d\d-\d\d\))?$`)

// withTitle returns an entry of the list of sources as title and URL, and any
// other line as it is.
func withTitle(line string, cited []answer.Citation) string {
	m := entry.FindStringSubmatch(line)
	if m == nil {
		return line
	}
	title, page, date := m[1], m[2]+m[3], m[4]
	for _, c := range cited {
		if c.URL == page && title == "" {
			title = text.OneLine(c.Title)
		}
	}
	if title == "" || title == page {
		return line
	}
	return "- " + title + " — " + page + date
}
