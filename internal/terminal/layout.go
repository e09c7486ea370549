package terminal

import (
	"fmt"
	"slices"
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// renderer lays out Markdown in rows of a terminal, and collects the pages that it links to.
//
// The next row begins with first, those after it with prefix. They differ when the next row has the
// marker of an entry.
type renderer struct {
	sources sources

	width  int // of the terminal
	out    strings.Builder
	lines  []string // of the block
	first  string
	prefix string
}

// render returns the rows of Markdown, of at most width cells except for code and single words.
func (r *renderer) render(s string, width int) string {
	r.width = width
	r.out.Reset()

	for s != "" {
		end := blockEnd(s)
		block := strings.Trim(text.Printable(s[:end]), "\n")
		s = s[end:]

		if r.out.Len() > 0 {
			r.out.WriteString("\n")
		}
		doc := parse(block)
		if doc == nil {
			r.out.WriteString(block + "\n")
			continue
		}
		r.lines = strings.Split(block, "\n")
		r.blocks(doc.Blocks)
	}

	return r.out.String()
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
		r.paragraph(r.inline(b.Text, bold))
	case *markdown.Paragraph:
		r.paragraph(r.inline(b.Text, ""))
	case *markdown.Text:
		r.paragraph(r.inline(b, ""))
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
		r.list(b)
	default: // HTML
		r.asIs(b)
	}
}

// asIs shows a block as it is.
func (r *renderer) asIs(b markdown.Block) {
	for _, line := range r.lines[b.Pos().StartLine-1 : b.Pos().EndLine] {
		r.paragraph(in("", line))
	}
}

func (r *renderer) list(l *markdown.List) {
	for i, item := range l.Items {
		if i > 0 && l.Loose {
			r.row(nil)
		}

		bullet := "• "
		if l.Ordered() {
			bullet = fmt.Sprintf("%d%c ", l.Start+i, l.Bullet)
		}
		indent := strings.Repeat(" ", cells.StringWidth(bullet))
		r.nest(bullet, indent, func() { r.blocks(item.(*markdown.Item).Blocks) })
	}
}

// table shows a table in columns, or as records if it is too wide.
func (r *renderer) table(t *markdown.Table) {
	const gap = "  " // between two columns

	source := r.lines[t.StartLine-1 : t.EndLine]
	tooLong := func(line string) bool { return cellCount(line) > len(t.Header) }
	if len(t.Rows) == 0 || slices.ContainsFunc(source, tooLong) { // the parser drops those cells
		r.asIs(t)
		return
	}

	rows := [][]styled{r.tableRow(t.Header, bold)}
	for _, row := range t.Rows {
		rows = append(rows, r.tableRow(row, ""))
	}

	widths := columnWidths(rows)
	var rule styled
	for _, w := range widths {
		rule.add(strings.Repeat("─", w), style{sgr: dim})
		rule.add(gap, style{})
	}
	if rule.width()-len(gap) > r.room() {
		r.records(rows)
		return
	}

	for i, row := range rows {
		var line styled
		for j, cell := range row {
			line.addCell(cell, widths[j], t.Align[j])
			line.add(gap, style{})
		}
		r.row(line)
		if i == 0 {
			r.row(rule)
		}
	}
}

// cellCount returns the number of cells in a row of a table, as it is written.
func cellCount(line string) int {
	line = strings.Trim(strings.ReplaceAll(line, `\|`, ""), "> \t")
	line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
	return strings.Count(line, "|") + 1
}

// tableRow returns the cells of a row.
func (r *renderer) tableRow(row []*markdown.Text, sgr string) (list []styled) {
	for _, cell := range row {
		list = append(list, r.inline(cell, sgr))
	}
	return list
}

// columnWidths returns the width of the widest cell of each column. The first row has all columns.
func columnWidths(rows [][]styled) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cell.width())
		}
	}
	return widths
}

// addCell appends a cell of a table with the spaces that its column needs.
func (s *styled) addCell(cell styled, width int, align string) {
	missing := width - cell.width()
	left := 0
	switch align {
	case "right":
		left = missing
	case "center":
		left = missing / 2
	}

	s.add(strings.Repeat(" ", left), style{})
	*s = append(*s, cell...)
	s.add(strings.Repeat(" ", missing-left), style{})
}

// records shows each cell of a table as a paragraph behind the header of its column. The first row
// has the headers.
func (r *renderer) records(rows [][]styled) {
	for i, row := range rows[1:] {
		if i > 0 {
			r.row(nil)
		}
		for j, cell := range row {
			line := slices.Clone(rows[0][j])
			if len(line) > 0 {
				line.add(": ", style{})
			}
			r.nest("", "  ", func() { r.paragraph(append(line, cell...)) })
		}
	}
}

// inline returns a text in a style.
func (r *renderer) inline(t *markdown.Text, sgr string) styled {
	b := inlineBuilder{sources: &r.sources}
	b.inlines(t.Inline, style{sgr: sgr})
	return b.styled
}

// room is the width of the text in the next row.
func (r *renderer) room() int {
	return r.width - cells.StringWidth(r.first)
}

// nest shows something behind first in its first row and rest in the others.
// Where half of the terminal is taken, there is no more indentation.
func (r *renderer) nest(first, rest string, show func()) {
	outer := r.prefix
	r.first += first
	if cells.StringWidth(outer+rest) <= r.width/2 {
		r.prefix += rest
	}
	show()
	r.first = outer
	r.prefix = outer
}

// row shows a text in one row.
func (r *renderer) row(s styled) {
	row := r.first + s.paint()
	r.out.WriteString(strings.TrimRight(row, " ") + "\n")
	r.first = r.prefix
}

// paragraph shows a text in rows that fit the terminal, except for words that are too long.
func (r *renderer) paragraph(s styled) {
	rest := r.width - cells.StringWidth(r.prefix)
	for _, row := range s.wrap(r.room(), rest) {
		r.row(row)
	}
}
