package cli

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// The limits of what is parsed. Other blocks are shown as they are: the parser
// needs quadratic time for nested blocks, and a cell for each column of a row.
const (
	maxBlock   = 32 << 10 // bytes of a block
	maxColumns = 32
	maxNesting = 16 // markers or steps of indentation in front of a marker
)

// mark matches the marker of a quote or of an entry of a list.
const mark = `(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])`

var (
	// nested matches a line with more markers and indentation than maxNesting.
	nested = regexp.MustCompile(fmt.Sprintf(`(?m)^(?:[ \t]?(?:  |\t|%[1]s)){%[2]d}[ \t]*%[1]s`, mark, maxNesting-1))
	// wide matches a line with more columns than maxColumns.
	wide = regexp.MustCompile(fmt.Sprintf(`(?m)^(?:[^|\n]*\|){%d}`, maxColumns+1))
	// fence matches the line above or below a block of code, also in a list.
	fence = regexp.MustCompile("^(?:[ \\t]|" + mark + ")*(```+|~~~+)([^`]*)$")
	// strong matches text that is to be bold, and the character before it.
	strong = regexp.MustCompile(`(^|[^*])(\*\*[^*\s](?:[^*\n]*[^*\s])?\*\*)`)
	// lineBreak matches the HTML of a line break.
	lineBreak = regexp.MustCompile(`(?i)^<br\s*/?>$`)
)

// blockEnd returns where the first block of s ends, or -1 if it may go on. An
// entry of a list that follows a blank line is a block.
func blockEnd(s string) int {
	at, open, blank := 0, "", false
	for line := range strings.Lines(s) {
		words := strings.TrimSpace(line)
		if blank && words != "" && open == "" && line[0] != ' ' && line[0] != '\t' {
			return at
		}
		blank = words == ""
		m := fence.FindStringSubmatch(words)
		switch {
		case m == nil:
		case open == "":
			open = m[1]
		case m[2] == "" && strings.HasPrefix(m[1], open):
			open = ""
		}
		at += len(line)
	}
	return -1
}

// renderer lays out Markdown for a terminal, and collects the pages that it
// links to.
type renderer struct {
	sources []answer.Citation
	numbers map[string]int // of the sources, by the key of the page

	width  int
	out    strings.Builder
	raw    []string // the lines of the block
	first  string   // what the next row begins with
	prefix string   // what the rows after it begin with
}

// render returns the rows of Markdown, of at most width cells except for code
// and single words.
func (r *renderer) render(s string, width int) string {
	r.width = width
	r.out.Reset()
	for s != "" {
		end := blockEnd(s)
		if end < 0 {
			end = len(s)
		}
		block := strings.Trim(text.Printable(s[:end]), "\n")
		if r.out.Len() > 0 {
			r.out.WriteString("\n")
		}
		if doc := parse(block); doc != nil {
			r.raw = strings.Split(block, "\n")
			r.blocks(doc.Blocks)
		} else {
			r.out.WriteString(block + "\n")
		}
		s = s[end:]
	}
	return r.out.String()
}

// glue is a white space that does not occur in texts. The parser gets it where
// a text needs a space, and wrap where a row must not end.
const glue = "\u1680"

// parse parses a block. It returns nil if the block is to be shown as it is.
func parse(block string) (doc *markdown.Document) {
	if len(block) > maxBlock || nested.MatchString(block) || wide.MatchString(block) {
		return nil
	}
	// The parser panics for some tables, such as "a\n-||".
	defer func() {
		if recover() != nil {
			doc = nil
		}
	}()
	block = strings.ReplaceAll(block, glue, " ")
	// The parser drops footnotes.
	block = strings.ReplaceAll(block, "[^", glue+"[^")
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
			r.row("")
		}
		r.block(b)
		end = b.Pos().EndLine
	}
}

func (r *renderer) block(b markdown.Block) {
	switch b := b.(type) {
	case *markdown.Heading:
		r.wrap(r.inline(b.Text.Inline, bold))
	case *markdown.Paragraph:
		r.wrap(r.inline(b.Text.Inline, ""))
	case *markdown.Text:
		r.wrap(r.inline(b.Inline, ""))
	case *markdown.CodeBlock:
		for _, line := range b.Text {
			r.row(paint(line, code))
		}
	case *markdown.ThematicBreak:
		r.row(paint(strings.Repeat("─", max(r.room(), 1)), dim))
	case *markdown.Table:
		r.table(b)
	case *markdown.Quote:
		r.nest("│ ", "│ ", func() { r.blocks(b.Blocks) })
	case *markdown.List:
		r.list(b)
	default: // HTML
		r.asIs(b)
	}
}

// asIs shows a block as it is.
func (r *renderer) asIs(b markdown.Block) {
	for _, line := range r.raw[b.Pos().StartLine-1 : b.Pos().EndLine] {
		r.wrap(paint(line, ""))
	}
}

