package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
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
		return &usageError{problem: fmt.Sprintf("doctor takes no %q", words[0]), hint: "--debug takes its file as --debug=PATH; " + f.seeHelp()}
	}
	o, done, err := a.examine(f, *live)
	if err != nil {
		return err
	}
	checks := doctor.Run(ctx, o)
	done()
	if ctx.Err() != nil {
		return errInterrupted
	}
	print := doctor.Print
	if *asJSON {
		print = doctor.PrintJSON
	}
	if err := print(a.stdout, checks); err != nil {
		return err
	}
	if n := doctor.Failed(checks); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(checks))
	}
	return nil
}

// examine wires what doctor checks, as wire does, but goes on after an error.
// done releases what it acquired.
func (a *app) examine(f *flags, live bool) (o doctor.Options, done func(), err error) {
	var looked []string
	cfg, warnings, err := config.Load(config.Input{Flags: f.config, Environ: a.env, ReadFile: func(path string) ([]byte, error) {
		looked = append(looked, path)
		return os.ReadFile(path)
	}})
	o = doctor.Options{Settings: configChecks(cfg, looked, warnings, err), Stdio: selfTest, Redactor: a.redactor}
	if err != nil {
		return o, func() {}, nil
	}
	a.redactor = logging.NewRedactor(cfg.Secrets...)
	guide := a.guide(cfg)
	log, done, logErr := a.logger(cfg)
	client, profiles := clientOptions(cfg, log, a.redactor), profiles(cfg)
	if !cfg.KeySet {
		client.APIKey = "none" // the API's refusal shows that the connection works
	}
	if f.offline {
		stop, err := a.goOffline(&client, profiles)
		if err != nil {
			done()
			return o, nil, err
		}
		closeLog := done
		done = func() { stop(); closeLog() }
	}
	o.Settings = append(o.Settings, policyCheck(cfg), debugCheck(cfg, logErr), locationCheck(cfg))
	if guide.RootsFile != "" && runtime.GOOS != "darwin" && runtime.GOOS != "windows" {
		o.Settings = append(o.Settings, rootsCheck(guide))
	}
	o.Redactor, o.Offline, o.Variable = a.redactor, f.offline, a.variable
	o.KeyEnv, o.KeySet, o.KeyFlaw, o.GetKey = guide.Key, cfg.KeySet, guide.KeyFlaw, guide.GetKey()
	o.BaseURL, o.BaseOrigin = client.BaseURL, cfg.Origin("openai.base_url")
	if f.offline {
		o.BaseOrigin = "--offline"
	}
	o.Proxy, o.ProxyVariable = http.ProxyFromEnvironment, guide.Proxy
	for _, name := range []string{"answer", "answer_detailed", "answer_quick"} {
		m := guide.Models[name]
		o.Profiles = append(o.Profiles, doctor.Profile{
			Name: name, Model: profiles[name].Model, Where: m.Name + " (" + m.From + ")", Sent: sent(profiles[name]),
		})
	}
	p := &probe{guide: guide}
	client.HTTPClient = llm.NewHTTPClient()
	client.HTTPClient.Transport = p.watch(client.HTTPClient.Transport)
	p.client = llm.New(client)
	p.answerer = answer.New(answer.Options{
		Client:       p.client,
		Instructions: "Answer with one word and do not search.",
		Profiles:     profiles,
		Timeout:      min(cfg.Timeout(), 2*time.Minute),
		ExtraBody:    cfg.Request.ExtraBody,
		Stream:       "true",
	})
	o.Model = p.model
	if live {
		o.Live = p.live
	}
	return o, done, nil
}

// configChecks report the file, where values come from, and each warning. The
// values may be private.
func configChecks(cfg *config.Config, looked, warnings []string, err error) []doctor.Check {
	var checks []doctor.Check
	if err != nil {
		for line := range strings.Lines(err.Error()) {
			checks = append(checks, doctor.Check{Name: "config", Verdict: doctor.Fail, Text: line})
		}
		checks[len(checks)-1].Cure = "correct it (config/config.yaml.example has every key) and run doctor again: the rest was not checked"
	} else {
		c := doctor.Check{Name: "config", Verdict: doctor.OK, Text: "read " + cfg.File}
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
		checks = append(checks, doctor.Check{
			Name: "config", Verdict: doctor.Warn, Text: w,
			Cure: "correct it or remove it; a variable that it names must be set where the client starts the server",
		})
	}
	return checks
}

func policyCheck(cfg *config.Config) doctor.Check {
	sys, text := cfg.Policy.System, "built in, "+policy.Revision
	if sys.Source == policy.SourceFile {
		text = fmt.Sprintf("%s (%s)", sys.Path, sys.Merge)
	}
	_, problem := policy.Load(sys.Source, sys.Path, sys.Merge, os.ReadFile)
	return doctor.Setting("policy", text, problem, "correct policy.system.path ("+cfg.Origin("policy.system.path")+"): a readable file of UTF-8 text")
}

func debugCheck(cfg *config.Config, err error) doctor.Check {
	text, problem := "off", ""
	if cfg.Server.Debug {
		text = strings.TrimSuffix("on, to stderr and "+cfg.Server.DebugFile, " and ")
	}
	if err != nil {
		problem = err.Error()
	}
	return doctor.Setting("debug", text, problem, "correct server.debug_file ("+cfg.Origin("server.debug_file")+"): a file that can be written")
}

