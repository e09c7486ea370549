// Package service builds what all commands share from the configuration: the log, the client of the
// API and the answerer. Package cli puts a transport in front of them.
//
// It may import mcp, openai and the layers below these, but not team. Begin with New.
//
//	service.go  a Service: the log, the client of the API, the answerer
//	advisor.go  what advice about errors may name
//	files.go    secrets in variables and files, which may change
//	budget.go   the quotas of the configuration, and limits of single people
//	store.go    the store that the environment names, for the quotas, checks and --show-config
//	detach.go   which calls go on without their requests, and the secrets that seal their ids
//	calllog.go  a log line for each call of a shared server
package service

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"slices"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/policy"
)

// Options configures a Service.
type Options struct {
	Config       *config.Config
	Warnings     []string         // warnings from loading Config
	Offline      bool             // answer from the built-in fake API
	RefusalPause time.Duration    // how long calls fail after refusals of the key (llm.Options)
	OnePerson    bool             // all calls without a person's ID are of one person
	LogFormat    string           // logging.Text or JSON for a server; else ""
	Stderr       io.Writer        // gets the log
	Redactor     *redact.Redactor // learns the secrets of the configuration
	Getenv       func(name string) string

	// Dial connects to the API and to the store. If it is nil, package net connects.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
}

// Service answers questions. It is what all commands share.
type Service struct {
	Options // Warnings also has those from using Config, one line each

	Advisor      advice.Advisor            // explains errors of the API that answers
	Profiles     map[string]answer.Profile // by tool
	Log          *slog.Logger
	LogErr       error // why the debug file cannot be written, or nil
	APIClient    *llm.Client
	Answerer     *answer.Answerer
	StartCommand string // command that starts the program, for hints

	// effective is the configuration by which requests are sent: Config or, with Offline, the copy
	// that Config.Offline returns for the fake API. The copy differs only in key, headers, base URL
	// and models.
	effective *config.Config

	keys    *keyring // the API key, and those that seal the ids of tasks
	closers []func() // called by Close

	// wantsSealingKey says that ids are to be sealed, but the file has no key for that yet.
	wantsSealingKey bool
}

// New builds a Service. It does not use the network, except that the API of Offline listens on a
// loopback address.
func New(o Options) (*Service, error) {
	s := &Service{
		Options:      o,
		StartCommand: startCommand(o.Getenv),
		effective:    o.Config,
	}
	if o.Offline {
		base, stop, err := fakeapi.Start()
		if err != nil {
			return nil, fmt.Errorf("starting the offline API: %w", err)
		}
		s.effective = o.Config.Offline(base)
		s.closers = append(s.closers, stop)
	}

	cfg := s.effective
	o.Redactor.Add(cfg.Secrets...)
	log, closeLog, logErr := logging.New(logging.Options{
		Debug:    cfg.Server.Debug,
		File:     cfg.Server.DebugFile,
		Format:   o.LogFormat,
		Stderr:   o.Stderr,
		NoColor:  o.Getenv("NO_COLOR") != "",
		Redactor: o.Redactor,
	})
	s.Log = log
	s.LogErr = logErr
	s.closers = append(s.closers, closeLog)

	s.APIClient = s.newClient(cfg.APIKey, cfg.Request.MaxRetries)
	s.keys = newKeyring(cfg.APIKey)
	s.Advisor = s.newAdvisor()
	s.Profiles = profiles(cfg)
	instructions, warning := policy.Load(policy.System(cfg.Policy.System), config.ReadFile)
	s.Answerer = s.newAnswerer(instructions)
	s.Warnings = s.warnings(warning)
	return s, nil
}

// NewAPIClient returns a client of the API that sends each request once, with a key. If key is "",
// it is the key of the configuration.
func (s *Service) NewAPIClient(key string) *llm.Client {
	return s.newClient(cmp.Or(key, s.effective.APIKey), 0)
}

