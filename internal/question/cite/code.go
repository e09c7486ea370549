package cite

import (
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// fence matches the line above or below a block of code, also in a list or a quotation.
var fence = text.Regexp("^(?:[ \\t>]|[-*+] |\\d{1,9}[.)] )*(?:(`{3,})[^`]*|(~{3,}).*)$")

const (
	itemStart  = "-*+0123456789"   // with what an item of a list may begin in Markdown
	blockStart = itemStart + ">#|" // with what a line may begin that does not continue a paragraph
	listStart  = itemStart + "•・"  // with what an item may begin that models write
)

// code is where a text has code, as Markdown marks it: blocks with fences, indented blocks and
// spans. The parts are in order and do not overlap.
type code []part

// part is a part of a text, in bytes from its start.
type part struct{ start, end int }

// at returns the end of the code that has the byte at i, or -1.
func (c code) at(i int) int {
	k, _ := slices.BinarySearchFunc(c, i, func(p part, i int) int { return p.end - 1 - i })
	if k < len(c) && c[k].start <= i {
		return c[k].end
	}
	return -1
}

// cut returns the text without its code.
func (c code) cut(s string) string {
	var b strings.Builder
	start := 0
	for _, p := range c {
		b.WriteString(s[start:p.start])
		start = p.end
	}
	return b.String() + s[start:]
}

// codeIn returns the code of a text. A block whose end is missing ends with the text.
func codeIn(s string) (found code) {
	offset := 0
	paragraph := 0 // where the paragraph begins
	open := ""     // the fence of a block that has not ended
	list := false  // indented lines belong to a list
	blank := false // the line above is blank
	block := false // the line above is in an indented block

	endParagraph := func() {
		found = append(found, spansIn(s, paragraph, offset)...)
		paragraph = offset
	}
	for line := range strings.Lines(s) {
		end := offset + len(line)
		words := strings.TrimSpace(line)
		edge := fenceOf(line)
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")

		isCode := true
		switch {
		case open != "":
			closes := strings.HasPrefix(edge, open) && strings.HasSuffix(words, edge)
			if closes {
				open = ""
			}
		case edge != "":
			open = edge
		case indented && words != "" && !list && (blank || block):
			block = true
		default:
			isCode = false
			block = block && words == ""
		}

		if isCode || words == "" || strings.IndexByte(blockStart, words[0]) >= 0 {
			endParagraph()
		}
		if isCode {
			found = append(found, part{offset, end})
			paragraph = end
		}
		if words != "" && !indented {
			first, _ := utf8.DecodeRuneInString(words)
			list = strings.ContainsRune(listStart, first) || list && !blank
		}
		blank = words == ""
		offset = end
	}
	endParagraph()
	return found
}

// fenceOf returns the marks of a fence, or "" for another line.
func fenceOf(line string) string {
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return ""
	}
	m := fence().FindStringSubmatch(strings.TrimRight(line, "\r\n"))
	if m == nil {
		return ""
	}
	return m[1] + m[2]
}

// spansIn returns the spans of code in a paragraph: two equal runs of backticks and what is between
// them.
func spansIn(s string, start, end int) (found []part) {
	var runs []part
	for i := start; i < end; i++ {
		run := part{i, i}
		for i < end && s[i] == '`' {
			i++
		}
		run.end = i
		if run.end > run.start {
			runs = append(runs, run)
		}
	}

	next := make([]int, len(runs)) // of the same length
	last := map[int]int{}          // by length
	for k, run := range slices.Backward(runs) {
		size := run.end - run.start
		next[k] = last[size]
		last[size] = k
	}
	for k := 0; k < len(runs); k++ {
		escaped := runs[k].start > start && s[runs[k].start-1] == '\\'
		if next[k] > 0 && !escaped {
			found = append(found, part{runs[k].start, runs[next[k]].end})
			k = next[k]
		}
	}
	return found
}
