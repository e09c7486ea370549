package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// doctor checks configuration, connection, models and protocol, and says what
// to do about each problem. It fails when a check does.
func (a *app) doctor(ctx context.Context, args []string) error {
	f := newFlags("doctor")
	asJSON := f.Bool("json", false, "")
	live := f.Bool("live", false, "")
	words, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return &failure{exitUsage, fmt.Sprintf("doctor takes no %q", words[0]), "--debug takes its file as --debug=PATH; " + f.seeHelp()}
	}
	checks, err := a.examine(ctx, f, *live)
	switch {
	case ctx.Err() != nil:
		return errInterrupted
	case err != nil:
		return err
	}
	doctor.Clean(checks, a.oneLine)
	report := doctor.Text
	if *asJSON {
		report = doctor.JSON
	}
	if _, err := io.WriteString(a.stdout, report(checks)); err != nil {
		return err
	}
	if n := doctor.Count(checks, "fail"); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(checks))
	}
	return nil
}

// examine connects the packages as wire does, but goes on after an error, and
// makes the checks. Without live it takes at most half a minute.
func (a *app) examine(ctx context.Context, f *flags, live bool) ([]doctor.Check, error) {
	var looked []string
	cfg, warnings, err := config.Load(config.Input{Flags: f.config, Environ: a.env, ReadFile: func(path string) ([]byte, error) {
		looked = append(looked, path)
		return os.ReadFile(path)
	}})
	checks := append([]doctor.Check{
		doctor.OK("version", version.Name+" "+version.Version),
		doctor.OK("platform", fmt.Sprintf("%s/%s, %s", runtime.GOOS, runtime.GOARCH, runtime.Version())),
	}, configChecks(cfg, looked, warnings, err)...)
	if err != nil {
		return append(checks, stdioCheck(ctx)), nil
	}
	a.redactor = logging.NewRedactor(cfg.Secrets...)
	log, closeLog, logErr := a.logger(cfg)
	defer closeLog()
	client := clientOptions(cfg, log, a.redactor)
	p := &probe{cfg: cfg, offline: f.offline, advisor: a.advisor(cfg), profiles: profiles(cfg), models: map[string]json.RawMessage{}}
	if !cfg.KeySet {
		client.APIKey = "none" // the API's refusal shows that the connection works
	}
	if f.offline {
		stop, err := a.goOffline(&client, p.profiles)
		if err != nil {
			return nil, err
		}
		defer stop()
		p.advisor.BaseURL = answer.Setting{Value: client.BaseURL, From: "--offline"}
	}
	client.HTTPClient = llm.NewHTTPClient()
	p.streams.next, client.HTTPClient.Transport = client.HTTPClient.Transport, &p.streams
	p.client = llm.New(client)
	p.lookUp(ctx)
	var question []doctor.Check
	if live { // before the verdicts, which depend on it
		question = append(question, p.live(ctx))
	}
	base := p.advisor.BaseURL
	checks = append(checks, policyCheck(cfg), debugCheck(cfg, logErr), locationCheck(cfg),
		doctor.BaseURL(base.Value, base.From), doctor.Proxy(base.Value, p.advisor.Proxy, http.ProxyFromEnvironment, a.variable), p.key(), p.http())
	for _, tool := range tools {
		checks = append(checks, p.model(tool))
	}
	return append(append(checks, stdioCheck(ctx)), question...), nil
}

// configChecks report the file, where values come from, and each warning. The
// values may be private.
func configChecks(cfg *config.Config, looked, warnings []string, err error) (checks []doctor.Check) {
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			checks = append(checks, doctor.Fail("config", line, ""))
		}
		checks[len(checks)-1].Cure = "correct it (config/config.yaml.example has every key) and run doctor again: the rest was not checked"
	} else {
		c := doctor.OK("config", "read "+cfg.File)
		if cfg.File == "" {
			c.Text = "no file, looked for " + cmp.Or(strings.Join(looked, ", "), "none: there is no home folder")
		}
		for _, k := range config.Keys() {
			if from := cfg.Origin(k.Path); !k.Section && k.Ignored == "" && from != "default" {
				c.Details = append(c.Details, k.Path+" from "+from)
			}
		}
		checks = append(checks, c)
	}
	for _, w := range warnings {
		checks = append(checks, doctor.Warn("config", w, "correct it or remove it; a variable that it names must be set where the client starts the server"))
	}
	return checks
}

