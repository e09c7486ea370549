package doctor

import (
	"fmt"
	"io"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
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

// Print writes a line for each check, with details and cure indented below:
//
//	fail  model answer     gpt-9: model not found (404)
//	      -> set another model in model_profiles.answer.model (config.yaml:3)
//
// The error is that of out.
func Print(out io.Writer, checks []Check) error {
	width := 0
	for _, c := range checks {
		width = max(width, len(c.Name))
	}
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-4s  %-*s  %s\n", c.Verdict, width, c.Name, c.Text)
		for _, d := range c.Details {
			fmt.Fprintf(&b, "      %s\n", d)
		}
		if c.Cure != "" {
			fmt.Fprintf(&b, "      -> %s\n", c.Cure)
		}
	}
	_, err := io.WriteString(out, b.String())
	return err
}

// PrintJSON writes one object: the version, the worst verdict and the checks.
// The error is that of out.
func PrintJSON(out io.Writer, checks []Check) error {
	worst := OK
	for _, c := range checks {
		if c.Verdict == Fail || c.Verdict == Warn && worst == OK {
			worst = c.Verdict
		}
	}
	b, err := unescaped.Indented(struct {
		Version string  `json:"version"`
		Verdict Verdict `json:"verdict"`
		Checks  []Check `json:"checks"`
	}{version.Version, worst, checks}, "  ")
	if err != nil {
		return err
	}
	_, err = out.Write(append(b, '\n'))
	return err
}
