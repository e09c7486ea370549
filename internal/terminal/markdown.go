// Package terminal shows a question and its answer in a terminal.
//
//	screen.go     the status line, and the answer while it is written
//	markdown.go   the layout of the answer and its sources
//	console_*.go  control sequences in the console of Windows
package terminal

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	glue = "\u1680" // a white space that texts do not have, for the parser
	nbsp = "\u2007" // a space at which no row ends: the figure space, which texts hardly have

	maxBlock = 32 << 10                           // bytes of a block that is parsed
	maxPage  = 2 << 10                            // bytes of the URL of a link, which each of its rows repeats
	mark     = `(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])` // matches the marker of a quote or of an entry of a list
)

var (
	// hostile matches a line with more than 16 markers and steps of indentation in front of a
	// marker, or with more than 32 columns. The parser needs quadratic time for nested blocks, and
	// a cell for each column of a row.
	hostile = regexp.MustCompile(`(?m)^(?:[ \t]?(?:  |\t|` + mark + `)){15}[ \t]*` + mark + `|^(?:[^|\n]*\|){33}`)
	// fence matches the line above or below a block of code, also in a list.
	fence = regexp.MustCompile("^(?:[ \\t]|" + mark + ")*(```+|~~~+)([^`]*)$")
	// strong matches text that is to be bold, and the character before it.
	strong = regexp.MustCompile(`(^|[^*])(\*\*[^*\s](?:[^*\n]*[^*\s])?\*\*)`)
	// lineBreak matches the HTML of a line break.
	lineBreak = regexp.MustCompile(`(?i)^<br\s*/?>$`)
)

// blockEnd returns where the first block of s ends. It may go on if that is the end of s. An entry
// of a list that follows a blank line is a block.
func blockEnd(s string) int {
	at, open, blank := 0, "", false
	for line := range strings.Lines(s) {
		words := strings.TrimSpace(line)
		if blank && words != "" && open == "" && line[0] != ' ' && line[0] != '\t' {
			break
		}
		blank = words == ""
		m := fence.FindStringSubmatch(words)
		if m != nil && open == "" {
			open = m[1]
		} else if m != nil && m[2] == "" && strings.HasPrefix(m[1], open) {
			open = ""
		}
		at += len(line)
	}
	return at
}

// renderer lays out Markdown for a terminal, and collects the pages that it links to.
type renderer struct {
	sources []cite.Citation
	numbers map[string]int // of the sources, by the key of the page

	width  int
	out    strings.Builder
	lines  []string // of the block
	first  string   // what the next row begins with
	prefix string   // what the rows after it begin with
}

// render returns the rows of Markdown, of at most width cells except for code and single words.
func (r *renderer) render(s string, width int) string {
	r.width = width
	r.out.Reset()
	for s != "" {
		end := blockEnd(s)
		block := strings.Trim(text.Printable(s[:end]), "\n")
		if r.out.Len() > 0 {
			r.out.WriteString("\n")
		}
		if doc := parse(block); doc != nil {
			r.lines = strings.Split(block, "\n")
			r.blocks(doc.Blocks)
		} else {
			r.out.WriteString(block + "\n")
		}
		s = s[end:]
	}
	return r.out.String()
}

// parse parses a block. It returns nil if the block is to be shown as it is.
func parse(block string) (doc *markdown.Document) {
	if len(block) > maxBlock || hostile.MatchString(block) {
		return nil
	}
	defer func() { _ = recover() }() // doc stays nil: the parser panics for some tables, such as "a\n-||"
	// The parser drops footnotes.
	block = strings.NewReplacer(glue, " ", "[^", glue+"[^").Replace(block)
	// CommonMark does not see the end of **「強調」** before a letter.
	block = strong.ReplaceAllString(block, "${1}"+glue+"${2}"+glue)
	parser := markdown.Parser{Table: true, Strikethrough: true}
	doc = parser.Parse(block)
	if len(doc.Links) > 0 { // definitions of links are not among the blocks
		return nil
	}
	return doc
}

// blocks shows blocks, with an empty row where the source has one.
func (r *renderer) blocks(list []markdown.Block) {
	end := 0
	for _, b := range list {
		if end > 0 && b.Pos().StartLine > end+1 {
			r.row(nil)
		}
		end = b.Pos().EndLine
		r.block(b)
	}
}

