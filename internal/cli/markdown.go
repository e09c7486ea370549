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
	maxNesting = 16 // blocks around a block
)

var (
	// nested matches a line with more than maxNesting markers of quotes and lists.
	nested = regexp.MustCompile(fmt.Sprintf(`(?m)^(?:[ \t]*(?:>|(?:[*+-]|\d{1,9}[.)])[ \t])){%d}`, maxNesting+1))
	// fence matches the line above or below a block of code, also in a list.
	fence = regexp.MustCompile("^(?:[ \\t>]|[-*+] |\\d{1,9}[.)] )*(```+|~~~+)([^`]*)$")
	// strong matches text that is to be bold.
	strong = regexp.MustCompile(`\*+[^*\n]+\*+`)
)

// blockEnd returns where the first block of s ends, or -1 if it may go on. An
// entry of a list that follows a blank line is a block.
func blockEnd(s string) int {
	at, open := 0, ""
	begun, blank := false, false
	for line := range strings.Lines(s) {
		switch {
		case strings.TrimSpace(line) == "":
			blank = begun
		case blank && open == "" && line[0] != ' ' && line[0] != '\t':
			return at
		default:
			begun, blank = true, false
		}
		if m := fence.FindStringSubmatch(strings.TrimRight(line, " \t\r\n")); m != nil {
			switch {
			case open == "":
				open = m[1]
			case m[2] == "" && strings.HasPrefix(m[1], open):
				open = ""
			}
		}
		at += len(line)
	}
	return -1
}

