package terminal

import (
	"bytes"
	"fmt"
	"strings"

	"rsc.io/markdown"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// codeIndent is before each row of a block of code. Copying the rows with it does no harm.
const codeIndent = "    "

// The rows of an answer may take styledBytes for each byte of its text and of its list of sources,
// and spareBytes more. The targets of links, indentation and rules make rows longer than the text.
const (
	styledBytes = 2
	spareBytes  = 64 << 10
)

// renderer lays out Markdown in rows of a terminal, and collects the pages of its links.
//
// The next row begins with nextPrefix, and the rows after it with prefix. The two differ if the
// next row has the marker of an entry of a list.
type renderer struct {
	sources sources

	width      int          // of the terminal, in cells
	out        bytes.Buffer // rows so far
	bytesLeft  int          // bytes that rows may still take, besides spareBytes
	lines      []string     // source of the present block
	nextPrefix string
	prefix     string
}

// render returns the rows of a block. They have at most width cells, except for code and long
// words.
func (r *renderer) render(block string, width int) string {
	r.width = width
	r.out.Reset()

	block = strings.Trim(text.Printable(block), "\n")
	doc := parse(block)
	if doc == nil {
		return block + "\n"
	}
	r.lines = strings.Split(block, "\n")
	r.showOrPlain(block, func() {
		r.blocks(doc.Blocks)
	})
	return r.out.String()
}

// showOrPlain calls show to write rows. If the rows take too many bytes, it writes plain in their
// place. A long plain is written without calling show: styled text takes 40 bytes of memory for
// each byte.
func (r *renderer) showOrPlain(plain string, show func()) {
	begin := r.out.Len()
	first := r.nextPrefix
	r.bytesLeft += styledBytes * len(plain)
	bytesLeft := r.bytesLeft

	if len(plain) <= maxBlock {
		show()
		if !r.isFull() {
			return
		}
	}
	r.out.Truncate(begin)
	r.bytesLeft = bytesLeft
	r.nextPrefix = first
	r.line(text.Printable(plain))
}

// isFull reports whether the rows take too many bytes.
func (r *renderer) isFull() bool {
	return r.bytesLeft < -spareBytes
}

// blocks shows blocks, with an empty row between them where the source has an empty line.
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
		levels := []string{bold + underlined, bold, underlined}
		level := min(b.Level, len(levels))
		r.paragraph(r.inline(b.Text, levels[level-1]))
	case *markdown.Paragraph:
		r.block(b.Text)
	case *markdown.Text:
		r.paragraph(r.inline(b, ""))
	case *markdown.CodeBlock:
		r.hang(codeIndent, func() {
			for _, line := range b.Text {
				r.row(styledText(code, line))
			}
		})
	case *markdown.ThematicBreak:
		rule := strings.Repeat("─", max(r.room(), 1))
		r.row(styledText(dim, rule))
	case *markdown.Table:
		r.table(b)
	case *markdown.Quote:
		r.nest("│ ", "│ ", func() {
			r.blocks(b.Blocks)
		})
	case *markdown.List:
		r.list(b)
	default: // HTML
		r.asIs(b)
	}
}

// asIs shows the source of a block.
func (r *renderer) asIs(b markdown.Block) {
	for _, line := range r.lines[b.Pos().StartLine-1 : b.Pos().EndLine] {
		r.paragraph(styledText("", line))
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
		r.hang(bullet, func() {
			r.blocks(item.(*markdown.Item).Blocks)
		})
	}
}

// inline returns the inlines of a text in a style.
func (r *renderer) inline(t *markdown.Text, sgr string) styled {
	b := inlineBuilder{sources: &r.sources}
	b.inlines(t.Inline, style{sgr: sgr})
	return b.styled
}

// room returns the cells that are left for text in the next row.
func (r *renderer) room() int {
	return r.width - cells.StringWidth(r.nextPrefix)
}

// nest calls show. The first row that it writes begins with first, and the other rows with rest,
// unless the indentation would take more than half of the terminal.
func (r *renderer) nest(first, rest string, show func()) {
	outer := r.prefix
	r.nextPrefix += first
	if cells.StringWidth(outer+rest) <= r.width/2 {
		r.prefix += rest
	}
	show()
	r.nextPrefix = outer
	r.prefix = outer
}

// hang calls show. The first row that it writes begins with label, and the other rows are indented
// by its width.
func (r *renderer) hang(label string, show func()) {
	r.nest(label, strings.Repeat(" ", cells.StringWidth(label)), show)
}

// row shows a text in one row, unless the rows take too many bytes.
func (r *renderer) row(s styled) {
	if !r.isFull() {
		r.line(s.paint())
	}
}

// line shows a text with its control sequences in one row.
func (r *renderer) line(painted string) {
	row := strings.TrimRight(r.nextPrefix+painted, " ") + "\n"
	r.out.WriteString(row)
	r.bytesLeft -= len(row)
	r.nextPrefix = r.prefix
}

// paragraph shows a text in rows that fit the terminal, except for words that are too long.
func (r *renderer) paragraph(s styled) {
	width := r.width - cells.StringWidth(r.prefix)
	for _, row := range s.wrap(r.room(), width) {
		r.row(row)
	}
}
