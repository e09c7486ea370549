package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/policy"
)

// doctor checks configuration, connection, models and protocol, and says what
// to do about what is wrong. It fails when a check does.
func (a *app) doctor(ctx context.Context, args []string) error {
	f := newFlags("doctor")
	asJSON := f.Bool("json", false, "")
	live := f.Bool("live", false, "")
	words, err := f.parseMixed(args)
	switch {
	case errors.Is(err, errHelp):
		return a.help()
	case err != nil:
		return err
	case len(words) > 0:
		return &usageError{problem: fmt.Sprintf("doctor takes no %q", words[0]), hint: "see --help; --debug takes its file as --debug=PATH"}
	}
	x, err := a.examine(f, *live)
	if err != nil {
		return err
	}
	defer x.close()
	checks := doctor.Run(ctx, x.Options)
	if ctx.Err() != nil {
		return errInterrupted
	}
	for i := range checks {
		x.clean(&checks[i])
	}
	if *asJSON {
		err = doctor.PrintJSON(escaper{a.stdout}, checks)
	} else {
		err = doctor.Print(a.stdout, checks)
	}
	if err != nil {
		return err
	}
	if n := doctor.Failed(checks); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(checks))
	}
	return nil
}

// examination is what doctor looks at, and what has to be closed afterwards.
type examination struct {
	doctor.Options
	redact  func(string) string // nil without a configuration
	closers []func()
}

// clean takes out of a check what servers repeat of the key.
func (x *examination) clean(c *doctor.Check) {
	if x.redact == nil {
		return
	}
	c.Text = x.redact(c.Text)
	for i, d := range c.Details {
		c.Details[i] = x.redact(d)
	}
}

func (x *examination) close() {
	for _, c := range slices.Backward(x.closers) {
		c()
	}
}

// examine puts everything together as wire does, but goes on where wire ends.
func (a *app) examine(f *flags, live bool) (*examination, error) {
	x := &examination{Options: doctor.Options{
		Offline:  f.offline,
		Proxy:    http.ProxyFromEnvironment,
		Variable: a.variable,
		Stdio:    a.selfTest,
	}}
	var file reader
	cfg, warnings, err := config.Load(config.Input{Flags: f.config, Environ: a.env, ReadFile: file.read})
	x.Config = doctor.Config{Looked: file.looked, Warnings: warnings, Err: err}
	if err != nil {
		return x, nil
	}
	x.Config.File, x.Config.Origins = cfg.File(), origins(cfg)

	log, closeLog, problem := a.logger(cfg)
	x.closers = append(x.closers, closeLog)
	x.redact = logging.Redact(cfg.Secrets()...)
	x.Debug = doctor.Setting{
		Text:    debugText(cfg),
		Problem: problem,
		Where:   "server.debug_file (" + cfg.Origin("server.debug_file") + "): a file that can be written",
	}
	x.Policy = policySetting(cfg)

	x.KeyEnv, _, x.KeySet = cfg.Credential()
	guide := a.guide(cfg)
	x.GetKey = guide.GetKey()
	if flaw := guide.RootsFlaw(); flaw != "" {
		x.RootsFlaw = "SSL_CERT_FILE names " + guide.RootsFile + ", and " + flaw
	}
	x.BaseURL, x.BaseOrigin = cfg.OpenAI.BaseURL, cfg.Origin("openai.base_url")
	if f.offline {
		base, stop, err := listen()
		if err != nil {
			x.close()
			return nil, fmt.Errorf("starting the offline API: %w", err)
		}
		x.closers = append(x.closers, stop)
		x.BaseURL, x.BaseOrigin = base, "--offline"
	}
	x.Profiles = examined(cfg, f.offline)
	s := newSpecialist(cfg, x, guide, log)
	x.Model = s.model
	if live {
		x.Live = s.live
	}
	return x, nil
}

// reader reads the configuration and remembers where it was looked for.
type reader struct{ looked []string }

func (r *reader) read(path string) ([]byte, error) {
	r.looked = append(r.looked, path)
	return config.ReadFile(path)
}

// origins are the keys that are no defaults. Their values may be private.
func origins(cfg *config.Config) []string {
	var list []string
	for _, k := range config.Keys() {
		if k.Section || k.Ignored != "" {
			continue
		}
		if from := cfg.Origin(k.Path); from != "default" {
			list = append(list, k.Path+" from "+from)
		}
	}
	return list
}

func debugText(cfg *config.Config) string {
	switch s := cfg.Server; {
	case !s.Debug:
		return "off"
	case s.DebugFile == "":
		return "on, to stderr"
	default:
		return "on, to stderr and " + s.DebugFile
	}
}

func policySetting(cfg *config.Config) doctor.Setting {
	sys := cfg.Policy.System
	s := doctor.Setting{Text: "built in, " + policy.Revision}
	if sys.Source == policy.SourceFile {
		s.Text = fmt.Sprintf("%s (%s)", sys.Path, sys.Merge)
		s.Where = "policy.system.path (" + cfg.Origin("policy.system.path") + "): a readable file of UTF-8 text"
	}
	_, s.Problem = policy.Load(sys.Source, sys.Path, sys.Merge, readPolicy)
	return s
}
