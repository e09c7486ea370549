package cli

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// styled is a text with the look of each byte, which is cut and joined as any slice.
type styled []char

type char struct {
	byte
	look
}

// look is a style, and the page that a text links to.
type look struct{ style, page string }

// Styles are parameters of the control sequence SGR.
const (
	bold   = ";1"
	dim    = ";2"
	italic = ";3"
	struck = ";9"
	code   = ";36"
	linked = ";4;94"
)

// with adds a style, once: hostile texts nest it thousands of times.
func (l look) with(style string) look {
	if !strings.Contains(l.style+";", style+";") {
		l.style += style
	}
	return l
}

const (
	glue = "\u1680" // a white space that texts do not have, for the parser
	nbsp = "\u00a0" // a space at which no row ends
)

// add appends a text. What must not reach the terminal is removed here and not before, because an
// entity such as &#27; can stand for a control character.
func (s *styled) add(words string, l look) {
	for _, b := range []byte(text.Printable(strings.ReplaceAll(words, glue, ""))) {
		*s = append(*s, char{b, l})
	}
}

// in returns a text in a style.
func in(style, words string) (s styled) {
	s.add(words, look{style: style})
	return s
}

func (s styled) String() string {
	var b strings.Builder
	for _, c := range s {
		b.WriteByte(c.byte)
	}
	return b.String()
}

func (s styled) width() int { return cells.StringWidth(s.String()) }

// escaped matches what the control sequence OSC 8 does not take.
var escaped = regexp.MustCompile(`[^!-~]+`)

// paint returns a text with control sequences: SGR for its styles, OSC 8 for its links.
func (s styled) paint() string {
	var b strings.Builder
	for len(s) > 0 {
		n := slices.IndexFunc(s, func(c char) bool { return c.look != s[0].look })
		if n < 0 {
			n = len(s)
		}
		words := strings.ReplaceAll(s[:n].String(), nbsp, " ")
		if s[0].style != "" {
			words = "\x1b[0" + s[0].style + "m" + words + "\x1b[0m"
		}
		if s[0].page != "" {
			words = "\x1b]8;;" + escaped.ReplaceAllStringFunc(s[0].page, url.PathEscape) + "\x1b\\" + words + "\x1b]8;;\x1b\\"
		}
		b.WriteString(words)
		s = s[n:]
	}
	return b.String()
}

// room is the width of the text in the next row.
func (r *renderer) room() int { return r.width - cells.StringWidth(r.first) }

// nest shows something behind first in its first row and rest in the others.
// Where half of the terminal is taken, there is no more indentation.
func (r *renderer) nest(first, rest string, show func()) {
	outer := r.prefix
	r.first += first
	if cells.StringWidth(outer+rest) <= r.width/2 {
		r.prefix += rest
	}
	show()
	r.first, r.prefix = outer, outer
}

// row shows a text in one row.
func (r *renderer) row(s styled) {
	r.out.WriteString(strings.TrimRight(r.first+s.paint(), " ") + "\n")
	r.first = r.prefix
}

const (
	blank   = " \t\n\u3000"
	cjk     = `\p{Han}\p{Hiragana}\p{Katakana}`
	opening = `「『（【〈《［｛〔“‘(\[{`
	closing = `、。，．：；！？」』】）〉》］｝〕”’・…ー々ゝゞぁぃぅぇぉっゃゅょァィゥェォッャュョ)\]},.!?:;%`
)

// word matches white space, and what is not broken: a word of Latin and other scripts, or a
// character of Chinese and Japanese with the punctuation and the number of a link next to it.
var word = regexp.MustCompile(`([` + blank + `]*)` +
	`([` + opening + `]*[` + cjk + `](?:[` + closing + `]|\[\d+\])*|[^` + blank + cjk + `]+)`)

// wrap shows a text in rows that fit the terminal, except for words that are too long.
func (r *renderer) wrap(s styled) {
	var row styled
	used := 0
	for _, at := range word.FindAllStringSubmatchIndex(s.String(), -1) {
		space, chars := s[at[2]:at[3]], s[at[4]:at[5]]
		gap, width := min(len(space), 1), chars.width()
		if len(row) > 0 && (strings.Contains(space.String(), "\n") || used+gap+width > r.room()) {
			r.row(row)
			row, used = nil, 0
		}
		if len(row) > 0 && gap > 0 {
			row = append(row, char{' ', space[0].look})
			used++
		}
		row = append(row, chars...)
		used += width
	}
	if len(row) > 0 {
		r.row(row)
	}
}
