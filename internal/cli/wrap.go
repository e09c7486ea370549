package cli

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// wrapper lays out streamed Markdown for a terminal, row by row. It returns a
// row when further text cannot change it.
type wrapper struct {
	line   string // the line under way
	width  int    // of the terminal when the line began, in cells
	rows   int    // rows of the line that are returned already
	fenced bool   // inside a code block
}

// add lays out more text for a terminal of this width. With end, the text and
// its last line end.
func (w *wrapper) add(s string, width int, end bool) string {
	var out strings.Builder
	for w.line += text.Printable(s); w.line != ""; {
		if w.rows == 0 {
			w.width = width
		}
		line, rest, ended := strings.Cut(w.line, "\n")
		if ended = ended || end; !ended {
			line = openLink.ReplaceAllString(line, "")
		}
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		rows := []string{line}
		if !fence && !w.fenced && !strings.HasPrefix(line, "|") { // neither code nor a table
			rows = wrapLine(shortLinks(line), w.width)
		}
		if !ended {
			rows = rows[:len(rows)-1] // a longer word may move to the next row
		}
		for _, row := range rows[min(w.rows, len(rows)):] {
			out.WriteString(row + "\n")
			w.rows++
		}
		if !ended {
			break
		}
		w.line, w.rows, w.fenced = rest, 0, w.fenced != fence
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

// wrapLine breaks a line into rows of at most width cells. Rows of a list entry
// are indented to its text. A word that is too long has a row of its own.
func wrapLine(line string, width int) []string {
	mark := marker.FindString(line)
	indent := strings.Repeat(" ", cells.StringWidth(mark))
	rows := []string{mark}
	for _, w := range word.FindAllString(line[len(mark):], -1) {
		last := &rows[len(rows)-1]
		if *last != mark && *last != indent && cells.StringWidth(*last+w) > width {
			rows = append(rows, indent)
			last, w = &rows[len(rows)-1], strings.TrimSpace(w)
		}
		*last += w
	}
	return rows
}

var (
	// link is a Markdown link, with the parenthesis before it.
	link = regexp.MustCompile(`(\(?)\[([^\[\]]*)\]\((https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)`)
	// openLink may become a link when more text comes.
	openLink = regexp.MustCompile(`\(?\[[^\[\]]*(?:\](?:\([^\s()]*(?:\([^\s()]*\)?)?)?)?$`)
)

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

var (
	// entry is a line of the list of sources: a URL or a link to it, and a date.
	entry = regexp.MustCompile(`(?m)^- (?:\[([^\]\n]+)\]\((\S+)\)|(https?://\S+))( \(\d{4}-\d\d-\d\d\))?$`)
	// openList may be the end of a list of sources.
	openList = regexp.MustCompile(`(?:\n+-(?: (?:\[[^\]\n]*(?:\]\S*)?|\S*)(?: \(?[\d-]*\)?)?)?)+$`)
)

// withTitles shows the list of sources in s as title and URL.
func withTitles(s string, citations []answer.Citation) string {
	return entry.ReplaceAllStringFunc(s, func(line string) string {
		m := entry.FindStringSubmatch(line)
		title, page, date := m[1], m[2]+m[3], m[4]
		for _, c := range citations {
			if c.URL == page && title == "" {
				title = text.OneLine(c.Title)
			}
		}
		if title == "" || title == page {
			return line
		}
		return fmt.Sprintf("- %s — %s%s", title, page, date)
	})
}
