package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/advice"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// doctor checks everything and says what to do about each problem. It fails when a check does.
func (a *app) doctor(ctx context.Context, args []string) error {
	f := newFlags("doctor")
	asJSON := f.Bool("json", false, "")
	live := f.Bool("live", false, "")
	words, err := f.parse(args)
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return usageError("--debug takes its file as --debug=PATH; "+f.seeHelp(), "doctor takes no %q", words[0])
	}
	o := doctor.Options{Live: *live, Offline: f.offline, Getenv: a.variable, Session: countTools}
	o.Config, o.Warnings, o.Err = config.Load(f.config, a.env)
	if o.Err == nil {
		d, err := a.prepare(o.Config, f.offline)
		if err != nil {
			return err
		}
		defer d.close()
		o.LogErr, o.Client, o.Profiles = d.logErr, d.api, d.profiles
		o.Advisor = a.advisor(o.Config)
		if f.offline {
			o.Advisor.BaseURL = advice.Setting{Value: d.api.BaseURL, From: "--offline"}
		}
	}
	checks := doctor.Run(ctx, o)
	if ctx.Err() != nil {
		return errInterrupted
	}
	report := doctor.Text
	if *asJSON {
		report = doctor.JSON
	}
	if _, err := io.WriteString(a.stdout, a.redactor.Redact(report(checks))); err != nil {
		return err
	}
	if n := doctor.Count(checks, "fail"); n > 0 {
		return fmt.Errorf("%d of %d checks failed", n, len(checks))
	}
	return nil
}

// countTools runs a session with the server inside this process and returns the number of tools.
func countTools(ctx context.Context, lines bool) (tools int, err error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	o := server.Options{Log: slog.New(slog.DiscardHandler)}
	responses, err := session(ctx, o, lines, firstRequests("doctor"), func(string, []byte) {})
	if err != nil {
		return 0, err
	}
	return int(gjson.GetBytes(responses[1], "result.tools.#").Int()), nil
}
