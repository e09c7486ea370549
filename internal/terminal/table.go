package terminal

import (
	"slices"
	"strings"

	"rsc.io/markdown"
)

const (
	gap       = "  " // between two columns
	minColumn = 8    // cells of a column whose text is wrapped
)

// table shows a table in columns, or as records if they would be too narrow.
func (r *renderer) table(t *markdown.Table) {
	source := r.lines[t.StartLine-1 : t.EndLine]
	tooLong := func(line string) bool { // the parser drops the cells that the header does not have
		line = strings.Trim(strings.ReplaceAll(line, `\|`, ""), "> \t")
		line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
		return strings.Count(line, "|") >= len(t.Header)
	}
	if len(t.Rows) == 0 || slices.ContainsFunc(source, tooLong) {
		r.asIs(t)
		return
	}

	rows := [][]styled{r.tableRow(t.Header, bold)}
	for _, row := range t.Rows {
		rows = append(rows, r.tableRow(row, ""))
	}

	widths := columnWidths(rows, r.room())
	if widths == nil {
		r.records(rows)
		return
	}
	r.columns(rows, widths, t.Align)
}

// tableRow returns the cells of a row.
func (r *renderer) tableRow(row []*markdown.Text, sgr string) (list []styled) {
	for _, cell := range row {
		list = append(list, r.inline(cell, sgr))
	}
	return list
}

// columnWidths returns the width of each column: that of its widest cell, or for wider columns an
// equal share of the room. The result is nil if a share is less than minColumn. The first row has all
// columns.
func columnWidths(rows [][]styled, room int) []int {
	columns := len(rows[0])
	room -= len(gap) * (columns - 1)
	texts := make([]int, columns)
	for _, row := range rows {
		for i, cell := range row {
			texts[i] = max(texts[i], cell.width())
		}
	}

	for share := max(room, minColumn); share >= minColumn; share-- {
		widths := make([]int, columns)
		sum := 0
		for i, width := range texts {
			widths[i] = min(width, share)
			sum += widths[i]
		}
		if sum <= room {
			return widths
		}
	}
	return nil
}

// wrapCells returns the lines of a row. Each has a part of each cell, which may be empty. Words that
// are wider than their column are broken.
func wrapCells(row []styled, widths []int) [][]styled {
	lines := [][]styled{make([]styled, len(row))}
	for i, cell := range row {
		n := 0
		width := widths[i]
		for _, rest := range cell.wrap(width, width) {
			broken := cells.Wrap(rest.String(), width)
			for part := range strings.SplitSeq(broken, "\n") {
				if n == len(lines) {
					lines = append(lines, make([]styled, len(row)))
				}
				lines[n][i] = rest[:len(part)]
				rest = rest[len(part):]
				n++
			}
		}
	}
	return lines
}

// columns shows the cells of a table side by side. An empty row is before and after a row that has
// several lines.
func (r *renderer) columns(rows [][]styled, widths []int, align []string) {
	var rule []styled // below the header
	for _, w := range widths {
		rule = append(rule, in(dim, strings.Repeat("─", w)))
	}

	previous := 0 // lines of the row above
	for i, row := range rows {
		lines := wrapCells(row, widths)
		if i == 0 {
			lines = append(lines, rule)
		}
		if i > 1 && len(lines)+previous > 2 {
			r.row(nil)
		}
		previous = len(lines)

		for _, parts := range lines {
			var line styled
			for k, part := range parts {
				line.addCell(part, widths[k], align[k])
				line.add(gap, style{})
			}

			r.row(line)
		}
	}
}

// addCell appends a cell of a table with the spaces that its column needs.
func (s *styled) addCell(cell styled, width int, align string) {
	missing := max(width-cell.width(), 0)
	left := map[string]int{
		"right":  missing,
		"center": missing / 2,
	}[align]
	s.add(strings.Repeat(" ", left), style{})
	*s = append(*s, cell...)
	s.add(strings.Repeat(" ", missing-left), style{})
}

// records shows each cell of a table as a paragraph behind the header of its column. The first row
// has the headers. They are repeated in each row, so it ends when the block is too long.
func (r *renderer) records(rows [][]styled) {
	for i, row := range rows[1:] {
		if r.isFull() {
			return
		}
		if i > 0 {
			r.row(nil)
		}
		for j, cell := range row {
			line := slices.Clone(rows[0][j])
			if len(line) > 0 {
				line.add(": ", style{})
			}
			r.nest("", "  ", func() {
				r.paragraph(append(line, cell...))
			})
		}
	}
}