func (r *renderer) block(b markdown.Block) {
	switch b := b.(type) {
	case *markdown.Heading:
		r.wrap(r.inline(b.Text, bold))
	case *markdown.Paragraph:
		r.wrap(r.inline(b.Text, ""))
	case *markdown.Text:
		r.wrap(r.inline(b, ""))
	case *markdown.CodeBlock:
		for _, line := range b.Text {
			r.row(in(code, line))
		}
	case *markdown.ThematicBreak:
		r.row(in(dim, strings.Repeat("─", max(r.room(), 1))))
	case *markdown.Table:
		r.table(b)
	case *markdown.Quote:
		r.nest("│ ", "│ ", func() { r.blocks(b.Blocks) })
	case *markdown.List:
		for i, item := range b.Items {
			marker := "• "
			if b.Ordered() {
				marker = fmt.Sprintf("%d%c ", b.Start+i, b.Bullet)
			}
			if i > 0 && b.Loose {
				r.row(nil)
			}
			indent := strings.Repeat(" ", cells.StringWidth(marker))
			r.nest(marker, indent, func() { r.blocks(item.(*markdown.Item).Blocks) })
		}
	default: // HTML
		r.asIs(b)
	}
}

// asIs shows a block as it is.
func (r *renderer) asIs(b markdown.Block) {
	for _, line := range r.lines[b.Pos().StartLine-1 : b.Pos().EndLine] {
		r.wrap(in("", line))
	}
}