// renderer lays out Markdown for a terminal, and collects the pages that it
// links to.
type renderer struct {
	sources sources

	width  int
	out    strings.Builder
	raw    []string // the lines of the block
	prefix string   // what rows begin with
	first  *string  // what the next one begins with instead
	spans  []span   // the text that is being collected
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

// glue is a white space that does not occur in texts.
const glue = "\u1680"

// parse parses a block. It returns nil if the block is to be shown as it is.
func parse(block string) (doc *markdown.Document) {
	wide := func(line string) bool { return strings.Count(line, "|") > maxColumns }
	if len(block) > maxBlock || nested.MatchString(block) || slices.ContainsFunc(strings.Split(block, "\n"), wide) {
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
	block = strong.ReplaceAllStringFunc(block, func(s string) string {
		if strings.Trim(s, "*") != s[2:max(len(s)-2, 2)] {
			return s
		}
		return glue + s + glue
	})
	parser := markdown.Parser{Table: true, Strikethrough: true}
	doc = parser.Parse(block)
	if len(doc.Links) > 0 || depth(doc.Blocks) > maxNesting { // definitions of links are no part of the document
		return nil
	}
	return doc
}

// children returns the blocks in a block.
func children(b markdown.Block) []markdown.Block {
	switch b := b.(type) {
	case *markdown.Quote:
		return b.Blocks
	case *markdown.List:
		return b.Items
	case *markdown.Item:
		return b.Blocks
	}
	return nil
}

// depth returns how deep blocks are nested.
func depth(blocks []markdown.Block) int {
	n := 0
	for _, b := range blocks {
		n = max(n, depth(children(b)))
	}
	return n + 1
}

// blocks shows blocks, with an empty row where the source has one.
func (r *renderer) blocks(list []markdown.Block) {
	end := 0
	for _, b := range list {
		if end > 0 && b.Pos().StartLine > end+1 {
			r.row(nil)
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
		r.wrap(r.inline(b.Text.Inline, 0))
	case *markdown.Text:
		r.wrap(r.inline(b.Inline, 0))
	case *markdown.CodeBlock:
		if strings.ContainsAny(b.Info, " \t") { // more than a language
			r.row([]span{{text: b.Info, style: code}})
		}
		for _, line := range b.Text {
			r.row([]span{{text: line, style: code}})
		}
	case *markdown.HTMLBlock:
		r.lines(b.Text)
	case *markdown.ThematicBreak:
		r.row([]span{{text: strings.Repeat("─", max(r.room(), 1)), style: dim}})
	case *markdown.Table:
		r.table(b)
	case *markdown.Quote:
		r.nest("│ ", "│ ", b.Blocks)
	case *markdown.List:
		r.list(b)
	}
}

// lines shows lines as they are.
func (r *renderer) lines(lines []string) {
	for _, line := range lines {
		r.wrap([]span{{text: clean(line)}})
	}
}

func (r *renderer) list(b *markdown.List) {
	end := 0
	for i, item := range b.Items {
		marker := "• "
		if b.Ordered() {
			marker = fmt.Sprintf("%d%c ", b.Start+i, b.Bullet)
		}
		if end > 0 && item.Pos().StartLine > end+1 {
			r.row(nil)
		}
		r.nest(marker, strings.Repeat(" ", cells.StringWidth(marker)), children(item))
		end = item.Pos().EndLine
	}
}

// nest shows blocks behind first in their first row and rest in the others.
// Where half of the terminal is taken, there is no more indentation.
func (r *renderer) nest(first, rest string, blocks []markdown.Block) {
	outer := r.prefix
	r.mark(first)
	if cells.StringWidth(r.prefix+rest) <= r.width/2 {
		r.prefix += rest
	}
	r.blocks(blocks)
	if r.first != nil { // there was nothing to show
		r.row(nil)
	}
	r.prefix = outer
}

// table shows a table in columns. If it is too wide, each cell becomes a
// paragraph behind the header of its column.
func (r *renderer) table(t *markdown.Table) {
	source := r.raw[t.StartLine-1 : t.EndLine]
	if len(t.Rows) == 0 || slices.ContainsFunc(source, func(line string) bool { return columnsOf(line) > len(t.Header) }) {
		r.lines(source) // the parser drops cells without a header
		return
	}
	header := r.cells(t.Header, bold)
	rows := [][][]span{}
	widths := make([]int, len(header))
	for _, row := range t.Rows {
		rows = append(rows, r.cells(row, 0))
	}
	total := -len(gap)
	for i := range widths {
		for _, row := range append(rows, header) {
			widths[i] = max(widths[i], spansWidth(row[i]))
		}
		total += widths[i] + len(gap)
	}
	if total > r.room() {
		r.records(header, rows)
		return
	}
	var rule [][]span
	for _, w := range widths {
		rule = append(rule, []span{{text: strings.Repeat("─", w), style: dim}})
	}
	r.row(aligned(header, widths, t.Align))
	r.row(aligned(rule, widths, t.Align))
	for _, row := range rows {
		r.row(aligned(row, widths, t.Align))
	}
}

// gap is between two columns of a table.
const gap = "  "

// columnsOf returns how many cells a row of a table has.
func columnsOf(line string) int {
	line = strings.TrimSpace(strings.ReplaceAll(line, `\|`, ""))
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimLeft(line, "> "), "|"), "|")
	return strings.Count(line, "|") + 1
}

// cells returns a row of a table. A line break in a cell is a space.
func (r *renderer) cells(row []*markdown.Text, st style) [][]span {
	var out [][]span
	for _, cell := range row {
		spans := r.inline(cell.Inline, st)
		for i := range spans {
			spans[i].text = strings.ReplaceAll(spans[i].text, "\n", " ")
		}
		out = append(out, spans)
	}
	return out
}

// aligned returns a row of a table with its cells filled up to the widths.
func aligned(row [][]span, widths []int, align []string) []span {
	var spans []span
	for i, cell := range row {
		left, right := 0, widths[i]-spansWidth(cell)
		switch align[i] {
		case "right":
			left, right = right, 0
		case "center":
			left, right = right/2, right-right/2
		}
		if i > 0 {
			left += len(gap)
		}
		spans = append(spans, span{text: strings.Repeat(" ", left)})
		spans = append(spans, cell...)
		if i < len(row)-1 {
			spans = append(spans, span{text: strings.Repeat(" ", right)})
		}
	}
	return spans
}

// records shows the rows of a table as paragraphs.
func (r *renderer) records(header [][]span, rows [][][]span) {
	outer := r.prefix
	for i, row := range rows {
		if i > 0 {
			r.row(nil)
		}
		for j, cell := range row {
			r.mark("")
			r.prefix = outer + gap
			label := header[j]
			if spansWidth(label) > 0 {
				label = append(slices.Clip(label), span{text: ": "})
			}
			r.wrap(slices.Concat(label, cell))
			r.prefix = outer
		}
	}
}

// inline returns the text of a block. Each line break is a span of its own.
func (r *renderer) inline(list markdown.Inlines, st style) []span {
	r.spans = nil
	r.collect(list, st, "")
	return r.spans
}

func (r *renderer) collect(list markdown.Inlines, st style, url string) {
	for _, x := range list {
		switch x := x.(type) {
		case *markdown.Plain:
			r.plain(x.Text, st, url)
		case *markdown.Escaped:
			r.add(span{text: x.Text, style: st, url: url})
		case *markdown.Code:
			r.add(span{text: x.Text, style: st | code, url: url, whole: true})
		case *markdown.Strong:
			r.collect(x.Inner, st|bold, url)
		case *markdown.Emph:
			r.collect(x.Inner, st|italic, url)
		case *markdown.Del:
			r.collect(x.Inner, st|struck, url)
		case *markdown.Link:
			r.link(x.Inner, x.URL, st)
		case *markdown.Image:
			r.link(x.Inner, x.URL, st)
		case *markdown.AutoLink:
			r.page(x.Text, st)
		case *markdown.HTMLTag:
			if lineBreak.MatchString(x.Text) {
				r.add(span{text: "\n"})
			} else {
				r.add(span{text: x.Text, style: st, url: url})
			}
		case *markdown.SoftBreak, *markdown.HardBreak: // models break lines where they mean it
			r.add(span{text: "\n"})
		}
	}
}

// lineBreak matches the HTML of a line break.
var lineBreak = regexp.MustCompile(`(?i)^<br\s*/?>$`)

// add collects a span.
func (r *renderer) add(s span) {
	s.text = clean(s.text)
	r.spans = append(r.spans, s)
}

// plain collects text with its URLs. url is that of the link around it.
func (r *renderer) plain(s string, st style, url string) {
	begin := 0
	if url == "" {
		for _, at := range answer.Links(s) {
			r.add(span{text: s[begin:at[0]], style: st})
			r.page(s[at[0]:at[1]], st)
			begin = at[1]
		}
	}
	r.add(span{text: s[begin:], style: st, url: url})
}

// page collects a URL.
func (r *renderer) page(u string, st style) {
	page := answer.PageURL(u)
	if page == "" {
		r.add(span{text: u, style: st})
		return
	}
	r.add(span{text: u, style: st | linked, url: page, whole: true})
	r.number(page)
}

// link collects a link. One that leads to no page is shown as it is.
func (r *renderer) link(inner markdown.Inlines, u string, st style) {
	page := answer.PageURL(u)
	switch {
	case page == "":
		r.add(span{text: "[", style: st})
		r.collect(inner, st, "")
		r.add(span{text: "](" + u + ")", style: st})
	case len(inner) == 0:
		r.page(u, st)
	default:
		r.collect(inner, st|linked, page)
		r.number(page)
	}
}

// number collects the number of a page in the list of sources.
func (r *renderer) number(u string) {
	r.add(span{text: fmt.Sprintf("[%d]", r.sources.add(source{url: u})), style: dim, url: u})
}
