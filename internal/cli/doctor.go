package cli

import (
	"context"
	"fmt"
	"io"

	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/doctor"
)

// doctor checks what a question needs and says what to do about each problem. It fails when a check
// does: the error counts those that failed.
func (a *app) doctor(ctx context.Context, args []string) error {
	f := newFlags("doctor")
	asJSON := f.Bool("json", false, "")
	live := f.Bool("live", false, "")
	err := f.parseAll(args)
	if err != nil {
		return err
	}

	o := doctor.Options{
		Live:    *live,
		Offline: f.offline,
		Getenv:  a.variable,
	}
	o.Config, o.Warnings, o.Err = config.Load(f.config, a.env)
	if o.Err == nil {
		b, err := a.reach(o.Config, f.offline)
		if err != nil {
			return err
		}
		defer b.close()

		o.Backend = b.Backend
	}

	checks := doctor.Run(ctx, o)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	format := doctor.Text
	if *asJSON {
		format = doctor.JSON
	}
	report := a.redactor.Redact(format(checks))
	screen := a.screen(ctx, "auto", *asJSON)
	_, err = io.WriteString(a.stdout, screen.Report(report))
	if err != nil {
		return err
	}

	failed := doctor.Count(checks, "fail")
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}
