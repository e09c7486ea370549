package terminal

import (
	"regexp"
	"strings"
)

// label matches the beginning of a line of a report: its indentation, or a verdict and a name with
// two blanks or more after each.
var label = regexp.MustCompile(`^(?: +(?:-> )?|\S.*?  +\S.*?  +)`)

// verdicts are the styles of verdicts.
var verdicts = map[string]string{"ok": green, "warn": yellow, "fail": red}

// Report shows the lines of a report. The rows of a line are indented as its text, or in a narrow
// terminal as the name.
func (s *Screen) Report(lines string) {
	r := &s.layout
	r.width = s.width()
	r.within(lines, func() {
		for line := range strings.Lines(lines) {
			begin := label.FindString(line)
			r.reportLine(begin, line[len(begin):])
		}
	})
	s.write(r.out.String())
}

// reportLine shows a line of a report: what label matches, and the rest.
func (r *renderer) reportLine(begin, rest string) {
	verdict, name, _ := strings.Cut(begin, "  ")
	if verdict == "" {
		r.nest(begin, strings.Repeat(" ", len(begin)), func() {
			r.paragraph(in("", rest))
		})
		return
	}

	// The columns are not broken: a text that does not fit beside them is below them.
	row := in(verdicts[verdict], verdict)
	row.add(strings.ReplaceAll("  "+strings.TrimSuffix(name, " "), " ", noBreak)+" "+rest, style{})
	const toName = "      "
	r.nest("", toName, func() {
		r.nest("", strings.Repeat(" ", len(begin)-len(toName)), func() {
			r.paragraph(row)
		})
	})
}
