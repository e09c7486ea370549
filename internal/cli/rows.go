package cli

import (
	"net/url"
	"regexp"
	"strings"

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

// paint returns text for the terminal, in a style. What must not reach the
// terminal is removed here and not before, because an entity such as &#27; can
// stand for a control character.
func paint(s, style string) string {
	s = text.Printable(strings.ReplaceAll(s, glue, ""))
	if s == "" || style == "" {
		return s
	}
	return "\x1b[0" + style + "m" + s + endStyle
}

// whole returns a painted text that is not broken into rows at its spaces.
func whole(s string) string { return strings.ReplaceAll(s, " ", glue) }

// escaped matches what the control sequence OSC 8 does not take.
var escaped = regexp.MustCompile(`[^!-~]+`)

// hyperlink returns a painted text that links to a page, if there is any.
func hyperlink(page, s string) string {
	if page == "" {
		return s
	}
	return "\x1b]8;;" + escaped.ReplaceAllStringFunc(page, url.PathEscape) + "\x1b\\" + s + endLink
}

const (
	endStyle = "\x1b[0m"
	endLink  = "\x1b]8;;\x1b\\"
	control  = `(?:\x1b\[[0-9;]*m|\x1b\]8;;[!-~]*\x1b\\)` // matches a control sequence
)

var sequence = regexp.MustCompile(control)

// widthOf returns the width of a painted text in cells.
func widthOf(s string) int { return cells.StringWidth(sequence.ReplaceAllString(s, "")) }

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

// row shows a painted text in one row.
func (r *renderer) row(s string) {
	row := strings.ReplaceAll(r.first+s, glue, " ")
	r.out.WriteString(strings.TrimRight(row, " ") + "\n")
	r.first = r.prefix
}

const (
	blank   = " \t\n\u3000"
	cjk     = `\p{Han}\p{Hiragana}\p{Katakana}`
	opening = `「『（【〈《［｛〔“‘(\[{`
	closing = `、。，．：；！？」』】）〉》］｝〕”’・…ー々ゝゞぁぃぅぇぉっゃゅょァィゥェォッャュョ)\]},.!?:;%`
)

// word matches what is not broken, with the white space before it: words of
// Latin and other scripts, and characters of Chinese and Japanese with the
// punctuation and the number of a link that stay with them.
var word = regexp.MustCompile(`[` + blank + `]*(?:` +
	`(?:[` + opening + `]|` + control + `)*[` + cjk + `](?:[` + closing + `]|\[\d+\]|` + control + `)*|` +
	`[^` + blank + cjk + `]+)`)

// wrap shows a painted text in rows that are as wide as the terminal at most. A
// word that is too long has a row of its own.
func (r *renderer) wrap(s string) {
	row, used := "", 0
	for _, w := range word.FindAllString(s, -1) {
		chars := strings.TrimLeft(w, blank)
		space := w[:len(w)-len(chars)]
		width := widthOf(chars)
		gap := min(len(space), 1)
		switch {
		case used == 0:
			gap = 0
		case strings.Contains(space, "\n"), used+gap+width > r.room():
			begin, end := inEffect(row)
			r.row(row + end)
			row, used, gap = begin, 0, 0
		}
		row += strings.Repeat(" ", gap) + chars
		used += gap + width
	}
	if row != "" {
		r.row(row)
	}
}

// inEffect returns the control sequences that hold at the end of a painted text,
// and those that end them.
func inEffect(s string) (begin, end string) {
	style, link := endStyle, endLink
	for _, q := range sequence.FindAllString(s, -1) {
		if strings.HasPrefix(q, "\x1b[") {
			style = q
		} else {
			link = q
		}
	}
	if link != endLink {
		begin += link
		end += endLink
	}
	if style != endStyle {
		begin += style
		end += endStyle
	}
	return begin, end
}
