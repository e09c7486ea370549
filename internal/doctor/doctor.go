// Package doctor has the checks of the command doctor.
//
//	doctor.go  what a check is, how checks are printed, and those without a request
//	probe.go   checks of key, connection and models, which ask the API
package doctor

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
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

func ok(name, s string) Check { return Check{Name: name, Verdict: "ok", Text: text.OneLine(s)} }

func warn(name, problem, hint string) Check {
	return Check{Name: name, Verdict: "warn", Text: text.OneLine(problem), Hint: text.OneLine(hint)}
}

func fail(name, problem, hint string) Check {
	return Check{Name: name, Verdict: "fail", Text: text.OneLine(problem), Hint: text.OneLine(hint)}
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
	// Session runs a session with a server in this process, with lines or framed messages, and
	// returns the number of its tools.
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
	p := newProbe(ctx, o)
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

// configChecks report the file, where values come from, and each warning. The values may be private.
func configChecks(o Options) (checks []Check) {
	if o.Err != nil {
		for problem := range strings.Lines(o.Err.Error()) {
			checks = append(checks, fail("config", problem, ""))
		}
		checks[len(checks)-1].Hint = "correct it (config/config.yaml.example has every key) and run doctor again: the rest was not checked"
	} else {
		c := ok("config", "read "+o.Config.File)
		if o.Config.File == "" {
			c.Text = "no file, looked for " + strings.Join(o.Config.DefaultFiles, ", ")
		}
		for _, key := range o.Config.Keys {
			if from := o.Config.Origin(key); from != "default" {
				c.Details = append(c.Details, text.OneLine(key+" from "+from))
			}
		}
		checks = append(checks, c)
	}
	for _, w := range o.Warnings {
		checks = append(checks, warn("config", w, "correct it or remove it; a variable that it names must be set where the client starts the server"))
	}
	return checks
}

func policyCheck(cfg *config.Config) Check {
	sys := cfg.Policy.System
	_, problem := policy.Load(sys.Source, sys.Path, sys.Merge, config.ReadFile)
	switch {
	case problem != "":
		return fail("policy", problem, "correct policy.system.path ("+cfg.Origin("policy.system.path")+"): a readable file of UTF-8 text")
	case sys.Source == policy.SourceFile:
		return ok("policy", fmt.Sprintf("%s (%s)", sys.Path, sys.Merge))
	}
	return ok("policy", "built in, "+policy.Revision)
}

func debugCheck(cfg *config.Config, err error) Check {
	switch {
	case err != nil:
		return fail("debug", err.Error(), "correct server.debug_file ("+cfg.Origin("server.debug_file")+"): a file that can be written")
	case cfg.Server.Debug:
		return ok("debug", strings.TrimSuffix("on, to stderr and "+cfg.Server.DebugFile, " and "))
	}
	return ok("debug", "off")
}

// locationCheck says from where the API searches, which decides the results.
func locationCheck(cfg *config.Config) Check {
	at := cfg.Search.UserLocation
	parts := slices.DeleteFunc([]string{at.City, at.Region, at.Country, at.Timezone}, func(s string) bool { return s == "" })
	switch {
	case cfg.Origin("search.user_location") == "":
		return ok("location", "search.user_location is not set: the API searches as if from the United States")
	case len(parts) == 0:
		return ok("location", "search.user_location is empty: the API searches from no place")
	}
	return ok("location", "the API searches as if from "+strings.Join(parts, ", "))
}

// datesCheck says which day is today, which depends on the time zone.
func datesCheck(cfg *config.Config, now time.Time) Check {
	return ok("dates", fmt.Sprintf("today is %s in %v, set by policy.timezone (%s)",
		now.In(cfg.Location).Format(time.DateOnly), cfg.Location, cfg.Origin("policy.timezone")))
}

// baseURLCheck checks the address of the API, not the server there. from is where it is set.
func baseURLCheck(base, from string) Check {
	if problem := ClearText(base); problem != "" {
		return warn("base url", problem, "use https, or a server on this machine")
	}
	return ok("base url", base+" ("+from+")")
}

// ClearText returns a warning when requests to base carry the API key unencrypted to another host,
// and "" otherwise.
func ClearText(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || loopback(u.Hostname()) {
		return ""
	}
	return fmt.Sprintf("openai.base_url is plain http to %s: the API key is sent unencrypted", u.Hostname())
}

// loopback reports whether a host name is this machine (RFC 6761 for localhost).
func loopback(host string) bool {
	host = strings.ToLower(host)
	return host == "localhost" || strings.HasSuffix(host, ".localhost") || net.ParseIP(host).IsLoopback()
}

// proxyCheck says which proxy requests to base go through, or why none. rule is that of the HTTP
// client, variable the one that names the proxy for base.
func proxyCheck(base, variable string, rule func(*http.Request) (*url.URL, error), getenv func(string) string) Check {
	u, _ := url.Parse(base) // the configuration has checked it
	proxy, _ := rule(&http.Request{URL: u})
	switch {
	case proxy != nil: // User has a password
		return ok("proxy", fmt.Sprintf("%s://%s (%s)", proxy.Scheme, proxy.Host, variable))
	case getenv(variable) == "":
		return ok("proxy", "none")
	case loopback(u.Hostname()):
		return ok("proxy", "none, as the API is on this machine")
	case getenv("NO_PROXY") != "", getenv("no_proxy") != "":
		return ok("proxy", "none, because of NO_PROXY")
	}
	// net/http uses no proxy then, without an error.
	return warn("proxy", variable+" is set but not used: it is not the URL of a proxy", "set it to http://HOST:PORT, or http://USER:PASSWORD@HOST:PORT")
}

// stdioCheck runs a session with the server in both framings.
func stdioCheck(ctx context.Context, session func(context.Context, bool) (int, error)) Check {
	n := 0
	for _, lines := range []bool{false, true} {
		tools, err := session(ctx, lines)
		if err != nil {
			return fail("stdio", fmt.Sprintf("initialize and tools/list with --ldjson=%t: %v", lines, err),
				"run smoke, with and without --ldjson, and report what it prints")
		}
		n = tools
	}
	return ok("stdio", fmt.Sprintf("initialize and tools/list answer with %d tools, in both framings", n))
}
