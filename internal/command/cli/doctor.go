package cli

import (
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/doctor"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
)

// doctorFlags are the flags of doctor.
type doctorFlags struct {
	*app
	live bool
	json bool
}

// doctorCommand returns the command doctor, which checks what a question needs, and says what to do
// about each problem.
func (a *app) doctorCommand() *cobra.Command {
	f := &doctorFlags{app: a}
	c := &cobra.Command{
		Use:   "doctor",
		Short: "check configuration, key, network and models, and say what to do",
		Long: `Check the configuration, the key, the network and the models, and the store of
MCP_STORE_URL, and say what to do about each problem. Failures come last. NO_COLOR
keeps the layout in a terminal.`,
		Example: `  openai-responses-mcp doctor
  openai-responses-mcp doctor --live`,
		Args: noWords,
		RunE: f.run,
	}

	c.Flags().BoolVar(&f.live, "live", false,
		"also ask the API one short question, and whether it streams; that costs a few tokens")
	c.Flags().BoolVar(&f.json, "json", false, "print the checks as JSON")
	f.addCommon(c, call.DefaultTool)
	return c
}

// run prints the checks. If checks fail, it returns an error with their number.
func (f *doctorFlags) run(c *cobra.Command, _ []string) error {
	ctx := c.Context()
	cfg, warnings, err := config.Load(f.config, f.env)
	var s *service.Service // nil: the configuration cannot be used
	if err == nil {
		s, err = f.newService(cfg, warnings)
		if err != nil {
			return err
		}
		defer s.Close()
	}

	checks := doctor.Run(ctx, doctor.Options{
		Service:  s,
		Warnings: warnings,
		Err:      err,
		Live:     f.live,
	})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	format := doctor.FormatText
	if f.json {
		format = doctor.FormatJSON
	}
	report := f.redactor.Redact(format(checks))
	screen := f.screen(ctx, "auto", f.json)
	_, err = io.WriteString(f.stdout, screen.Report(report))
	if err != nil {
		return err
	}

	failed := doctor.Count(checks, "fail")
	if failed > 0 {
		return fmt.Errorf("%d of %d checks failed", failed, len(checks))
	}
	return nil
}
