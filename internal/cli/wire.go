package cli

import (
	"fmt"
	"log/slog"
	"slices"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
)

// wiring is a program put together: configuration, log, and what answers.
type wiring struct {
	config   *config.Config
	log      *slog.Logger
	redact   func(string) string // takes the key out of a text
	guide    func() answer.Guide
	answerer *answer.Answerer
	closers  []func()
}

// close undoes the wiring, last first.
func (w *wiring) close() {
	for _, c := range slices.Backward(w.closers) {
		c()
	}
}

// wire builds everything from flags, environment and file, and prints the
// warnings. Nothing here waits for a network.
func (a *app) wire(f *flags) (*wiring, error) {
	cfg, warnings, err := a.config(f)
	if err != nil {
		return nil, err
	}
	log, closeLog, warning := a.logger(cfg)
	w := &wiring{
		config:  cfg,
		log:     log,
		redact:  logging.Redact(cfg.Secrets()...),
		guide:   sync.OnceValue(func() answer.Guide { return a.guide(cfg) }), // most sessions see no error
		closers: []func(){closeLog},
	}
	if warning != "" {
		warnings = append(warnings, warning)
	}
	sys := cfg.Policy.System
	text, warning := policy.Load(sys.Source, sys.Path, sys.Merge, readPolicy)
	if warning != "" {
		warnings = append(warnings, warning)
	}
	if t := doctor.ClearText(cfg.OpenAI.BaseURL); t != "" && !f.offline {
		warnings = append(warnings, t)
	}
	for _, t := range warnings {
		a.warn(w.redact(t))
	}
	if err := w.connect(f.offline, text); err != nil {
		w.close()
		return nil, err
	}
	return w, nil
}

// logger makes the log of the configuration; a warning says why it is not the
// one that was asked for.
func (a *app) logger(cfg *config.Config) (log *slog.Logger, closeLog func(), warning string) {
	log, end, warning := logging.New(logging.Options{
		Debug:   cfg.Server.Debug,
		File:    cfg.Server.DebugFile,
		Home:    a.home(),
		Stderr:  a.stderr,
		NoColor: a.variable("NO_COLOR") != "",
		Secrets: cfg.Secrets(),
	})
	return log, func() { _ = end() }, warning
}

// config loads the configuration.
func (a *app) config(f *flags) (*config.Config, []string, error) {
	cfg, warnings, err := config.Load(config.Input{Flags: f.config, Environ: a.env})
	if err != nil {
		for _, t := range warnings {
			a.warn(t)
		}
		return nil, nil, err
	}
	return cfg, warnings, nil
}

// connect makes the client and the answerer, against the API of the
// configuration or against the built-in one.
func (w *wiring) connect(offline bool, instructions string) error {
	cfg := w.config
	o := clientOptions(cfg, w.log)
	o.MaxRetries = cfg.Request.MaxRetries
	profiles := profiles(cfg)
	if offline {
		base, stop, err := listen()
		if err != nil {
			return fmt.Errorf("starting the offline API: %w", err)
		}
		w.closers = append(w.closers, stop)
		o.BaseURL, o.APIKey, o.Organization, o.Project, o.Headers = base, "none-needed", "", "", nil
		for name, p := range profiles {
			p.Model = "offline"
			profiles[name] = p
		}
	}
	w.answerer = answer.New(answer.Options{
		Client:          llm.New(o),
		Instructions:    instructions,
		Profiles:        profiles,
		Timeout:         cfg.Timeout(),
		MaxCitations:    cfg.Policy.MaxCitations,
		RequeryAttempts: cfg.Policy.RequeryAttempts,
		Defaults:        defaults(cfg),
		Search:          search(cfg),
		ExtraBody:       cfg.Request.ExtraBody,
		Stream:          cfg.Responses.Stream,
		Guide:           w.guide,
		Logger:          w.log,
	})
	return nil
}

// listen starts the built-in API. It thinks for a moment, as the real one
// does, so that a call can be watched and cancelled.
func listen() (base string, stop func(), err error) {
	step, err := fakeapi.ParseStep("delay=100ms")
	if err != nil {
		return "", nil, err
	}
	api := fakeapi.New(fakeapi.Options{Keep: 1})
	api.Always(step)
	return api.Listen()
}