// newClient returns a client of the API.
func (s *Service) newClient(key string, retries int) *llm.Client {
	cfg := s.effective
	return llm.New(llm.Options{
		API:          llm.API(cfg.OpenAI.API),
		APIKey:       key,
		Headers:      cfg.SentHeaders,
		Store:        cfg.Responses.Store,
		MaxRetries:   retries,
		RefusalPause: s.RefusalPause,
		HTTPClient:   httpclient.New(s.Dial),
		UserAgent:    version.Name + "/" + version.String(),
		Logger:       s.Log,
		Redactor:     s.Redactor,
	})
}

// newAnswerer returns an Answerer that asks the API.
func (s *Service) newAnswerer(instructions string) *answer.Answerer {
	cfg := s.effective
	return answer.New(answer.Options{
		Create:       s.APIClient.Create,
		Get:          s.APIClient.Get,
		Instructions: instructions,
		Profiles:     s.Profiles,
		Requeries:    cfg.Policy.RequeryAttempts,
		ExtraBody:    cfg.Request.ExtraBody,
		NoStream:     cfg.Responses.Stream == "false",
		Memory:       cfg.Server.AnswerMemory,
		OnePerson:    s.OnePerson,
		Location:     cfg.Location,
		Logger:       s.Log,
	})
}

// profiles returns the profiles of the configuration, by tool.
func profiles(cfg *config.Config) map[string]answer.Profile {
	byTool := map[string]answer.Profile{}
	for tool, profile := range cfg.ModelProfiles {
		byTool[tool] = answer.Profile{
			ModelSettings: call.ModelSettings(profile.ModelSettings),
			MaxCitations:  profile.MaxCitations,
			Search:        answer.WebSearch(profile.Search.WebSearch),
			Defaults:      answer.Defaults(profile.Search.Defaults),
			Price:         cfg.PriceOf(profile.Model),
			UserLocation:  (*answer.UserLocation)(cfg.UserLocation(tool)),
		}
	}
	return byTool
}

// warnings returns the warnings from loading the configuration, and those from using it: about the
// debug log, the instructions (policyWarning), the base URL and the key. Some of them may be "".
func (s *Service) warnings(policyWarning string) []string {
	cfg := s.effective
	lines := slices.Clone(s.Warnings)
	if s.LogErr != nil {
		lines = append(lines, s.LogErr.Error()+"; the debug log goes to stderr only")
	}
	lines = append(lines, policyWarning, ClearTextWarning(cfg.OpenAI.BaseURL))
	if cfg.APIKeyErr != nil && !s.Offline {
		lines = append(lines, cfg.APIKeyErr.Error())
	}
	return lines
}

// ServerOptions returns the options of a Server that all transports share.
func (s *Service) ServerOptions() server.Options {
	settings := s.Config.Server
	return server.Options{
		Ask:      s.Answerer.Ask,
		Explain:  s.Advisor.Explain,
		Redactor: s.Redactor,
		Log:      s.Log,
		Settings: server.Settings{
			Profiles:          s.Profiles,
			Timeout:           s.Config.Timeout(),
			StructuredContent: settings.StructuredContent,
			NoMeta:            !settings.Meta,
			ToolErrors:        settings.ToolErrors,
			ProtocolVersion:   settings.ProtocolVersion,
			Debug:             settings.Debug,
		},
	}
}

// Close ends the offline API, and flushes the log.
func (s *Service) Close() {
	for _, closer := range s.closers {
		closer()
	}
}

// Ready returns why calls cannot be answered, with advice, or nil if they can.
func (s *Service) Ready() error {
	err := s.APIClient.CheckKey()
	if err != nil {
		return errors.New(s.Advisor.Explain(call.DefaultTool, err))
	}
	return nil
}

// ClearTextWarning returns a warning if requests to the base URL would send the API key unencrypted
// to another host, and "" otherwise.
func ClearTextWarning(base string) string {
	u, err := url.Parse(base)
	if err != nil || u.Scheme != "http" || text.IsLoopback(u.Hostname()) {
		return ""
	}
	return "openai.base_url is plain http to " + u.Hostname() +
		": the API key is sent unencrypted"
}