func policyCheck(cfg *config.Config) doctor.Check {
	sys := cfg.Policy.System
	_, problem := policy.Load(sys.Source, sys.Path, sys.Merge, os.ReadFile)
	switch {
	case problem != "":
		return doctor.Fail("policy", problem, "correct policy.system.path ("+cfg.Origin("policy.system.path")+"): a readable file of UTF-8 text")
	case sys.Source == policy.SourceFile:
		return doctor.OK("policy", fmt.Sprintf("%s (%s)", sys.Path, sys.Merge))
	}
	return doctor.OK("policy", "built in, "+policy.Revision)
}

func debugCheck(cfg *config.Config, err error) doctor.Check {
	switch {
	case err != nil:
		return doctor.Fail("debug", err.Error(), "correct server.debug_file ("+cfg.Origin("server.debug_file")+"): a file that can be written")
	case cfg.Server.Debug:
		return doctor.OK("debug", strings.TrimSuffix("on, to stderr and "+cfg.Server.DebugFile, " and "))
	}
	return doctor.OK("debug", "off")
}

// locationCheck says from where the API searches, which decides the results.
func locationCheck(cfg *config.Config) doctor.Check {
	at := cfg.Search.UserLocation
	parts := slices.DeleteFunc([]string{at.City, at.Region, at.Country, at.Timezone}, func(s string) bool { return s == "" })
	if len(parts) == 0 {
		return doctor.OK("location", "search.user_location is not set: the API searches as if from the United States")
	}
	return doctor.OK("location", "the API searches as if from "+strings.Join(parts, ", "))
}

// tools are the names of the tools and their profiles.
var tools = []string{"answer", "answer_detailed", "answer_quick"}

// lookupLimit bounds the requests for the models.
const lookupLimit = 15 * time.Second

// probe asks the API for doctor and judges the outcome.
type probe struct {
	cfg      *config.Config
	offline  bool
	advisor  answer.Advisor
	profiles map[string]answer.Profile // by tool
	client   *llm.Client
	streams  streams

	models   map[string]json.RawMessage // what the API says about a model, by id; nil: it has none of that id
	took     time.Duration              // of the first lookup
	fault    *llm.Error                 // that ended the lookups, or nil
	answered string                     // the model that answered the question of live, or ""
}

// lookUp asks the API for each model once, until a request fails for a reason
// other than its model.
func (p *probe) lookUp(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, lookupLimit)
	defer cancel()
	begin := time.Now()
	for _, tool := range tools {
		id := p.profiles[tool].Model
		if _, done := p.models[id]; done {
			continue
		}
		body, err := p.client.Model(ctx, id)
		if p.took == 0 {
			p.took = time.Since(begin)
		}
		e, failed := errors.AsType[*llm.Error](err)
		// OpenRouter has the model in data. LM Studio answers unknown paths with 200.
		if !failed && !gjson.GetBytes(body, "id").Exists() && !gjson.GetBytes(body, "data.id").Exists() {
			e = &llm.Error{Kind: llm.KindBadResponse, Status: http.StatusOK, Message: "GET /models/" + id + " returned no model; see with --live whether questions are answered"}
		}
		if e != nil && e.Kind != llm.KindModel {
			p.fault = e
			return
		}
		p.models[id] = body
	}
}

// live asks a short question as the tools do, as a stream. An answer shows that
// a fault is about GET /models only, which many compatible servers lack.
func (p *probe) live(ctx context.Context) doctor.Check {
	if !p.cfg.KeySet && !p.offline || p.fault != nil && p.fault.Status == 0 {
		return doctor.Warn("live", "no question was asked", "fix the failures above")
	}
	ans, err := answer.New(answer.Options{
		Client:       p.client,
		Instructions: "Answer with one word and do not search.",
		Profiles:     p.profiles,
		Timeout:      min(p.cfg.Timeout(), 2*time.Minute),
		ExtraBody:    p.cfg.Request.ExtraBody,
		Stream:       "true",
	}).Ask(ctx, "answer", answer.Question{Query: "Say ok."}, func(llm.Event) {})
	if err != nil {
		text, cure := p.advisor.Advise("answer", err)
		return doctor.Fail("live", text, cure)
	}
	p.answered, p.fault = p.profiles["answer"].Model, nil
	text := fmt.Sprintf("%s answered in %.1f s with %d tokens; streaming is ",
		cmp.Or(ans.Meta.ResolvedModel, ans.Model), ans.Meta.Elapsed.Seconds(), ans.Meta.Usage.Total)
	if p.streams.last {
		return doctor.OK("live", text+"allowed")
	}
	return doctor.Warn("live", text+"refused", "an OpenAI organization has to be verified for it, at "+answer.VerifyPage+
		"; until then, or if the server cannot stream, answers come in one piece")
}

