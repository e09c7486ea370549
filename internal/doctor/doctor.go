// Package doctor has the checks of the command doctor.
//
//	doctor.go  what a check is, all checks in order, and how they are printed
//	checks.go  checks without a request: configuration, address, proxy, protocol
//	probe.go   checks of key, connection and models, which ask the API
package doctor

import (
	"context"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Check is the result about one subject. With a warning the server works.
type Check struct {
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"` // ok, warn or fail
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"`
	Hint    string   `json:"hint,omitempty"` // what to do, unless the verdict is ok
}

func ok(name, text string) Check { return newCheck("ok", name, text, "") }

func warn(name, problem, hint string) Check { return newCheck("warn", name, problem, hint) }

func fail(name, problem, hint string) Check { return newCheck("fail", name, problem, hint) }

// newCheck makes single lines of the texts, which servers and files may have
// written.
func newCheck(verdict, name, s, hint string) Check {
	return Check{Name: name, Verdict: verdict, Text: text.OneLine(s), Hint: text.OneLine(hint)}
}

// Options are what the checks are about. With Err only Warnings and Session are used, too.
type Options struct {
	Config   *config.Config
	Warnings []string // of config.Load
	Err      error    // of config.Load
	LogErr   error    // why the debug file cannot be written
	Client   llm.Options
	Advisor  answer.Advisor
	Profiles map[string]answer.Profile // by tool
	Offline  bool
	Live     bool // ask a question
	Getenv   func(string) string
	// Session runs a session with a server in this process, with lines or framed
	// messages, and returns the number of its tools.
	Session func(ctx context.Context, lines bool) (tools int, err error)
}

// tools are the names of the tools and of their profiles.
var tools = []string{"answer", "answer_detailed", "answer_quick"}

// Run makes the checks. Without Live it takes at most half a minute.
func Run(ctx context.Context, o Options) []Check {
	checks := []Check{
		ok("version", version.Name+" "+version.String()),
		ok("platform", fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())),
	}
	checks = append(checks, configChecks(o)...)
	if o.Err != nil {
		return append(checks, stdioCheck(ctx, o.Session))
	}
	p := newProbe(o)
	p.lookUp(ctx)
	var question []Check
	if o.Live { // before the verdicts, which depend on it
		question = append(question, p.live(ctx))
	}
	base := o.Advisor.BaseURL
	checks = append(checks, policyCheck(o.Config), debugCheck(o.Config, o.LogErr), locationCheck(o.Config), datesCheck(o.Config, time.Now()),
		baseURLCheck(base.Value, base.From), proxyCheck(base.Value, o.Advisor.Proxy, http.ProxyFromEnvironment, o.Getenv),
		p.key(), p.http())
	for _, tool := range tools {
		checks = append(checks, p.model(tool))
	}
	checks = append(checks, stdioCheck(ctx, o.Session))
	return append(checks, question...)
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
	}{version.String(), "ok", checks}
	for _, verdict := range []string{"warn", "fail"} {
		if Count(checks, verdict) > 0 {
			report.Verdict = verdict
		}
	}
	b, _ := jsonx.MarshalIndent(report, "  ") // strings cannot fail
	return string(b) + "\n"
}
