package cite

import (
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// fence matches the line above or below a block of code, which may be in a list or a quotation.
var fence = text.LazyRegexp("^(?:[ \\t>]|(?:[-*+]|\\d{1,9}[.)])[ \\t])*(?:(`{3,})[^`]*|(~{3,}).*)$")

const (
	itemStart    = "-*+0123456789"   // characters that may begin an item of a list in Markdown
	blockStart   = itemStart + ">#|" // characters that begin a line which ends the paragraph above it
	anyItemStart = itemStart + "•・"  // characters with which models begin items of lists
)

// code lists the parts of a text that are code in Markdown: fenced blocks, indented blocks and code
// spans. The parts are in order and do not overlap.
type code []part

// part is a part of a text: the indexes of its first byte and of the byte after its last one.
type part struct{ start, end int }

// endAt returns the end of the code that contains the byte at i, or -1 if the byte is not in code.
func (c code) endAt(i int) int {
	k, _ := slices.BinarySearchFunc(c, i, func(p part, i int) int { return p.end - 1 - i })
	if k < len(c) && c[k].start <= i {
		return c[k].end
	}
	return -1
}

// removeFrom returns the text s without its code, the parts of c.
func (c code) removeFrom(s string) string {
	var b strings.Builder
	start := 0
	for _, p := range c {
		b.WriteString(s[start:p.start])
		start = p.end
	}
	return b.String() + s[start:]
}

// codeIn returns the code in a text. A fenced block that is not closed ends with the text.
func codeIn(s string) (found code) {
	offset := 0
	paragraph := 0           // start of the current paragraph
	open := ""               // fence of the current block; "": none
	inList := false          // an indented line belongs to a list
	afterBlank := false      // the line above is blank
	inIndentedBlock := false // the line above is in an indented block

	endParagraph := func() {
		found = append(found, spansIn(s, paragraph, offset)...)
		paragraph = offset
	}
	for line := range strings.Lines(s) {
		end := offset + len(line)
		words := strings.TrimSpace(line)
		openAbove := open
		open = NextFence(open, line)
		indented := strings.HasPrefix(line, "    ") || strings.HasPrefix(line, "\t")

		isCode := true
		switch {
		case openAbove != "" || open != "":
		case indented && words != "" && !inList && (afterBlank || inIndentedBlock):
			inIndentedBlock = true
		default:
			isCode = false
			inIndentedBlock = inIndentedBlock && words == ""
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
			inList = strings.ContainsRune(anyItemStart, first) || inList && !afterBlank
		}
		afterBlank = words == ""
		offset = end
	}
	endParagraph()
	return found
}

// notQuote matches the markers of a list before a fence. The line that closes the block of code has
// spaces in their place.
var notQuote = text.LazyRegexp(`[^>\s]`)

// listItem matches the start of an item of a list in Markdown.
var listItem = text.LazyRegexp(`^\s*(?:[-*+]|\d{1,9}[.)])\s`)

// FenceEnd returns the line that closes the block of code at the end of a text, in the list or
// quotation of the block, after a line break. It is "" if the text does not end in a block. If the
// last line is not indented and has no ">", it has ended a list or quotation and the block in it.
// It has not ended a block that is only indented.
func FenceEnd(s string) string {
	open, before := "", "" // fence of the current block, and what is before it in its line
	last := ""             // the line before
	inList := false        // the block may be in a list
	for line := range strings.Lines(s) {
		next := NextFence(open, line)
		if open == "" && strings.TrimSpace(line) != "" {
			before, _, _ = strings.Cut(line, next) // "" if the line opens no block
			staysInList := indentation(line) > 0 || strings.TrimSpace(last) != ""
			inList = inList && staysInList || listItem().MatchString(line)
		}
		open = next
		last = line
	}
	isNested := before != "" && (inList || strings.Contains(before, ">"))
	hasEnded := isNested && strings.TrimLeft(last, " \t>") == last
	if open == "" || hasEnded {
		return ""
	}
	return "\n" + notQuote().ReplaceAllString(before, " ") + open
}

// NextFence returns the fence of the block of code that is open below a line, or "" if none is.
// open is the fence of the block that is open above the line.
func NextFence(open, line string) string {
	if !strings.Contains(line, "```") && !strings.Contains(line, "~~~") {
		return open
	}
	line = strings.TrimRight(line, " \t\r\n")
	m := fence().FindStringSubmatch(line)
	if m == nil {
		return open
	}

	marks := m[1] + m[2]
	closes := strings.HasPrefix(marks, open) && strings.HasSuffix(line, marks)
	switch {
	case open == "":
		return marks
	case closes:
		return ""
	}
	return open
}

// backticks returns the runs of backticks in s[start:end]. Lists of them would take far more memory
// than the text.
func backticks(s string, start, end int) iter.Seq[part] {
	return func(yield func(part) bool) {
		for i := start; i < end; i++ {
			run := part{i, i}
			for run.end < end && s[run.end] == '`' {
				run.end++
			}
			if run.end > i && !yield(run) {
				return
			}
			i = run.end
		}
	}
}

// spansIn returns the code spans in the paragraph s[start:end]: two runs of equally many backticks,
// and what is between them.
func spansIn(s string, start, end int) (found []part) {
	following := map[int]int{} // runs after the current one, by length
	for run := range backticks(s, start, end) {
		following[run.end-run.start]++
	}

	open := 0 // length of the run that begins the current span; 0: none
	from := 0
	for run := range backticks(s, start, end) {
		size := run.end - run.start
		following[size]--
		escaped := run.start > start && s[run.start-1] == '\\'
		switch {
		case size == open:
			found = append(found, part{from, run.end})
			open = 0
		case open == 0 && following[size] > 0 && !escaped:
			open = size
			from = run.start
		}
	}
	return found
}
