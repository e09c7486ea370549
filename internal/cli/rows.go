package cli

import (
	"net/url"
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Styles are parameters of the control sequence SGR. Their concatenation has
// the look of all of them.
const (
	bold   = ";1"
	dim    = ";2"
	italic = ";3"
	struck = ";9"
	code   = ";36"
	linked = ";4;94"
)

// span is a piece of text in one style.
type span struct {
	text  string
	style string
	url   string // what it links to
	whole bool   // it is not broken into rows
}

// widthOf returns the width of a text in cells.
func widthOf(spans []span) int {
	var b strings.Builder
	for _, s := range spans {
		b.WriteString(s.text)
	}
	return cells.StringWidth(b.String())
}

// clean returns what of a text may go to the terminal. Here and not before,
// because an entity such as &#27; can stand for a control character.
func clean(s string) string { return text.Printable(strings.ReplaceAll(s, glue, "")) }

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

// escaped matches what the control sequence OSC 8 does not take.
var escaped = regexp.MustCompile(`[^!-~]+`)

// row shows spans in one row: OSC 8 begins and ends links, SGR styles.
func (r *renderer) row(spans []span) {
	if widthOf(spans) == 0 {
		r.first = strings.TrimRight(r.first, " ")
	}
	r.out.WriteString(r.first)
	r.first = r.prefix
	var last span
	for _, s := range append(slices.Clip(spans), span{}) {
		if s.url != last.url {
			r.out.WriteString("\x1b]8;;" + escaped.ReplaceAllStringFunc(s.url, url.PathEscape) + "\x1b\\")
		}
		if s.style != last.style {
			r.out.WriteString("\x1b[0" + s.style + "m")
		}
		r.out.WriteString(clean(s.text))
		last = s
	}
	r.out.WriteString("\n")
}

// wrap shows spans in rows that are as wide as the terminal at most. A word that
// is too long has a row of its own.
func (r *renderer) wrap(spans []span) {
	var row, space []span
	used := 0
	end := func() {
		if used > 0 {
			r.row(row)
		}
		row, space, used = nil, nil, 0
	}
	for _, word := range words(spans) {
		switch first := word[0].text; {
		case first == "\n":
			end()
		case strings.Contains(blank, first):
			word[0].text = " "
			space = word
		default:
			width := widthOf(word)
			if used+len(space)+width > r.room() {
				end()
			}
			if used > 0 {
				row = append(row, space...)
				used += len(space)
			}
			row = append(row, word...)
			used += width
			space = nil
		}
	}
	end()
}

const (
	blank   = " \t\n\u3000"
	opening = "「『（【〈《［｛〔“‘([{"
	closing = "、。，．：；！？」』】）〉》］｝〕”’・…ー々ゝゞぁぃぅぇぉっゃゅょァィゥェォッャュョ\u3099\u309a[)]},.!?:;%"
)

// cjk has the characters of Chinese and Japanese, with their punctuation.
var cjk = []*unicode.RangeTable{unicode.Han, {R16: []unicode.Range16{{0x3001, 0x30ff, 1}, {0xff01, 0xff9f, 1}}}}

// words splits a text where a row may end. White space is a word.
func words(spans []span) [][]span {
	var list [][]span
	last := ' '
	for _, s := range spans {
		parts := strings.Split(s.text, "")
		if s.whole {
			parts = []string{s.text}
		}
		for _, part := range parts {
			char, _ := utf8.DecodeRuneInString(part)
			if breaks(last, char) {
				list = append(list, nil)
			}
			s.text = part
			list[len(list)-1] = append(list[len(list)-1], s)
			last = char
		}
	}
	return list
}

// breaks reports whether a row may end between two characters. Punctuation and
// the number of a link stay with the character before them.
func breaks(a, b rune) bool {
	switch {
	case strings.ContainsRune(blank, a) || strings.ContainsRune(blank, b):
		return true
	case strings.ContainsRune(opening, a) || strings.ContainsRune(closing, b):
		return false
	}
	return unicode.In(a, cjk...) || unicode.In(b, cjk...)
}
