// Package doctor has the checks of the command doctor.
//
//	doctor.go  what a check is, and all checks in order
//	checks.go  checks without a request: configuration, address, proxy, protocol
//	probe.go   checks of key, connection and models, which ask the API
//	report.go  checks as text and as JSON
package doctor

import (
	"context"
	"fmt"
	"net/http"
	"runtime"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
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

func ok(name, text string) Check            { return Check{Name: name, Verdict: "ok", Text: text} }
func warn(name, problem, hint string) Check { return Check{name, "warn", problem, nil, hint} }
func fail(name, problem, hint string) Check { return Check{name, "fail", problem, nil, hint} }

// Options are what the checks are about. Without Config only Err, Warnings and
// Session are used.
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
		ok("version", version.Name+" "+version.Version),
		ok("platform", fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())),
	}
	checks = append(checks, configChecks(o)...)
	if o.Config == nil {
		return append(checks, stdioCheck(ctx, o.Session))
	}
	p := newProbe(o)
	p.lookUp(ctx)
	var question []Check
	if o.Live { // before the verdicts, which depend on it
		question = append(question, p.live(ctx))
	}
	base := o.Advisor.BaseURL
	checks = append(checks, policyCheck(o.Config), debugCheck(o.Config, o.LogErr), locationCheck(o.Config),
		baseURLCheck(base.Value, base.From), proxyCheck(base.Value, o.Advisor.Proxy, http.ProxyFromEnvironment, o.Getenv),
		p.key(), p.http())
	for _, tool := range tools {
		checks = append(checks, p.model(tool))
	}
	checks = append(checks, stdioCheck(ctx, o.Session))
	return append(checks, question...)
}
