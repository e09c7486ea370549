package terminal

import (
	"net/url"
	"strings"

	"github.com/mattn/go-runewidth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// cells measures text in cells of a terminal. Characters of ambiguous width take one cell, as
// current terminals show them in every locale.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// noBreak is a space at which no row ends: the figure space, which is rare in texts. paint writes
// an ordinary space for it.
const noBreak = "\u2007"

// styled is a text with a style for each byte. It is cut and joined like any slice.
type styled []styledByte

type styledByte struct {
	char  byte
	style style
}

// style is how a text looks, and which page it links to. The zero value is plain text.
type style struct {
	sgr  string // parameters of the control sequence SGR, each after a semicolon
	page string // URL
}

// Parameters of SGR. They are combined by joining them.
const (
	bold       = ";1"
	dim        = ";2"
	italic     = ";3"
	underlined = ";4"
	struck     = ";9"
	red        = ";31"
	green      = ";32"
	yellow     = ";33"
	code       = ";36"
	linked     = ";4;94"
)

// sequences matches the control sequences of styles and links.
var sequences = text.LazyRegexp("\x1b\\[[0-9;]*m|\x1b\\]8;;[!-~]*\x1b\\\\")

// with returns the style with more parameters of SGR. It adds them only once: hostile texts nest
// styles thousands of times.
func (s style) with(sgr string) style {
	if !strings.Contains(s.sgr+";", sgr+";") {
		s.sgr += sgr
	}
	return s
}

// linkTo returns the style of a link to a page, in a text with style s.
func (s style) linkTo(page string) style {
	s = s.with(linked)
	s.page = page
	return s
}

// styledText returns a text in a style.
func styledText(sgr, words string) (s styled) {
	s.add(words, style{sgr: sgr})
	return s
}

// add appends a text without the characters that must not reach the terminal. Removing them before
// the Markdown is parsed is not enough: an entity such as &#27; can stand for a control character.
func (s *styled) add(words string, st style) {
	for _, b := range []byte(text.Printable(words)) {
		*s = append(*s, styledByte{b, st})
	}
}

func (s styled) String() string {
	var b strings.Builder
	for _, c := range s {
		b.WriteByte(c.char)
	}
	return b.String()
}

func (s styled) width() int {
	return cells.StringWidth(s.String())
}

// paint returns a text with the control sequences of its styles and links.
func (s styled) paint() string {
	var b strings.Builder
	var now style
	for _, c := range s {
		b.WriteString(switchStyle(now, c.style))
		b.WriteByte(c.char)
		now = c.style
	}
	b.WriteString(switchStyle(now, style{}))

	return strings.ReplaceAll(b.String(), noBreak, " ")
}

// escaped matches characters that the control sequence OSC 8 does not allow in a URL.
var escaped = text.LazyRegexp(`[^!-~]+`)

// switchStyle returns the control sequences from one style to another: SGR for how the text looks,
// and OSC 8 for its link.
func switchStyle(from, to style) (sequences string) {
	if from.page != to.page {
		target := escaped().ReplaceAllStringFunc(cite.LinkTarget(to.page), url.PathEscape)
		sequences = "\x1b]8;;" + target + "\x1b\\"
	}
	if from.sgr != to.sgr {
		sequences += "\x1b[0" + to.sgr + "m" // 0 ends the style from
	}
	return sequences
}

const (
	blank   = " \t\n\u3000"
	cjk     = `\p{Han}\p{Hiragana}\p{Katakana}`
	opening = `「『（【〈《［｛〔“‘(\[{`
	closing = `、。，．：；！？」』】）〉》］｝〕”’・…ー々ゝゞぁぃぅぇぉっゃゅょァィゥェォッャュョ)\]},.!?:;%`
)

// word matches text that a row does not break, and the white space before it: a word of Latin and
// other scripts, or a character of Chinese and Japanese with the punctuation and the number of a
// link next to it. The submatch is the white space.
var word = text.LazyRegexp(`([` + blank + `]*)` +
	`(?:[` + opening + `]*[` + cjk + `](?:[` + closing + `]|\[\d+\])*|[^` + blank + cjk + `]+)`)

// wrap divides a text into rows of at most width cells. The first row has at most first cells. A
// word that is wider gets a row of its own.
func (s styled) wrap(first, width int) (rows []styled) {
	var row styled
	room := first // cells that are left in the row

	for _, at := range word().FindAllStringSubmatchIndex(s.String(), -1) {
		next := s[at[0]:at[1]]
		space := s[at[2]:at[3]].String()
		ends := next.width() > room || strings.Contains(space, "\n")
		if len(row) > 0 && ends {
			rows = append(rows, row)
			row = nil
			room = width
		}

		if len(row) == 0 {
			next = next[len(space):]
		}
		row = append(row, next...)
		room -= next.width()
	}

	if len(row) > 0 {
		rows = append(rows, row)
	}
	return rows
}

// breakWords divides a text into rows of at most width cells, and breaks words that are wider.
func (s styled) breakWords(width int) (rows []styled) {
	for _, row := range s.wrap(width, width) {
		broken := cells.Wrap(row.String(), width)
		for part := range strings.SplitSeq(broken, "\n") {
			rows = append(rows, row[:len(part)])
			row = row[len(part):]
		}
	}
	return rows
}