// streams notes whether the last response was a stream: where streams are
// refused, the client falls back to a plain request by itself.
type streams struct {
	next http.RoundTripper
	last bool
}

func (s *streams) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := s.next.RoundTrip(r)
	s.last = err == nil && strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream")
	return resp, err
}

// lacksScope reports whether the key may not read models. OpenAI answers such a
// key with 401 or 403, often without a code.
func (p *probe) lacksScope() bool {
	return strings.Contains(strings.ToLower(p.fault.Message), "missing scope")
}

// key checks whether there is a key and whether the API accepts it.
func (p *probe) key() doctor.Check {
	env, set := p.advisor.Key, p.advisor.Key+" is set"
	switch {
	case p.offline:
		return doctor.OK("key", "none is needed with --offline")
	case !p.cfg.KeySet:
		return doctor.Fail("key", env+" is not set", p.advisor.GetKey()+" where the client starts the server; setup CLIENT shows how, --offline needs none")
	case p.fault == nil:
		return doctor.OK("key", set+" and accepted")
	case p.fault.Kind == llm.KindAuth && !p.lacksScope():
		text, cure := p.advisor.Advise("", p.fault)
		return doctor.Fail("key", set+", but "+text, cure)
	case p.advisor.KeyFlaw != "":
		return doctor.Warn("key", set+", but "+p.advisor.KeyFlaw, "put the key alone into "+env)
	}
	return doctor.OK("key", set)
}

// http checks the connection. The error of the lookups says what failed.
func (p *probe) http() doctor.Check {
	e := p.fault
	switch {
	case e == nil, e.Kind == llm.KindAuth && e.Status != 0 && !p.lacksScope():
		return doctor.OK("http", fmt.Sprintf("answers in %d ms", p.took.Milliseconds()))
	case p.lacksScope():
		return doctor.Warn("http", fmt.Sprintf("the key may not read models (%d): %s", e.Status, e.Message),
			"give the key that right, or see with --live whether it may ask questions")
	case e.Kind == llm.KindTimeout:
		return doctor.Fail("http", fmt.Sprintf("no answer within %v", lookupLimit),
			"check the network, the firewall, openai.base_url and "+p.advisor.Proxy+"; try again later")
	}
	text, cure := p.advisor.Advise("", e)
	if do, ok := p.advisor.NoModels(e); ok {
		cure = do
	}
	return doctor.Fail("http", text, cure)
}

// model checks the model of a tool.
func (p *probe) model(tool string) doctor.Check {
	name, profile := "model "+tool, p.profiles[tool]
	missing, cure := p.advisor.Advise(tool, &llm.Error{Kind: llm.KindModel})
	body, known := p.models[profile.Model]
	c := doctor.Warn(name, profile.Model+" was not looked up", "see the checks above")
	switch {
	case body != nil:
		c = doctor.Model(name, profile.Model, body, time.Now(), cure)
	case p.answered == profile.Model:
		c = doctor.OK(name, profile.Model+" answers questions, but cannot be looked up")
	case known:
		return doctor.Fail(name, profile.Model+": "+missing, cure)
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

// stdioCheck runs a session with the server in both framings.
func stdioCheck(ctx context.Context) doctor.Check {
	n := 0
	for _, lines := range []bool{false, true} {
		var err error
		if n, err = session(ctx, lines); err != nil {
			return doctor.Fail("stdio", fmt.Sprintf("initialize and tools/list with --ldjson=%t: %v", lines, err),
				"run smoke, with and without --ldjson, and report what it prints")
		}
	}
	return doctor.OK("stdio", fmt.Sprintf("initialize and tools/list answer with %d tools, in both framings", n))
}

// session runs the server inside this process, as its client, and returns the
// number of tools.
func session(ctx context.Context, lines bool) (int, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	p := connect(ctx, server.Options{Log: slog.New(slog.DiscardHandler)}, lines)
	p.call("initialize", initializeParams("doctor"))
	p.send(0, "notifications/initialized", nil)
	list := p.call("tools/list", nil)
	return int(gjson.GetBytes(list, "result.tools.#").Int()), p.end()
}
