// Package doctor has the checks of the command doctor.
//
//	doctor.go  which checks there are, and how they are printed
//	local.go   the checks without a request
//	probe.go   the checks that ask the API
package doctor

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Check is the result about one subject. With a warning the server works. The texts are single
// lines: servers and files may have written parts of them.
type Check struct {
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"` // ok, warn or fail
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"`
	Hint    string   `json:"hint,omitempty"` // what to do, unless the verdict is ok
}

func pass(name, s string) Check { return result("ok", name, s, "") }

func warn(name, problem, hint string) Check { return result("warn", name, problem, hint) }

func fail(name, problem, hint string) Check { return result("fail", name, problem, hint) }

func result(verdict, name, s, hint string) Check {
	return Check{
		Name:    name,
		Verdict: verdict,
		Text:    text.OneLine(s),
		Hint:    text.OneLine(hint),
	}
}

// Options are what the checks are about. With Err only Warnings and Session are used, too.
type Options struct {
	Config   *config.Config
	Warnings []string // of config.Load
	Err      error    // of config.Load
	LogErr   error    // why the debug file cannot be written
	Client   llm.Options
	Advisor  advice.Advisor
	Profiles map[string]answer.Profile // by tool
	Offline  bool
	Live     bool // ask a question
	Getenv   func(string) string
	// Session runs a server in this process, with lines or framed messages.
	Session func(ctx context.Context, lines bool) (tools int, err error)
}

// Run makes the checks. Without Live it takes at most half a minute.
func Run(ctx context.Context, o Options) []Check {
	platform := fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())
	checks := []Check{
		pass("version", version.Name+" "+version.String()),
		pass("platform", platform),
	}
	if o.Err != nil {
		checks = append(checks, configErrors(o.Err)...)
		checks = append(checks, configWarnings(o.Warnings)...)
		return append(checks, stdioCheck(ctx, o.Session))
	}

	p := newProbe(ctx, o)
	var live []Check
	if o.Live { // before the other verdicts, which depend on it
		live = append(live, p.live(ctx))
	}

	base := o.Advisor.BaseURL
	checks = append(checks, configCheck(o.Config))
	checks = append(checks, configWarnings(o.Warnings)...)
	checks = append(checks,
		policyCheck(o.Config),
		debugCheck(o.Config, o.LogErr),
		locationCheck(o.Config),
		datesCheck(o.Config, time.Now()),
		backgroundCheck(o.Profiles),
		baseURLCheck(base),
		proxyCheck(base.Value, o.Advisor.Proxy, http.ProxyFromEnvironment, o.Getenv),
		p.key(),
		p.http(),
	)
	for _, tool := range slices.Sorted(maps.Keys(o.Profiles)) {
		checks = append(checks, p.model(tool))
	}
	checks = append(checks, stdioCheck(ctx, o.Session))
	return append(checks, live...)
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
//	fail  model answer           gpt-9: model not found
//	      -> model_profiles.answer.model is gpt-9 (config.yaml:3): name another model there
func Text(checks []Check) string {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%-4s  %-21s  %s\n", c.Verdict, c.Name, c.Text)
		for _, detail := range c.Details {
			fmt.Fprintf(&b, "      %s\n", detail)
		}
		if c.Hint != "" {
			fmt.Fprintf(&b, "      -> %s\n", c.Hint)
		}
	}
	return b.String()
}

// JSON returns one object: the version, the worst verdict and the checks.
func JSON(checks []Check) string {
	report := struct {
		Version string  `json:"version"`
		Verdict string  `json:"verdict"`
		Checks  []Check `json:"checks"`
	}{
		Version: version.String(),
		Verdict: "ok",
		Checks:  checks,
	}
	for _, verdict := range []string{"warn", "fail"} {
		if Count(checks, verdict) > 0 {
			report.Verdict = verdict
		}
	}

	b, _ := jsonx.MarshalIndent(report, "  ") // strings cannot fail
	return string(b) + "\n"
}
