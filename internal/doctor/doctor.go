// Package doctor has the checks of the command doctor: how they are printed, those without a
// request, and those that ask the API (probe).
package doctor

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/http"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
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
	checks = append(checks, policyCheck(o.Config), debugCheck(o.Config, o.LogErr), locationCheck(o.Config), datesCheck(o.Config, time.Now()),
		baseURLCheck(o.Advisor.BaseURL), proxyCheck(o.Advisor.BaseURL.Value, o.Advisor.Proxy, http.ProxyFromEnvironment, o.Getenv),
		p.key(), p.http())
	for _, tool := range slices.Sorted(maps.Keys(o.Profiles)) {
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

// baseURLCheck checks the address of the API, not the server there.
func baseURLCheck(base advice.Setting) Check {
	if problem := ClearText(base.Value); problem != "" {
		return warn("base url", problem, "use https, or a server on this machine")
	}
	return ok("base url", base.Value+" ("+base.From+")")
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

// lookupLimit bounds the requests for the models.
const lookupLimit = 15 * time.Second

// probe judges what the API says.
type probe struct {
	Options
	client   *llm.Client
	models   map[string]json.RawMessage // what the API says about a model, by id; nil: it has none of that id
	took     time.Duration              // of the first lookup
	fault    *llm.Error                 // that ended the lookups, or nil
	answered string                     // the model that answered the question of live, or ""
}

// newProbe asks the API for each model once, until a request fails for a reason other than its
// model.
func newProbe(ctx context.Context, o Options) *probe {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	if !o.Config.KeySet {
		o.Client.APIKey = "none" // the API's refusal shows that the connection works
	}
	p := &probe{Options: o, client: llm.New(o.Client), models: map[string]json.RawMessage{}}
	begin := time.Now()
	for _, tool := range slices.Sorted(maps.Keys(o.Profiles)) {
		id := o.Profiles[tool].Model
		if _, done := p.models[id]; done {
			continue
		}
		body, err := p.client.Model(ctx, id)
		p.took = cmp.Or(p.took, time.Since(begin))
		e, failed := errors.AsType[*llm.Error](err)
		// OpenRouter has the model in data. LM Studio answers unknown paths with 200.
		if !failed && !gjson.GetBytes(body, "id").Exists() && !gjson.GetBytes(body, "data.id").Exists() {
			e = &llm.Error{Kind: llm.KindBadResponse, Status: http.StatusOK, Message: "GET /models/" + id + " returned no model; see with --live whether questions are answered"}
		}
		if e != nil && e.Kind != llm.KindModel {
			p.fault = e
			break
		}
		p.models[id] = body
	}
	return p
}

// live asks a short question as the tools do, as a stream. An answer shows that a fault is about
// GET /models only, which many compatible servers lack.
func (p *probe) live(ctx context.Context) Check {
	if !p.Config.KeySet && !p.Offline || p.fault != nil && p.fault.Status == 0 {
		return warn("live", "no question was asked", "fix the failures above")
	}
	ctx, cancel := answer.WithTimeout(ctx, min(p.Config.Timeout(), 2*time.Minute))
	defer cancel()
	streamed := false // where streams are refused, the client makes a plain request by itself
	ans, err := answer.New(answer.Options{
		Client:       p.client,
		Instructions: "Answer with one word and do not search.",
		Profiles:     p.Profiles,
		ExtraBody:    p.Config.Request.ExtraBody,
		Stream:       "true",
	}).Ask(ctx, "answer", answer.Question{Query: "Say ok."}, func(ev llm.Event) {
		if done, ok := ev.(llm.Done); ok {
			streamed = done.Response.Streamed
		}
	})
	if err != nil {
		problem, hint := p.Advisor.Advise("answer", err)
		return fail("live", problem, hint)
	}
	p.answered, p.fault = p.Profiles["answer"].Model, nil
	report := fmt.Sprintf("%s answered in %.1f s with %d tokens; streaming is ",
		cmp.Or(ans.Meta.ResolvedModel, ans.Model), ans.Meta.Elapsed.Seconds(), ans.Meta.Usage.Total)
	if streamed {
		return ok("live", report+"allowed")
	}
	return warn("live", report+"refused", "an OpenAI organization has to be verified for it, at "+advice.VerifyPage+
		"; until then, or if the server cannot stream, answers come in one piece")
}

// lacksScope reports whether the key may not read models. OpenAI answers such a key with 401 or
// 403, often without a code.
func (p *probe) lacksScope() bool {
	return strings.Contains(strings.ToLower(p.fault.Message), "missing scope")
}

// key checks whether there is a key and whether the API accepts it.
func (p *probe) key() Check {
	env, set := p.Advisor.Key, p.Advisor.Key+" is set"
	switch {
	case p.Offline:
		return ok("key", "none is needed with --offline")
	case !p.Config.KeySet:
		return fail("key", env+" is not set", p.Advisor.GetKey()+" where the client starts the server; setup CLIENT shows how, --offline needs none")
	case p.fault == nil:
		return ok("key", set+" and accepted")
	case p.fault.Kind == llm.KindAuth && !p.lacksScope():
		problem, hint := p.Advisor.Advise("", p.fault)
		return fail("key", set+", but "+problem, hint)
	case p.Advisor.KeyFlaw != "":
		return warn("key", set+", but "+p.Advisor.KeyFlaw, "put the key alone into "+env)
	}
	return ok("key", set)
}

// http checks the connection. The error of the lookups says what failed.
func (p *probe) http() Check {
	e := p.fault
	switch {
	case e == nil, e.Kind == llm.KindAuth && e.Status != 0 && !p.lacksScope():
		return ok("http", fmt.Sprintf("answers in %d ms", p.took.Milliseconds()))
	case p.lacksScope():
		return warn("http", fmt.Sprintf("the key may not read models (%d): %s", e.Status, e.Message),
			"give the key that right, or see with --live whether it may ask questions")
	case e.Kind == llm.KindTimeout:
		return fail("http", fmt.Sprintf("no answer within %v", lookupLimit),
			"check the network, the firewall, openai.base_url and "+p.Advisor.Proxy+"; try again later")
	}
	problem, hint := p.Advisor.Advise("", e)
	return fail("http", problem, cmp.Or(p.Advisor.NoModels(e), hint))
}

// model checks the model of a tool.
func (p *probe) model(tool string) Check {
	name, profile := "model "+tool, p.Profiles[tool]
	missing, hint := p.Advisor.Advise(tool, &llm.Error{Kind: llm.KindModel})
	body, known := p.models[profile.Model]
	c := warn(name, profile.Model+" was not looked up", "see the checks above")
	switch {
	case body != nil:
		c = shutdown(name, profile.Model, body, time.Now(), hint)
	case p.answered == profile.Model:
		c = ok(name, profile.Model+" answers questions, but cannot be looked up")
	case known:
		return fail(name, profile.Model+": "+missing, hint)
	}
	c.Text += "; " + sent(profile)
	return c
}

// sent says which settings of a profile the model gets.
func sent(p answer.Profile) string {
	can := llm.CapabilityOf(p.Model)
	switch {
	case can.Reasoning && can.Verbosity:
		return fmt.Sprintf("effort %s and verbosity %s are sent", p.ReasoningEffort, p.Verbosity)
	case can.Reasoning:
		return fmt.Sprintf("effort %s is sent, verbosity is not: it takes none", p.ReasoningEffort)
	}
	return "effort and verbosity are not sent: it takes neither"
}

// shutdown checks the day of the shutdown of a model that the API has. body is the API's
// description of the model, hint how to choose another one. A model gets a warning 120 days before.
func shutdown(name, id string, body []byte, now time.Time, hint string) Check {
	day := gjson.GetBytes(body, "shutdown_date").String() // 2027-03-21
	end, err := time.Parse(time.DateOnly, day)
	left := end.Sub(now)
	switch {
	case err != nil:
		return ok(name, id+" is there")
	case left <= 0:
		return fail(name, fmt.Sprintf("%s was shut down on %s", id, day), hint)
	case left <= 120*24*time.Hour:
		return warn(name, fmt.Sprintf("%s is shut down on %s (days left: %d)", id, day, int(left.Hours()/24)+1), hint)
	}
	return ok(name, id+" is there until "+day)
}
