package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
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

// service is what commands answer questions with.
type service struct {
	*backend
	api      *llm.Client
	warnings []string // that are not printed: one line each, or empty
	answerer *answer.Answerer
	server   server.Options // what stdio and HTTP share
	ready    func() error   // why calls cannot be answered, or nil
	keys     *keyring
	// followKey reads the file of the key again until its context ends.
	followKey func(context.Context)
}

// build loads the configuration, prints its warnings, unless f.show, and connects the packages.
// It does not touch the network, except that --offline listens on loopback.
func (a *app) build(f *flags) (*service, error) {
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
	b, err := a.reach(cfg, f.offline)
	if err != nil {
		return nil, err
	}
	b.Client.RefusalTime = f.refusalTime
	if b.LogErr != nil {
		warnings = append(warnings, b.LogErr.Error()+"; the debug log goes to stderr only")
	}

	system := cfg.Policy.System
	instructions, warning := policy.Load(system.Source, system.Path, system.Merge, config.ReadFile)
	warnings = append(warnings, warning, doctor.ClearText(b.Client.BaseURL))
	if cfg.KeyErr != nil && !f.offline {
		warnings = append(warnings, cfg.KeyErr.Error())
	}
	if !f.show {
		a.warn(warnings...)
	}
	return a.connect(b, instructions, warnings), nil
}

// connect makes the client of the API and what answers questions with it.
func (a *app) connect(b *backend, instructions string, warnings []string) *service {
	cfg := b.Config
	options := b.Client
	options.MaxRetries = cfg.Request.MaxRetries // doctor asks once
	client := llm.New(options)
	keys := newKeyring(b.Client.APIKey)
	defaults := answer.Defaults(cfg.Search.Defaults)
	answerer := answer.New(answer.Options{
		Client:          client,
		Instructions:    instructions,
		Profiles:        b.Profiles,
		MaxCitations:    cfg.Policy.MaxCitations,
		RequeryAttempts: cfg.Policy.RequeryAttempts,
		Defaults:        defaults,
		Search:          search(cfg),
		ExtraBody:       cfg.Request.ExtraBody,
		Stream:          cfg.Responses.Stream,
		Location:        cfg.Location,
		Logger:          b.log,
	})

	return &service{
		backend:   b,
		api:       client,
		warnings:  warnings,
		answerer:  answerer,
		keys:      keys,
		followKey: a.watchKey(b, client, keys),
		ready: func() error {
			err := client.Ready()
			if err != nil {
				return errors.New(b.Advisor.Explain("answer", err))
			}
			return nil
		},
		server: server.Options{
			Ask:        answerer.Ask,
			Explain:    b.Advisor.Explain,
			Waiting:    client.Waiting,
			Defaults:   defaults,
			Timeout:    cfg.Timeout(),
			Structured: cfg.Server.StructuredContent,
			NoMeta:     !cfg.Server.Meta,
			ToolErrors: cfg.Server.ToolErrors,
			Debug:      cfg.Server.Debug,
			Log:        b.log,
			Redactor:   a.redactor,
		},
	}
}

// watchKey returns what follows the file of the key, if there is one. Its changes reach the client
// and the ids of tasks.
func (a *app) watchKey(b *backend, client *llm.Client, keys *keyring) func(context.Context) {
	cfg := b.Config
	if !b.Advisor.KeyInFile {
		return func(context.Context) {}
	}

	file := &watchedFile{
		log:     b.log,
		what:    "key",
		path:    cfg.KeyFile,
		read:    cfg.ReadKey,
		stale:   &a.stale,
		current: newReading([]byte(cfg.APIKey), cfg.KeyErr),
		accept: func(key []byte) error {
			a.redactor.Add(string(key))
			client.SetKey(string(key))
			keys.add(string(key))
			b.log.Info("read the key again", "variable", cfg.KeyEnv)
			return nil
		},
	}
	return file.follow
}

// backend says how the API is reached, and has the log.
type backend struct {
	doctor.Backend
	log   *slog.Logger
	close func()
}

// reach makes the log, and says how the API of cfg is reached, or the offline API. From here on the
// secrets of cfg are redacted.
func (a *app) reach(cfg *config.Config, offline bool) (*backend, error) {
	a.redactor = redact.New(cfg.Secrets...)
	b := &backend{Backend: doctor.Backend{Config: cfg}}
	closeAPI := func() {}
	if offline {
		api, err := fakeapi.Start(fakeapi.Step{Delay: 100 * time.Millisecond}) // to be watched
		if err != nil {
			return nil, fmt.Errorf("starting the offline API: %w", err)
		}
		a.note("offline: answers are samples from the built-in fake API")
		cfg = cfg.Offline(api.URL)
		closeAPI = api.Close
	}

	log, closeLog, err := logging.New(logging.Options{
		Debug:    cfg.Server.Debug,
		File:     cfg.Server.DebugFile,
		Format:   a.logFormat,
		Stderr:   a.stderr,
		NoColor:  a.variable("NO_COLOR") != "",
		Redactor: a.redactor,
	})
	b.log = log
	b.LogErr = err
	b.Advisor = a.advisor(cfg)
	b.Profiles = profiles(cfg)
	b.Client = llm.Options{
		BaseURL:      cfg.OpenAI.BaseURL,
		Organization: cfg.OpenAI.Organization,
		Project:      cfg.OpenAI.Project,
		APIKey:       cfg.APIKey,
		Headers:      cfg.SentHeaders,
		Store:        cfg.Responses.Store,
		UserAgent:    version.Name + "/" + version.String(),
		Logger:       log,
		Redactor:     a.redactor,
	}
	b.close = func() {
		closeAPI()
		closeLog()
	}
	return b, nil
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
	models := map[string]advice.Setting{}
	for tool, p := range profiles(cfg) {
		models[tool] = setting(cfg, "model_profiles."+tool+".model", p.Model)
	}

	return advice.Advisor{
		BaseURL:   setting(cfg, "openai.base_url", config.BareURL(cfg.OpenAI.BaseURL)),
		Models:    models,
		Streams:   cfg.Responses.Stream != "false",
		Key:       cfg.KeyEnv,
		KeyInFile: cfg.KeyFile != "",
		Login:     a.loginCommand(cfg),
		HidesKey:  cfg.Hides,
		KeyFlaw:   keyFlaw(cmp.Or(strings.TrimSpace(key), "none")), // one that is missing has none
		Headers:   cfg.HeaderVariables,
		Proxy:     a.proxyVariable(cfg.OpenAI.BaseURL),
		GOOS:      runtime.GOOS,
		RootsFile: a.variable("SSL_CERT_FILE"),
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

// keyFlaws are forms that a key does not have, as regular expressions, with what is wrong.
var keyFlaws = [][2]string{
	{`^$`, "it is empty"},
	{`^YOUR_`, "it is the placeholder of the README"},
	{`[\r\n]`, "it has several lines"},
	{`^[$%{]`, "it is a reference to a variable, such as ${NAME}"},
	{`\s`, "it has blanks, perhaps those of Bearer"},
	{"[\"'`]", "it has quotes"},
	{`\*|\.\.\.`, "it is shown in part"},
	{`[^!-~]`, "it has control characters, or characters that are not ASCII"},
}

// keyFlaw says why a key cannot be one, or "".
func keyFlaw(key string) string {
	for _, f := range keyFlaws {
		matches, _ := regexp.MatchString(f[0], key)
		if matches {
			return f[1]
		}
	}
	return ""
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
