package cli

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"regexp"
	"runtime"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// deps is everything between the configuration and an answer.
type deps struct {
	config   *config.Config
	warnings []string // those that are not printed: one line each, or empty
	log      *slog.Logger
	logErr   error // why the debug file cannot be written
	api      llm.Options
	advisor  advice.Advisor
	profiles map[string]answer.Profile
	server   server.Options // what stdio and HTTP share, with the function that answers
	answerer *answer.Answerer
	ready    func() error // why calls cannot be answered, or nil
	keyFile  *watchedFile // nil: the key is not in a file
	close    func()
}

// build loads the configuration, prints its warnings, unless f.show, and connects the packages.
// It does not touch the network, except that --offline listens on loopback.
func (a *app) build(f *flags) (*deps, error) {
	cfg, warnings, err := config.Load(f.config, a.env)
	if err != nil {
		a.warn(warnings...)
		if errors.Is(err, fs.ErrNotExist) {
			err = usageError("check the path that --config names", "%v", err)
		}
		return nil, err
	}

	hasKey := cfg.KeySet || cfg.KeyErr != nil // or is meant to have one
	if f.keyless && !f.offline && !hasKey {
		a.note("%s is not set: smoke uses the offline API", cfg.KeyEnv)
		f.offline = true
	}
	d, err := a.prepare(cfg, f.offline)
	if err != nil {
		return nil, err
	}
	if d.logErr != nil {
		warnings = append(warnings, d.logErr.Error()+"; the debug log goes to stderr only")
	}

	system := cfg.Policy.System
	instructions, warning := policy.Load(system.Source, system.Path, system.Merge, config.ReadFile)
	warnings = append(warnings, warning, doctor.ClearText(d.api.BaseURL))
	if cfg.KeyErr != nil && !f.offline {
		warnings = append(warnings, cfg.KeyErr.Error())
	}
	if f.show {
		d.warnings = warnings
	} else {
		a.warn(warnings...)
	}

	a.connect(d, instructions)
	return d, nil
}

// connect makes the client of the API and what answers questions with it.
func (a *app) connect(d *deps, instructions string) {
	cfg := d.config
	d.api.MaxRetries = cfg.Request.MaxRetries
	client := llm.New(d.api)
	if d.api.KeyInFile {
		d.keyFile = a.watchKey(cfg, client, d.log)
	}

	defaults := answer.Defaults{
		RecencyDays: cfg.Search.Defaults.RecencyDays,
		MaxResults:  float64(cfg.Search.Defaults.MaxResults),
		Domains:     cfg.Search.Defaults.Domains,
	}
	d.answerer = answer.New(answer.Options{
		Client:          client,
		Instructions:    instructions,
		Profiles:        d.profiles,
		MaxCitations:    cfg.Policy.MaxCitations,
		RequeryAttempts: cfg.Policy.RequeryAttempts,
		Defaults:        defaults,
		Search:          search(cfg),
		ExtraBody:       cfg.Request.ExtraBody,
		Stream:          cfg.Responses.Stream,
		Location:        cfg.Location,
		Logger:          d.log,
	})

	d.ready = func() error {
		err := client.Ready()
		if err != nil {
			return errors.New(d.advisor.Explain("answer", err))
		}
		return nil
	}
	d.server = server.Options{
		Ask:        d.answerer.Ask,
		Explain:    d.advisor.Explain,
		Waiting:    client.Waiting,
		Defaults:   defaults,
		Timeout:    cfg.Timeout(),
		Structured: cfg.Server.StructuredContent,
		ToolErrors: cfg.Server.ToolErrors,
		Debug:      cfg.Server.Debug,
		Log:        d.log,
		Redactor:   a.redactor,
	}
}

// watchKey returns the file of the key, whose changes reach client.
func (a *app) watchKey(cfg *config.Config, client *llm.Client, log *slog.Logger) *watchedFile {
	return &watchedFile{
		log:     log,
		what:    "key",
		path:    cfg.KeyFile,
		read:    config.ReadKey,
		current: newReading([]byte(cfg.APIKey), cfg.KeyErr),
		accept: func(key []byte) error {
			a.redactor.Add(string(key))
			client.SetKey(string(key))
			log.Info("read the key again", "variable", cfg.KeyEnv)
			return nil
		},
	}
}

// prepare makes the log, and says how the API is reached. These are what doctor
// needs, too. From here on the secrets of cfg are redacted.
func (a *app) prepare(cfg *config.Config, offline bool) (*deps, error) {
	a.redactor = redact.New(cfg.Secrets...)
	d := &deps{
		config:   cfg,
		advisor:  a.advisor(cfg),
		profiles: profiles(cfg),
	}
	d.log, d.close, d.logErr = logging.New(logging.Options{
		Debug:    cfg.Server.Debug,
		File:     cfg.Server.DebugFile,
		Format:   a.logFormat,
		Stderr:   a.stderr,
		NoColor:  a.variable("NO_COLOR") != "",
		Redactor: a.redactor,
	})

	d.api = llm.Options{
		BaseURL:      cfg.OpenAI.BaseURL,
		Organization: cfg.OpenAI.Organization,
		Project:      cfg.OpenAI.Project,
		APIKey:       cfg.APIKey,
		KeyEnv:       cfg.KeyEnv,
		KeyInFile:    cfg.KeyFile != "",
		Headers:      cfg.SentHeaders,
		Store:        cfg.Responses.Store,
		UserAgent:    version.Name + "/" + version.String(),
		Logger:       d.log,
		Redactor:     a.redactor,
	}
	if offline {
		return d, a.goOffline(d)
	}
	return d, nil
}

