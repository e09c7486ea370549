package cli

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"os"
	"regexp"
	"runtime"
	"strings"

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
	log      *slog.Logger
	logErr   error // why the debug file cannot be written
	api      llm.Options
	profiles map[string]answer.Profile
	server   server.Options // what stdio and HTTP share, with the function that answers
	close    func()
}

// build loads the configuration, prints its warnings and connects the packages.
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
	if f.keyless && !f.offline && !cfg.KeySet {
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
	sys := cfg.Policy.System
	instructions, warning := policy.Load(sys.Source, sys.Path, sys.Merge, config.ReadFile)
	a.warn(append(warnings, warning, doctor.ClearText(d.api.BaseURL))...)
	left := cfg.Search.Defaults
	defaults := answer.Defaults{RecencyDays: left.RecencyDays, MaxResults: float64(left.MaxResults), Domains: left.Domains}
	d.api.MaxRetries = cfg.Request.MaxRetries
	client := llm.New(d.api)
	answerer := answer.New(answer.Options{
		Client: client, Instructions: instructions, Profiles: d.profiles, Defaults: defaults, Search: search(cfg),
		MaxCitations: cfg.Policy.MaxCitations, RequeryAttempts: cfg.Policy.RequeryAttempts, Location: cfg.Location,
		ExtraBody: cfg.Request.ExtraBody, Stream: cfg.Responses.Stream, Logger: d.log,
	})
	d.server = server.Options{
		Ask: answerer.Ask, Defaults: defaults, Timeout: cfg.Timeout(), Waiting: client.Waiting,
		Explain:    func(profile string, err error) string { return a.advisor(cfg).Explain(profile, err) },
		Structured: cfg.Server.StructuredContent, ToolErrors: cfg.Server.ToolErrors,
		Debug: cfg.Server.Debug, Log: d.log, Redactor: a.redactor,
	}
	return d, nil
}

// prepare makes the log, and says how the API is reached. These are what doctor
// needs, too. From here on the secrets of cfg are redacted.
func (a *app) prepare(cfg *config.Config, offline bool) (*deps, error) {
	a.redactor = redact.New(cfg.Secrets...)
	log, end, err := logging.New(logging.Options{
		Debug: cfg.Server.Debug, File: cfg.Server.DebugFile, Format: a.logFormat,
		Stderr: a.stderr, NoColor: a.variable("NO_COLOR") != "", Redactor: a.redactor,
	})
	d := &deps{config: cfg, log: log, logErr: err, profiles: profiles(cfg), close: end}
	d.api = llm.Options{
		BaseURL: cfg.OpenAI.BaseURL, Organization: cfg.OpenAI.Organization, Project: cfg.OpenAI.Project,
		APIKey: cfg.APIKey, KeyEnv: cfg.KeyEnv, Headers: cfg.SentHeaders, Store: cfg.Responses.Store,
		UserAgent: version.Name + "/" + version.String(), Logger: log, Redactor: a.redactor,
	}
	if offline {
		return d, a.goOffline(d)
	}
	return d, nil
}

// goOffline points d at the built-in API, which waits a moment so that a call can be watched.
func (a *app) goOffline(d *deps) error {
	api, err := fakeapi.Start("always", "delay=100ms")
	if err != nil {
		d.close()
		return fmt.Errorf("starting the offline API: %w", err)
	}
	a.note("offline: answers are samples from the built-in fake API")
	o := &d.api
	o.BaseURL, o.APIKey, o.Organization, o.Project, o.Headers = api.URL, "offline", "", "", nil
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
	return map[string]answer.Profile{
		"answer":          answer.Profile(cfg.ModelProfiles.Answer),
		"answer_detailed": answer.Profile(cfg.ModelProfiles.AnswerDetailed),
		"answer_quick":    answer.Profile(cfg.ModelProfiles.AnswerQuick),
	}
}

// search are the settings of the web search tool.
func search(cfg *config.Config) answer.Search {
	var location map[string]string // nil is not sent, an empty one is
	if at := cfg.Search.UserLocation; cfg.Origin("search.user_location") != "" {
		location = map[string]string{"country": at.Country, "region": at.Region, "city": at.City, "timezone": at.Timezone}
		maps.DeleteFunc(location, func(_, value string) bool { return value == "" })
	}
	return answer.Search{
		EnforceDomains: cfg.Search.EnforceDomains, BlockedDomains: cfg.Search.BlockedDomains, Required: cfg.Search.Required,
		ContextSize: cfg.Search.ContextSize, UserLocation: location, Extra: cfg.Search.Extra,
	}
}

// notKey matches values that are not a key alone.
var notKey = regexp.MustCompile("^[$%{]|^YOUR_|[^!-~]|[\"'`*]|\\.\\.\\.")

// advisor has what advice about errors may name: settings and their origins, but no secrets.
func (a *app) advisor(cfg *config.Config) advice.Advisor {
	setting := func(key, value string) advice.Setting {
		from := cmp.Or(strings.TrimPrefix(cfg.Origin(key), "default"), "the default")
		return advice.Setting{Name: key, Value: value, From: from}
	}
	models := map[string]advice.Setting{}
	for name, p := range profiles(cfg) {
		// An inherited model has the origin of that of answer.
		key := "model_profiles." + name + ".model"
		const first = "model_profiles.answer.model"
		if cfg.Origin(key) == cfg.Origin(first) && p.Model == cfg.ModelProfiles.Answer.Model {
			key = first
		}
		models[name] = setting(key, p.Model)
	}
	keyFlaw := ""
	if notKey.MatchString(strings.TrimSpace(a.variable(cfg.KeyEnv))) {
		keyFlaw = "it has quotes, blanks, Bearer, the * of a key that is shown in part, " +
			"or a reference such as ${NAME} that the client has not replaced"
	}
	roots := a.variable("SSL_CERT_FILE")
	rootsFlaw := func() string { // Go ignores such a file without an error
		pem, _ := os.ReadFile(roots)
		if roots == "" || x509.NewCertPool().AppendCertsFromPEM(pem) {
			return ""
		}
		return "it cannot be read or has no certificate in PEM form"
	}
	return advice.Advisor{
		BaseURL: setting("openai.base_url", config.BareURL(cfg.OpenAI.BaseURL)), Models: models,
		Key: cfg.KeyEnv, KeyFlaw: keyFlaw, Headers: cfg.HeaderVariables,
		Proxy: a.proxyVariable(cfg.OpenAI.BaseURL), GOOS: runtime.GOOS, RootsFile: roots, RootsFlaw: rootsFlaw,
	}
}

// proxyVariable is the variable that names the proxy for base, as package net/http reads it.
func (a *app) proxyVariable(base string) string {
	name := "HTTPS_PROXY"
	if strings.HasPrefix(strings.ToLower(base), "http:") {
		name = "HTTP_PROXY"
	}
	if lower := strings.ToLower(name); a.variable(name) == "" && a.variable(lower) != "" {
		return lower
	}
	return name
}
