package doctor

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"unicode"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Failed counts the checks that failed.
func Failed(checks []Check) int {
	n := 0
	for _, c := range checks {
		if c.Verdict == Fail {
			n++
		}
	}
	return n
}

// Print writes a line a check, what belongs to it indented below:
//
//	fail  model answer     gpt-9: model not found (404)
//	      -> set another model in model_profiles.answer.model (config.yaml:3)
//
// It fails when out does.
func Print(out io.Writer, checks []Check) error {
	wide := 0
	for _, c := range checks {
		wide = max(wide, len(c.Name))
	}
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", c.Verdict, wide, c.Name, line(c.Text))
		for _, d := range c.Details {
			fmt.Fprintf(&b, "      %s\n", line(d))
		}
		if c.Cure != "" {
			fmt.Fprintf(&b, "      -> %s\n", line(c.Cure))
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// PrintJSON writes one object: version, the worst verdict, and the checks. It
// fails when out does.
func PrintJSON(out io.Writer, checks []Check) error {
	verdict := OK
	for _, c := range checks {
		if c.Verdict == Fail || c.Verdict == Warn && verdict == OK {
			verdict = c.Verdict
		}
	}
	e := json.NewEncoder(out)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	return e.Encode(struct {
		Version string  `json:"version"`
		Verdict Verdict `json:"verdict"`
		Checks  []Check `json:"checks"`
	}{version.Version, verdict, checks})
}

// line keeps what others wrote, servers for example, from steering a terminal.
func line(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, s)
}
