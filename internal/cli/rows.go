package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// style is how text looks: a set of these.
type style uint8

const (
	bold style = 1 << iota
	dim
	italic
	struck
	code
	linked
)

// codes are the parameters of the control sequence SGR for each style.
var codes = []string{"1", "2", "3", "9", "36", "4;94"}

// sgr is the control sequence that begins a style.
func (st style) sgr() string {
	s := "\x1b[0"
	for i, c := range codes {
		if st&(1<<i) != 0 {
			s += ";" + c
		}
	}
	return s + "m"
}

// span is a piece of text in one style.
type span struct {
	text  string
	style style
	url   string // what it links to
	whole bool   // it is not broken into rows
}

func spansWidth(spans []span) int {
	n := 0
	for _, s := range spans {
		n += cells.StringWidth(s.text)
	}
	return n
}

// mark adds s to what the next row begins with.
func (r *renderer) mark(s string) {
	s = r.begin() + s
	r.first = &s
}

// begin returns what the next row begins with.
func (r *renderer) begin() string {
	if r.first == nil {
		return r.prefix
	}
	s := *r.first
	r.first = nil
	return s
}

// room is the width of the text in the next row.
func (r *renderer) room() int {
	begin := r.prefix
	if r.first != nil {
		begin = *r.first
	}
	return r.width - cells.StringWidth(begin)
}

// row shows spans in one row.
func (r *renderer) row(spans []span) {
	begin := r.begin()
	if spansWidth(spans) == 0 {
		begin = strings.TrimRight(begin, " ")
	}
	r.out.WriteString(begin)
	var last span
	for _, s := range spans {
		if s.text == "" {
			continue
		}
		r.change(last, s)
		r.out.WriteString(clean(s.text))
		last = s
	}
	r.change(last, span{})
	r.out.WriteString("\n")
}

// change writes the control sequences between two spans.
func (r *renderer) change(from, to span) {
	if from.url != to.url {
		r.out.WriteString(hyperlink(to.url))
	}
	if from.style != to.style {
		r.out.WriteString(to.style.sgr())
	}
}

// clean returns what of a text may go to the terminal. Here and not before,
// because an entity such as &#27; can stand for a control character.
func clean(s string) string { return text.Printable(strings.ReplaceAll(s, glue, "")) }

// hyperlink is the control sequence OSC 8 that begins a link, or ends it if url
// is empty. It takes printable ASCII characters only.
func hyperlink(url string) string {
	var b strings.Builder
	for _, c := range []byte(url) {
		if c > ' ' && c <= '~' {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return "\x1b]8;;" + b.String() + "\x1b\\"
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
var word = regexp.MustCompile(`[` + blank + `]*(?:[` + opening + `]*[` + cjk + `](?:[` + closing + `]|\[\d+\])*|[^` + blank + cjk + `]+)`)

// wrap shows spans in rows that are as wide as the terminal at most. A word that
// is too long has a row of its own.
func (r *renderer) wrap(spans []span) {
	var b strings.Builder
	for _, s := range spans {
		if s.whole {
			b.WriteString(strings.Repeat("x", len(s.text)))
		} else {
			b.WriteString(s.text)
		}
	}
	var row []span
	used := 0
	for _, w := range word.FindAllString(b.String(), -1) {
		var space, chars []span
		n := len(w) - len(strings.TrimLeft(w, blank))
		space, spans = cut(spans, n)
		chars, spans = cut(spans, len(w)-n)
		width := spansWidth(chars)
		switch {
		case used > 0 && (strings.Contains(w[:n], "\n") || used+min(n, 1)+width > r.room()):
			r.row(row)
			row, used = nil, 0
		case used > 0 && n > 0:
			space[0].text = " "
			row, used = append(row, space[0]), used+1
		}
		row, used = append(row, chars...), used+width
	}
	if used > 0 {
		r.row(row)
	}
}

// cut returns the spans of the first n bytes of the text, and the others.
func cut(spans []span, n int) (head, tail []span) {
	for n > 0 {
		first := spans[0]
		if size := min(n, len(first.text)); size < len(first.text) {
			first.text, spans[0].text = first.text[:size], first.text[size:]
		} else {
			spans = spans[1:]
		}
		head = append(head, first)
		n -= len(first.text)
	}
	return head, spans
}