// locationCheck says from where the API searches, which decides the results.
func locationCheck(cfg *config.Config) doctor.Check {
	at, text := cfg.Search.UserLocation, "search.user_location is not set: the API searches as if from the United States"
	parts := slices.DeleteFunc([]string{at.City, at.Region, at.Country, at.Timezone}, func(s string) bool { return s == "" })
	if len(parts) > 0 {
		text = "the API searches as if from " + strings.Join(parts, ", ")
	}
	return doctor.Setting("location", text, "", "")
}

func rootsCheck(guide answer.Guide) doctor.Check {
	c := doctor.Check{Name: "roots", Verdict: doctor.OK, Text: "those of " + guide.RootsFile + " (SSL_CERT_FILE)"}
	if flaw := guide.RootsFlaw(); flaw != "" {
		c.Verdict, c.Text = doctor.Warn, "SSL_CERT_FILE names "+guide.RootsFile+", and "+flaw
		c.Cure = "correct SSL_CERT_FILE, or unset it: it has no effect"
	}
	return c
}

// sent says which settings of a profile the model gets.
func sent(p answer.Profile) string {
	can := llm.CapabilityOf(p.Model)
	switch {
	case can.Reasoning && can.Verbosity:
		return fmt.Sprintf("effort %s and verbosity %s are sent", p.Effort, p.Verbosity)
	case can.Reasoning:
		return fmt.Sprintf("effort %s is sent, verbosity is not: it takes none", p.Effort)
	}
	return "effort and verbosity are not sent: it takes neither"
}

// probe asks the API for doctor.
type probe struct {
	guide    answer.Guide
	client   *llm.Client
	answerer *answer.Answerer
	streamed atomic.Bool // the last response was a stream
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// watch notes whether a response is a stream: where streams are refused, the
// client falls back to a plain request by itself.
func (p *probe) watch(next http.RoundTripper) http.RoundTripper {
	return roundTrip(func(r *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(r)
		if err == nil {
			kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
			p.streamed.Store(kind == "text/event-stream")
		}
		return resp, err
	})
}

// model asks for a model. The fault has the words that MCP clients show.
func (p *probe) model(ctx context.Context, id string) (json.RawMessage, *doctor.Fault) {
	body, err := p.client.Model(ctx, id)
	if err == nil {
		return body, nil
	}
	f := &doctor.Fault{}
	f.Text, f.Cure = p.guide.Advise("", err)
	e, ok := errors.AsType[*llm.Error](err)
	if !ok {
		return nil, f
	}
	f.Status = e.Status
	switch e.Kind {
	case llm.KindMissingKey, llm.KindAuth:
		f.About = doctor.AboutKey
	case llm.KindModel:
		f.About = doctor.AboutModel
	case llm.KindNotFound, llm.KindBadResponse:
		f.About = doctor.AboutAddress
	}
	if cure, ok := p.guide.NoModels(err); ok {
		f.About, f.Cure = doctor.AboutAddress, cure
	}
	// OpenAI answers a restricted key with 401 or 403, often without a code.
	if strings.Contains(strings.ToLower(e.Message), "missing scope") {
		f.About = doctor.AboutScope
		f.Text = fmt.Sprintf("the key may not read models (%d): %s", e.Status, e.Message)
		f.Cure = "give the key the right to read models, or see with --live whether it may ask questions"
	}
	return nil, f
}

// live asks a short question as the tools do, as a stream.
func (p *probe) live(ctx context.Context) doctor.Check {
	c := doctor.Check{Name: "live", Verdict: doctor.OK}
	ans, err := p.answerer.Ask(ctx, "answer", answer.Question{Query: "Say ok."}, func(llm.Event) {})
	if err != nil {
		c.Verdict = doctor.Fail
		c.Text, c.Cure = p.guide.Advise("answer", err)
		return c
	}
	c.Text = fmt.Sprintf("%s answered in %.1f s with %d tokens", cmp.Or(ans.Meta.ResolvedModel, ans.Model), ans.Meta.Elapsed.Seconds(), ans.Meta.Usage.Total)
	if p.streamed.Load() {
		c.Text += "; streaming is allowed"
		return c
	}
	c.Verdict, c.Text = doctor.Warn, c.Text+"; streaming is refused"
	c.Cure = "an OpenAI organization has to be verified for it, at " + answer.VerifyPage + "; until then, or if the server cannot stream, answers come in one piece"
	return c
}

// selfTest runs a session with the server inside this process, as a client
// does, and returns the number of tools.
func selfTest(ctx context.Context, lines bool) (tools int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	log := slog.New(slog.DiscardHandler)
	ended := make(chan error, 1)
	go func() {
		err := server.New(server.Options{Log: log}).MCP(ctx).Run(ctx, &stdio.Transport{In: serverIn, Out: serverOut, Log: log})
		_ = serverOut.Close()
		ended <- err
	}()
	p := newPeer(in, out, lines)
	tools, err = listTools(p)
	return tools, errors.Join(err, p.end(), <-ended)
}

// listTools is the client's part of the session.
func listTools(p *peer) (int, error) {
	if _, err := p.call("initialize", initializeParams("doctor")); err != nil {
		return 0, err
	}
	if err := p.send("notifications/initialized", 0, nil); err != nil {
		return 0, err
	}
	raw, err := p.call("tools/list", map[string]any{})
	if err != nil {
		return 0, err
	}
	n := int(gjson.GetBytes(raw, "result.tools.#").Int())
	if n == 0 {
		return 0, errors.New("the response to tools/list has no tools")
	}
	return n, nil
}
