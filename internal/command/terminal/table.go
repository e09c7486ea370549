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
	// tooLong reports whether a row has more cells than the header: the parser would drop them.
	tooLong := func(line string) bool {
		line = strings.Trim(strings.ReplaceAll(line, `\|`, ""), "> \t")
		line = strings.TrimSuffix(strings.TrimPrefix(line, "|"), "|")
		return strings.Count(line, "|") >= len(t.Header)
	}
	if len(t.Rows) == 0 || slices.ContainsFunc(source, tooLong) {
		r.asIs(t)
		return
	}

	var rows [][]styled
	sgr := bold // for the header
	for _, row := range slices.Insert(t.Rows, 0, t.Header) {
		var texts []styled
		for _, cell := range row {
			texts = append(texts, r.inline(cell, sgr))
		}
		rows = append(rows, texts)
		sgr = ""
	}

	widths := columnWidths(rows, r.room())
	if widths == nil {
		r.records(rows)
		return
	}
	r.columns(rows, widths, t.Align)
}

// columnWidths returns the width of each column: that of its widest cell. If they do not fit the
// room, the widest columns become narrower. The result is nil if columns would have to become
// narrower than minColumn. The first row has all columns.
func columnWidths(rows [][]styled, room int) []int {
	widths := make([]int, len(rows[0]))
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], cell.width())
		}
	}
	excess := len(gap)*(len(widths)-1) - room
	for _, width := range widths {
		excess += width
	}

	for range excess {
		widest := slices.Max(widths)
		if widest <= minColumn {
			return nil
		}
		widths[slices.Index(widths, widest)]--
	}
	return widths
}

// columns shows the cells of a table side by side. A row of several lines has an empty row before
// and after it.
func (r *renderer) columns(rows [][]styled, widths []int, align []string) {
	var rule []string // below the header
	for _, width := range widths {
		rule = append(rule, strings.Repeat("─", width))
	}

	previous := 0 // lines of the row above
	for i, row := range rows {
		texts := make([][]styled, len(row))
		height := 1
		for k, cell := range row {
			texts[k] = cell.breakWords(widths[k])
			height = max(height, len(texts[k]))
		}
		if i > 1 && height+previous > 2 {
			r.row(nil)
		}
		previous = height

		for n := range height {
			var line styled
			for k, lines := range texts {
				var words styled
				if n < len(lines) {
					words = lines[n]
				}
				line.addCell(words, widths[k], align[k])
			}
			r.row(line)
		}
		if i == 0 {
			r.row(styledText(dim, strings.Join(rule, gap)))
		}
	}
}

// addCell appends a cell of a table, with spaces to the width of its column.
func (s *styled) addCell(cell styled, width int, align string) {
	missing := max(width-cell.width(), 0)
	left := map[string]int{
		"right":  missing,
		"center": missing / 2,
	}[align]
	s.add(strings.Repeat(" ", left), style{})
	*s = append(*s, cell...)
	s.add(strings.Repeat(" ", missing-left)+gap, style{})
}

// records shows each cell of a table as a paragraph after the header of its column. The first row
// has the headers. As each row repeats them, records stops when the block takes too many bytes.
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