func (r *renderer) list(b *markdown.List) {
	for i, item := range b.Items {
		marker := "• "
		if b.Ordered() {
			marker = fmt.Sprintf("%d%c ", b.Start+i, b.Bullet)
		}
		if i > 0 && b.Loose {
			r.row("")
		}
		indent := strings.Repeat(" ", cells.StringWidth(marker))
		r.nest(marker, indent, func() { r.blocks(item.(*markdown.Item).Blocks) })
	}
}

// gap is between two columns of a table.
const gap = "  "

// table shows a table in columns. If it is too wide, each cell becomes a
// paragraph behind the header of its column.
func (r *renderer) table(t *markdown.Table) {
	// The parser drops cells without a header.
	tooLong := func(line string) bool { return columnsOf(line) > len(t.Header) }
	if len(t.Rows) == 0 || slices.ContainsFunc(r.raw[t.StartLine-1:t.EndLine], tooLong) {
		r.asIs(t)
		return
	}
	var rows [][]string
	widths := make([]int, len(t.Header))
	style := bold
	for _, texts := range append([][]*markdown.Text{t.Header}, t.Rows...) {
		var row []string
		for i, cell := range texts {
			row = append(row, r.inline(cell.Inline, style))
			widths[i] = max(widths[i], widthOf(row[i]))
		}
		rows = append(rows, row)
		style = ""
	}
	total := -len(gap)
	var rule []string
	for _, w := range widths {
		total += w + len(gap)
		rule = append(rule, paint(strings.Repeat("─", w), dim))
	}
	if total > r.room() {
		r.records(rows)
		return
	}
	for _, row := range slices.Insert(rows, 1, rule) {
		r.row(aligned(row, widths, t.Align))
	}
}

// columnsOf returns how many cells a row of a table has.
func columnsOf(line string) int {
	line = strings.Trim(strings.ReplaceAll(line, `\|`, ""), "> \t")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	return strings.Count(line, "|") + 1
}

// aligned returns a row of a table with spaces before its cells.
func aligned(row []string, widths []int, align []string) string {
	var b strings.Builder
	space := 0
	for i, cell := range row {
		missing := widths[i] - widthOf(cell)
		left := 0
		switch align[i] {
		case "right":
			left = missing
		case "center":
			left = missing / 2
		}
		b.WriteString(strings.Repeat(" ", space+left) + cell)
		space = missing - left + len(gap)
	}
	return b.String()
}

// records shows the rows of a table, of which the first one is the header, as
// paragraphs.
func (r *renderer) records(rows [][]string) {
	for i, row := range rows[1:] {
		if i > 0 {
			r.row("")
		}
		for j, cell := range row {
			label := rows[0][j]
			if label != "" {
				label += ": "
			}
			r.nest("", gap, func() { r.wrap(label + cell) })
		}
	}
}

// inline returns text, painted.
func (r *renderer) inline(list markdown.Inlines, style string) string {
	var b strings.Builder
	for _, x := range list {
		switch x := x.(type) {
		case *markdown.Plain:
			b.WriteString(r.text(x.Text, style))
		case *markdown.Escaped:
			b.WriteString(r.text(x.Text, style))
		case *markdown.AutoLink:
			b.WriteString(r.text(x.Text, style))
		case *markdown.HTMLTag: // tables have <br>
			b.WriteString(r.text(lineBreak.ReplaceAllString(x.Text, " "), style))
		case *markdown.SoftBreak, *markdown.HardBreak: // models break lines where they mean it
			b.WriteString("\n")
		case *markdown.Code:
			b.WriteString(whole(paint(x.Text, style+code)))
		case *markdown.Strong:
			b.WriteString(r.inline(x.Inner, style+bold))
		case *markdown.Emph:
			b.WriteString(r.inline(x.Inner, style+italic))
		case *markdown.Del:
			b.WriteString(r.inline(x.Inner, style+struck))
		case *markdown.Link:
			b.WriteString(r.link(x.Inner, x.URL, style))
		case *markdown.Image:
			b.WriteString(r.link(x.Inner, x.URL, style))
		}
	}
	return b.String()
}

// link returns a link, painted. One that leads to no page is shown as it is.
func (r *renderer) link(inner markdown.Inlines, u, style string) string {
	page := answer.PageURL(strings.ReplaceAll(u, glue, ""))
	if page == "" {
		return paint("[", style) + r.inline(inner, style) + paint("]("+u+")", style)
	}
	return r.numbered(page, r.inline(inner, style+linked))
}

// text returns text with its URLs, painted. The text of a link has no links.
func (r *renderer) text(s, style string) string {
	var b strings.Builder
	begin := 0
	for _, at := range answer.Links(s) {
		u := s[at[0]:at[1]]
		page := answer.PageURL(u)
		if page != "" && !strings.Contains(style, linked) {
			b.WriteString(paint(s[begin:at[0]], style) + r.numbered(page, paint(u, style+linked)))
			begin = at[1]
		}
	}
	return b.String() + paint(s[begin:], style)
}

// numbered returns a painted text that links to a page, with the number of the
// page in the list of sources.
func (r *renderer) numbered(page, s string) string {
	number := fmt.Sprintf("[%d]", r.cite(answer.Citation{URL: page}))
	return hyperlink(page, s+paint(number, dim))
}