// table shows a table in columns. If it is too wide, each cell becomes a paragraph behind the
// header of its column.
func (r *renderer) table(t *markdown.Table) {
	const gap = "  " // between two columns
	// The parser drops cells without a header.
	tooLong := func(line string) bool {
		line = strings.Trim(strings.ReplaceAll(line, `\|`, ""), "> \t")
		return strings.Count(strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|"), "|") >= len(t.Header)
	}
	if len(t.Rows) == 0 || slices.ContainsFunc(r.lines[t.StartLine-1:t.EndLine], tooLong) {
		r.asIs(t)
		return
	}
	var rows [][]styled
	widths := make([]int, len(t.Header))
	style := bold
	for _, texts := range slices.Insert(t.Rows, 0, t.Header) {
		var row []styled
		for i, cell := range texts {
			row = append(row, r.inline(cell, style))
			widths[i] = max(widths[i], row[i].width())
		}
		rows = append(rows, row)
		style = ""
	}
	var rule styled
	for _, w := range widths {
		rule = slices.Concat(rule, in(dim, strings.Repeat("─", w)), in("", gap))
	}
	if rule.width()-len(gap) > r.room() {
		r.records(rows)
		return
	}
	for i, row := range rows {
		var line styled
		for j, cell := range row {
			missing := widths[j] - cell.width()
			left := map[string]int{"right": missing, "center": missing / 2}[t.Align[j]]
			line.add(strings.Repeat(" ", left), look{})
			line = append(line, cell...)
			line.add(strings.Repeat(" ", missing-left)+gap, look{})
		}
		r.row(line)
		if i == 0 {
			r.row(rule)
		}
	}
}

// records shows the rows of a table, of which the first one is the header, as paragraphs.
func (r *renderer) records(rows [][]styled) {
	for i, row := range rows[1:] {
		if i > 0 {
			r.row(nil)
		}
		for j, cell := range row {
			line := slices.Clone(rows[0][j])
			if len(line) > 0 {
				line.add(": ", look{})
			}
			r.nest("", "  ", func() { r.wrap(append(line, cell...)) })
		}
	}
}

// inline returns a text in a style.
func (r *renderer) inline(t *markdown.Text, style string) (s styled) {
	r.add(&s, t.Inline, look{style: style})
	return s
}

// add appends parts of a text, with their styles.
func (r *renderer) add(s *styled, list markdown.Inlines, l look) {
	for _, x := range list {
		switch x := x.(type) {
		case *markdown.Plain:
			r.text(s, x.Text, l)
		case *markdown.Escaped:
			r.text(s, x.Text, l)
		case *markdown.AutoLink:
			r.text(s, x.Text, l)
		case *markdown.HTMLTag: // tables have <br>
			r.text(s, lineBreak.ReplaceAllString(x.Text, " "), l)
		case *markdown.SoftBreak, *markdown.HardBreak: // models break lines where they mean it
			s.add("\n", l)
		case *markdown.Code:
			s.add(strings.ReplaceAll(x.Text, " ", nbsp), l.with(code))
		case *markdown.Strong:
			r.add(s, x.Inner, l.with(bold))
		case *markdown.Emph:
			r.add(s, x.Inner, l.with(italic))
		case *markdown.Del:
			r.add(s, x.Inner, l.with(struck))
		case *markdown.Link:
			r.link(s, x.Inner, x.URL, l)
		case *markdown.Image:
			r.link(s, x.Inner, x.URL, l)
		}
	}
}

// link appends a link. One that leads to no page, or has a very long URL, is shown as it is.
func (r *renderer) link(s *styled, inner markdown.Inlines, u string, l look) {
	page := cite.PageURL(strings.ReplaceAll(u, glue, ""))
	if page == "" || len(page) > maxPage {
		s.add("[", l)
		r.add(s, inner, l)
		s.add("]("+u+")", l)
		return
	}
	r.add(s, inner, look{l.with(linked).style, page})
	r.number(s, page)
}

// text appends a text with links for its URLs, except in a link.
func (r *renderer) text(s *styled, words string, l look) {
	begin := 0
	for _, at := range cite.Links(words) {
		u := words[at.Start:at.End]
		page := cite.PageURL(u)
		if page != "" && l.page == "" {
			s.add(words[begin:at.Start], l)
			s.add(u, look{l.with(linked).style, page})
			r.number(s, page)
			begin = at.End
		}
	}
	s.add(words[begin:], l)
}

// number appends the number of a page in the list of sources.
func (r *renderer) number(s *styled, page string) {
	s.add(fmt.Sprintf("[%d]", r.cite(cite.Citation{URL: page})), look{dim, page})
}

// cite returns the number of a page in the list of sources, which has it once.
// Title and date come from the citations: the links of the text have none.
func (r *renderer) cite(c cite.Citation) int {
	if r.numbers == nil {
		r.numbers = map[string]int{}
	}
	key := cite.PageKey(c.URL)
	n := r.numbers[key]
	if n == 0 {
		r.sources = append(r.sources, c)
		n = len(r.sources)
		r.numbers[key] = n
	} else if r.sources[n-1].PublishedAt == "" {
		r.sources[n-1] = c
	}
	return n
}

// sourceRows returns the rows of the list of sources.
func (r *renderer) sourceRows(heading string, width int) string {
	r.width = width
	r.out.Reset()
	r.wrap(in(bold, heading))
	for i, c := range r.sources {
		page := cite.PageURL(c.URL)
		var entry styled
		if c.Title != "" && page != "" {
			entry.add(c.Title, look{linked, page})
			entry.add(" ", look{})
		}
		entry.add(c.URL, look{dim, page})
		date := c.PublishedAt
		if c.Accessed {
			date = "accessed" + nbsp + date
		}
		if date != "" {
			entry.add(" ", look{})
			entry.add("("+date+")", look{style: dim})
		}
		number := fmt.Sprintf("[%d] ", i+1)
		r.nest(number, strings.Repeat(" ", len(number)), func() { r.wrap(entry) })
	}
	return r.out.String()
}

// styled is a text with the look of each byte, which is cut and joined as any slice. It has at most
// maxBlock bytes and the numbers of links.
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

var escaped = regexp.MustCompile(`[^!-~]+`) // what the control sequence OSC 8 does not take

// paint returns a text with control sequences: SGR for its styles, OSC 8 for its links.
func (s styled) paint() string {
	var b strings.Builder
	var now look
	change := func(to look) {
		if now.style != "" && now.style != to.style {
			b.WriteString("\x1b[0m")
		}
		if now.page != to.page {
			b.WriteString("\x1b]8;;" + escaped.ReplaceAllStringFunc(to.page, url.PathEscape) + "\x1b\\")
		}
		if to.style != "" && now.style != to.style {
			b.WriteString("\x1b[0" + to.style + "m")
		}
		now = to
	}
	for _, c := range s {
		change(c.look)
		b.WriteByte(c.byte)
	}
	change(look{})
	return strings.ReplaceAll(b.String(), nbsp, " ")
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