// goOffline points d at the built-in API, which waits a moment so that a call can be watched.
func (a *app) goOffline(d *deps) error {
	api, err := fakeapi.Start(fakeapi.Step{Delay: 100 * time.Millisecond})
	if err != nil {
		return fmt.Errorf("starting the offline API: %w", err)
	}
	a.note("offline: answers are samples from the built-in fake API")

	d.advisor.BaseURL = advice.Setting{Value: api.URL, From: "--offline"}
	d.api.BaseURL = api.URL
	d.api.APIKey = "offline"
	d.api.KeyInFile = false
	d.api.Headers = nil
	for name, p := range d.profiles {
		p.Model = "offline"
		d.profiles[name] = p
	}

	closeLog := d.close
	d.close = func() {
		api.Close()
		closeLog()
	}
	return nil
}

// profiles are the profiles of the configuration, by tool.
func profiles(cfg *config.Config) map[string]answer.Profile {
	p := cfg.ModelProfiles
	return map[string]answer.Profile{
		"answer":          answer.Profile(p.Answer),
		"answer_detailed": answer.Profile(p.AnswerDetailed),
		"answer_quick":    answer.Profile(p.AnswerQuick),
	}
}

// search are the settings of the web search tool.
func search(cfg *config.Config) answer.Search {
	s := cfg.Search
	var location *answer.Location // nil is not sent, an empty one is
	if cfg.Origin("search.user_location") != "" {
		location = new(answer.Location(s.UserLocation))
	}

	return answer.Search{
		EnforceDomains: s.EnforceDomains,
		BlockedDomains: s.BlockedDomains,
		Required:       s.Required,
		ContextSize:    s.ContextSize,
		UserLocation:   location,
		Extra:          s.Extra,
	}
}

// advisor has what advice about errors may name: settings and their origins, but no secrets.
func (a *app) advisor(cfg *config.Config) advice.Advisor {
	key := a.variable(cfg.KeyEnv)
	if cfg.KeyFile != "" {
		key = cfg.APIKey
	}
	roots := a.variable("SSL_CERT_FILE")
	return advice.Advisor{
		BaseURL:   setting(cfg, "openai.base_url", config.BareURL(cfg.OpenAI.BaseURL)),
		Models:    models(cfg),
		Streams:   cfg.Responses.Stream != "false",
		Key:       cfg.KeyEnv,
		KeyInFile: cfg.KeyFile != "",
		KeyFlaw:   keyFlaw(key),
		Headers:   cfg.HeaderVariables,
		Proxy:     a.proxyVariable(cfg.OpenAI.BaseURL),
		GOOS:      runtime.GOOS,
		RootsFile: roots,
		RootsFlaw: func() string { return rootsFlaw(roots) },
	}
}

// setting is a setting with the place that its value comes from.
func setting(cfg *config.Config, key, value string) advice.Setting {
	origin := strings.TrimPrefix(cfg.Origin(key), "default")
	return advice.Setting{
		Name:  key,
		Value: value,
		From:  cmp.Or(origin, "the default"),
	}
}

// models are the settings of the models, by tool.
func models(cfg *config.Config) map[string]advice.Setting {
	byTool := make(map[string]advice.Setting)
	for tool, p := range profiles(cfg) {
		byTool[tool] = setting(cfg, "model_profiles."+tool+".model", p.Model)
	}
	return byTool
}

// notKey matches values that are not a key alone.
var notKey = regexp.MustCompile("^[$%{]|^YOUR_|[^!-~]|[\"'`*]|\\.\\.\\.")

// keyFlaw says why a key cannot be one, or "".
func keyFlaw(key string) string {
	if !notKey.MatchString(strings.TrimSpace(key)) {
		return ""
	}
	return "it has quotes, blanks, Bearer, the * of a key that is shown in part, " +
		"or a reference such as ${NAME} that the client has not replaced"
}

// rootsFlaw says what is wrong with the file of SSL_CERT_FILE, or "". Go ignores such a file
// without an error.
func rootsFlaw(file string) string {
	pem, _ := os.ReadFile(file)
	if file == "" || x509.NewCertPool().AppendCertsFromPEM(pem) {
		return ""
	}
	return "it cannot be read or has no certificate in PEM form"
}

// proxyVariable is the variable that names the proxy for base, as package net/http reads it.
func (a *app) proxyVariable(base string) string {
	scheme, _, _ := strings.Cut(strings.ToLower(base), ":")
	name := scheme + "_proxy"
	upper := strings.ToUpper(name)
	if a.variable(upper) == "" && a.variable(name) != "" {
		return name
	}
	return upper
}
