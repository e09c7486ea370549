package doctor

import (
	"fmt"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Clean applies clean to all text of the checks: servers and files may have
// written it.
func Clean(checks []Check, clean func(string) string) {
	for i := range checks {
		c := &checks[i]
		c.Text, c.Hint = clean(c.Text), clean(c.Hint)
		for j, d := range c.Details {
			c.Details[j] = clean(d)
		}
	}
}

// Count returns the number of checks with a verdict.
func Count(checks []Check, verdict string) (n int) {
	for _, c := range checks {
		if c.Verdict == verdict {
			n++
		}
	}
	return n
}

// Text returns a line for each check, with details and hint indented below:
//
//	fail  model answer     gpt-9: model not found
//	      -> model_profiles.answer.model is gpt-9 (config.yaml:3): name another model there
func Text(checks []Check) string {
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
		if c.Hint != "" {
			fmt.Fprintf(&b, "      -> %s\n", c.Hint)
		}
	}
	return b.String()
}

// JSON returns one object: the version, the worst verdict and the checks.
func JSON(checks []Check) string {
	worst := "ok"
	for _, v := range []string{"warn", "fail"} {
		if Count(checks, v) > 0 {
			worst = v
		}
	}
	b, _ := jsonx.MarshalIndent(struct { // strings cannot fail
		Version string  `json:"version"`
		Verdict string  `json:"verdict"`
		Checks  []Check `json:"checks"`
	}{version.Version, worst, checks}, "  ")
	return string(b) + "\n"
}
