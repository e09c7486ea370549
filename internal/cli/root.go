package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// root is the program without a sub-command: the server, and questions about
// the program itself.
func (a *app) root(ctx context.Context, args []string) error {
	f := newFlags(version.Name)
	stdio := f.Bool("stdio", false, "")
	show := f.Bool("show-config", false, "")
	number := f.Bool("version", false, "")
	err := f.parse(joinDebug(args))
	switch {
	case errors.Is(err, errHelp):
		return a.help()
	case err != nil:
		return err
	case f.NArg() > 0 && a.command(f.Arg(0)) != nil:
		return &usageError{
			problem: fmt.Sprintf("%s stands behind a flag", f.Arg(0)),
			hint:    fmt.Sprintf("the command goes first, its flags behind it: %s %s --help", version.Name, f.Arg(0)),
		}
	case f.NArg() > 0:
		// NAME=value stands in front of a command, and its value may be a key.
		name, _, isVariable := strings.Cut(f.Arg(0), "=")
		if isVariable {
			return &usageError{problem: fmt.Sprintf("unknown command %q", name+"=…"), hint: "variables go in front of the program's name"}
		}
		return &usageError{problem: fmt.Sprintf("unknown command %q", name), hint: "flags go first, and --help lists the commands"}
	case *number:
		_, err := fmt.Fprintln(a.stdout, version.Version)
		return err
	case !*stdio && !*show:
		return &usageError{problem: "nothing to do", hint: "add --stdio to serve, or --show-config; see --help"}
	}

	if *stdio { // a client need not read what we say to people
		a.stderr = logging.NewPatient(a.stderr)
	}
	w, err := a.wire(f)
	if err != nil {
		return err
	}
	defer w.close()
	if *show || *stdio && w.config.Server.ShowConfigOnStart {
		if _, err := (escaper{a.stderr}).Write(w.config.Show(version.Version)); err != nil {
			return fmt.Errorf("writing the configuration to stderr: %w", err)
		}
	}
	if !*stdio {
		return nil
	}
	return a.serve(ctx, w)
}
