package terminal

import (
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

var (
	// reportLabel matches the label of a line of a report: its indentation, or a verdict and a name
	// with at least two blanks after each.
	reportLabel = text.LazyRegexp(`^(?: +(?:-> )?|\S.*?  +\S.*?  +)`)
	column      = text.LazyRegexp(`  +`) // the blanks between a name and the text
	verdict     = text.LazyRegexp(`(?m)^(ok|warn|fail)\b`)
	colors      = map[string]string{
		"ok":   green,
		"warn": yellow,
		"fail": red,
	}
)

// Report returns the lines of doctor as rows that fit the terminal. In a narrow terminal they have
// no column of names. If the Screen shows no text, the lines stay as they are.
func (s *Screen) Report(lines string) string {
	if !s.ShowsText() {
		return lines
	}

	r := renderer{width: s.width()}
	for line := range strings.Lines(lines) {
		label := reportLabel().FindString(line)
		words := line[len(label):]
		if len(label) > r.width/2 {
			label = line[:len("fail  ")]
			words = column().ReplaceAllString(line[len(label):], ": ")
		}
		r.hang(label, func() {
			r.paragraph(styledText("", words))
		})
	}
	rows := verdict().ReplaceAllStringFunc(r.out.String(), func(word string) string {
		return styledText(colors[word], word).paint()
	})
	return s.stripIfMono(rows)
}

// Wrap returns lines as rows that fit w, if w is a terminal. Indented lines stay as they are: they
// are for copying. If w is no terminal, all lines stay as they are.
func Wrap(w io.Writer, lines string) string {
	columns := Columns(w)
	if columns == 0 {
		return lines
	}

	r := renderer{width: columns}
	for line := range strings.Lines(lines) {
		words, item := strings.CutPrefix(line, "- ")
		switch {
		case item:
			r.hang("- ", func() { r.paragraph(styledText("", words)) })
		case line == "\n" || strings.HasPrefix(line, " "):
			r.out.WriteString(line)
		default:
			r.paragraph(styledText("", line))
		}
	}
	return r.out.String()
}
