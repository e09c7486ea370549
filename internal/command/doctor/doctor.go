// Package doctor has the checks of the command doctor.
//
//	doctor.go  which checks there are, and how they are printed
//	local.go   the checks without a request
//	store.go   the checks of the store of the quotas
//	probe.go   the checks that ask the API
package doctor

import (
	"context"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// Check is the result of checking one subject. With the verdict warn the server works all the same.
// The texts are single lines, even if a server or a file has written a part of them.
type Check struct {
	Name    string   `json:"name"`
	Verdict string   `json:"verdict"` // ok, warn or fail
	Text    string   `json:"text"`
	Details []string `json:"details,omitempty"`
	Hint    string   `json:"hint,omitempty"` // what to do, unless the verdict is ok
}

func pass(s string) Check {
	return Check{Verdict: "ok", Text: s}
}

func warn(problem, hint string) Check {
	return Check{
		Verdict: "warn",
		Text:    problem,
		Hint:    hint,
	}
}

func fail(problem, hint string) Check {
	return Check{
		Verdict: "fail",
		Text:    problem,
		Hint:    hint,
	}
}

// checklist holds the results so far.
type checklist []Check

// add adds a result with the name of its subject, and returns it.
func (l *checklist) add(name string, c Check) Check {
	c.Name = name
	c.Text = text.OneLine(c.Text)
	c.Hint = text.OneLine(c.Hint)
	*l = append(*l, c)
	return c
}

// Options are the subjects of the checks. If Err is set, only Err and Warnings are used.
type Options struct {
	Service  *service.Service // nil if Err is set
	Warnings []string         // from config.Load
	Err      error            // from config.Load
	Live     bool             // also ask a question
}

// Run makes the checks. Without Live it takes at most half a minute.
func Run(ctx context.Context, o Options) []Check {
	var checks checklist
	checks.add("version", pass(version.Name+" "+version.String()))
	checks.add("platform", pass(runtime.GOOS+"/"+runtime.GOARCH+", "+runtime.Version()))
	checks.addConfig(o)
	if o.Err != nil {
		return checks
	}

	cfg := o.Service.Config
	checks.add("policy", policyCheck(cfg.Policy.System))
	checks.add("debug", debugCheck(cfg, o.Service.LogErr))
	checks.add("location", locationCheck(cfg))
	checks.add("dates", datesCheck(cfg.Location, time.Now()))
	checks.add("base url", baseURLCheck(o.Service.Advisor.BaseURL))
	checks.add("proxy", proxyCheck(o.Service, httpclient.Proxy))
	_, err := o.Service.TaskSecrets()
	checks.addStart("secrets of tasks", err)
	checks.addStart("limits", o.Service.CheckLimits())
	checks.addStore(ctx, o.Service)

	key := ""
	if !cfg.HasCredential {
		key = "none" // the API's refusal shows that the connection works
	}
	p := lookUpModels(ctx, o.Service, key)
	var last checklist
	if o.Live { // asked first, as the checks below depend on it, but listed last
		last.add("live", p.askLive(ctx))
	}
	keyCheck := checks.add("key", p.keyCheck())
	cause := checks.add("http", p.connectionCheck()) // why no model was looked up
	if keyCheck.Verdict == "fail" {
		cause = keyCheck
	}

	if len(p.models) > 0 || p.answeredModel != "" {
		for _, tool := range slices.Sorted(maps.Keys(o.Service.Profiles)) {
			checks.add("model "+tool, p.modelCheck(tool))
		}
	} else {
		checks.add("models", warn("no model was looked up: "+cause.Text, "see "+cause.Name))
	}
	return append(checks, last...)
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

// FormatText returns a line for each check, with its details and hint indented below. Failures come
// last:
//
//	fail  model answer           gpt-9: model not found
//	      -> model_profiles.answer.model is gpt-9 (config.yaml:3): name another model there
func FormatText(checks []Check) string {
	var b strings.Builder
	for _, verdict := range []string{"ok", "warn", "fail"} {
		for _, c := range checks {
			if c.Verdict != verdict {
				continue
			}

			fmt.Fprintf(&b, "%-4s  %-21s  %s\n",
				verdict,
				c.Name,
				c.Text)
			for _, detail := range c.Details {
				fmt.Fprintf(&b, "      %s\n", detail)
			}
			if c.Hint != "" {
				fmt.Fprintf(&b, "      -> %s\n", c.Hint)
			}
		}
	}
	return b.String()
}

// FormatJSON returns one object: the version, the worst verdict and the checks.
func FormatJSON(checks []Check) string {
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

	b, _ := jsonx.MarshalIndent(report, "  ") // no error: report consists of strings
	return string(b) + "\n"
}
