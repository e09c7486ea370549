package cli

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// wrapper lays out streamed Markdown for a terminal: it breaks lines between
// words and shortens links to their title and host. It holds back a word or
// link until its end has come. Code blocks and tables stay as they are.
type wrapper struct {
	width func() int // of the terminal, in cells

	held   string // text that is not laid out yet
	line   string // the line under way, as far as it is laid out
	col    int    // cells used on the current row
	indent int    // cells before the text of a list entry
	gap    string // blanks before the next word
	fenced bool   // inside ```
	begun  bool   // there is text
	ended  bool   // end has broken the line
}

// add lays out more text and returns what to print.
func (w *wrapper) add(s string) string {
	w.held += text.Printable(s)
	return w.layOut(false)
}

// end lays out the rest and ends the line.
func (w *wrapper) end() string {
	out := w.layOut(true)
	if w.line != "" {
		out += w.newline()
		w.ended = true
	}
	return out
}

func (w *wrapper) layOut(all bool) string {
	var b strings.Builder
	for w.held != "" {
		n := token(w.held)
		if n == 0 {
			if !all {
				break
			}
			n = len(w.held)
		}
		t := w.held[:n]
		w.held = w.held[n:]
		short := shortLink(t)
		switch {
		case short != t && !w.raw():
			w.held = short + w.held // a title can have several words
		case t == "\n" && (w.ended || !w.begun):
			w.ended = false // the line is broken already, or nothing precedes it
		case t == "\n":
			b.WriteString(w.newline())
		case strings.TrimSpace(t) == "":
			w.gap += t
		default:
			b.WriteString(w.word(t))
		}
	}
	return b.String()
}

// newline ends the line.
func (w *wrapper) newline() string {
	if strings.HasPrefix(strings.TrimSpace(w.line), "```") {
		w.fenced = !w.fenced
	}
	w.line, w.col, w.indent, w.gap = "", 0, 0, ""
	return "\n"
}

// marker is the beginning of a list entry, without the blank after it.
var marker = regexp.MustCompile(`^(?:[-*+]|\d{1,3}[.)])$`)

// raw reports whether the line under way is left as it is.
func (w *wrapper) raw() bool {
	return w.fenced || strings.HasPrefix(w.line, "|") || strings.HasPrefix(w.line, "```")
}

// word places one word, on the next row if it does not fit.
func (w *wrapper) word(t string) string {
	w.begun, w.ended = true, false
	gap, n, room := w.gap, cells.StringWidth(t), w.width()
	w.gap = ""
	if cells.RuneWidth([]rune(t)[0]) == 2 && !strings.Contains(closing, t) {
		room -= 2 // for one of closing
	}
	switch first := strings.TrimSpace(w.line) == ""; {
	case first && marker.MatchString(t):
		w.indent = len(gap) + n + 1
	case !first && !w.raw() && w.col+len(gap)+n > room:
		gap, w.col = "\n"+strings.Repeat(" ", w.indent), -1
	}
	w.line += gap + t
	w.col += len(gap) + n
	return gap + t
}

// closing are characters of two cells that should not begin a row.
const closing = "、。，．：；！？」』】）〉》・ー"

// shortLink shortens a Markdown link to its title and host.
func shortLink(s string) string {
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

// link is a Markdown link, with the parenthesis before it. maxLink bounds how long its end is waited for, in
// bytes.
var link = regexp.MustCompile(`(\(?)\[([^\[\]\n]*)\]\((https?://[^\s()]*(?:\([^\s()]*\)[^\s()]*)*)\)`)

const maxLink = 4096

// token returns the length of the first word, run of blanks or line feed of s,
// in bytes, and 0 if its end has not come. A link belongs to its word. Each
// character of two cells is a word.
func token(s string) int {
	switch {
	case s[0] == '\n':
		return 1
	case s[0] == ' ' || s[0] == '\t':
		return len(s) - len(strings.TrimLeft(s, " \t"))
	}
	wide := false
	for i, before := 0, rune(0); i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		n := cells.RuneWidth(r)
		switch joined := before == '\u200d' || n == 0; {
		case unicode.IsSpace(r), i > 0 && !joined && (wide || n == 2):
			return i
		case r == '[':
			n, open := linkLength(s[i:])
			if open {
				return 0
			}
			size = max(n, size)
		}
		wide = wide || n == 2
		before = r
		i += size
	}
	return 0
}

// linkLength returns the length of the link that s begins with, or 0. open says
// that s may become a link when more text comes.
func linkLength(s string) (n int, open bool) {
	if at := link.FindStringIndex(s); at != nil && at[0] == 0 {
		return at[1], false
	}
	if partialLink.MatchString(s) && len(s) < maxLink {
		return 0, true
	}
	return 0, false
}

var partialLink = regexp.MustCompile(`^\[[^\[\]\n]*(?:\](?:\([^\s]*)?)?$`)

// entry is a line of the list of sources: a URL or a link to it, and a date.
var entry = regexp.MustCompile(`(?m)^- (?:\[([^\]\n]+)\]\((\S+)\)|(https?://\S+))( \(\d{4}-\d\d-\d\d\))?$`)

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
