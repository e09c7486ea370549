// Package cli is the command line: it parses flags, wires the other packages
// together, and turns their errors into messages and exit codes (spec §5.5).
//
//	cli.go      the commands, errors and exit codes
//	flags.go    the flags that commands share, suggestions, usage texts
//	build.go    the configuration, as the options of the other packages and for advice
//	stdio.go    --stdio, --show-config and --version
//	serve.go    serve --http
//	tasks.go    tasks that outlive the process, and their secrets
//	watch.go    secrets in variables and files, which may change
//	ask.go      ask, with question.go for the question and events.go for --json and --events
//	login.go    login, which stores the key
//	smoke.go    smoke; doctor.go, setup.go and completion.go have the commands of these names
package cli

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"syscall"

	"github.com/caarlos0/env/v11"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 128 + 2  // SIGINT, as a shell reports it
	exitClosed      = 128 + 13 // SIGPIPE, as in `ask … | head`
)

// app is one run of the program.
type app struct {
	env       []string
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	redactor  *redact.Redactor // knows the secrets of the configuration once it is loaded
	logFormat string           // of serve: text or json
	stale     atomic.Int64     // files that are read again, and cannot be used now
}

// Run executes the command line args, without the program's name, and returns
// the exit code: 0 fine, 1 failed, 2 wrong usage, 130 interrupted, 141 stdout
// closed. env has the form of os.Environ. Run returns within a second after ctx
// has ended, except that serve lets its calls finish.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{
		env:    env,
		stdin:  stdin,
		stdout: stdout,
		stderr: stderr,
	}
	return a.report(ctx, a.run(ctx, args))
}

// commands are the commands by name. The program without one is the server that its flags describe.
func (a *app) commands() map[string]func(context.Context, []string) error {
	return map[string]func(context.Context, []string) error{
		"":           a.server,
		"serve":      a.serve,
		"ask":        a.ask,
		"smoke":      a.smoke,
		"login":      a.login,
		"doctor":     a.doctor,
		"setup":      a.setup,
		"completion": a.completion,
		"help":       a.help,
	}
}

// run executes the command that args begins with.
func (a *app) run(ctx context.Context, args []string) error {
	name := ""
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		name = args[0]
		args = args[1:]
	}
	run := a.commands()[name]
	if run == nil {
		return a.unknownCommand(name)
	}

	err := run(ctx, args)
	if errors.Is(err, flag.ErrHelp) {
		return a.usage(name)
	}
	return err
}

// failure is an error with its exit code and advice.
type failure struct {
	code    int
	problem string
	hint    string
}

func (f *failure) Error() string {
	return f.problem
}

// usageError is the failure of a wrong command line.
func usageError(hint, format string, args ...any) error {
	problem := fmt.Sprintf(format, args...)
	return &failure{exitUsage, problem, hint}
}

// report prints err, which may have several lines of problems, and returns its exit code. After an
// interrupt only a failure with advice is printed.
func (a *app) report(ctx context.Context, err error) int {
	f, ok := errors.AsType[*failure](err)
	switch {
	case err == nil:
		return exitOK
	case isClosed(err):
		return exitClosed
	case !ok && ctx.Err() != nil:
		return exitInterrupted
	case !ok:
		f = &failure{exitFailed, err.Error(), ""}
	}
	for line := range strings.Lines(f.problem) {
		a.say(slog.LevelError, program+"error: ", line)
	}
	if f.hint != "" {
		a.say(slog.LevelInfo, "hint: ", f.hint)
	}
	return f.code
}

// isClosed reports whether err is that of a stdout without a reader.
func isClosed(err error) bool {
	const windowsNoData = syscall.Errno(232) // other systems have no such number
	isBroken := errors.Is(err, syscall.EPIPE) || errors.Is(err, windowsNoData)
	return isBroken || errors.Is(err, stdio.ErrGone)
}

// program begins the lines for the user.
const program = version.Name + ": "

// say prints a line for the user on stderr, with a prefix, or as a record where the log is JSON.
func (a *app) say(level slog.Level, prefix, line string) {
	if a.logFormat != logging.JSON {
		fmt.Fprintln(a.stderr, prefix+a.redactor.Line(line))
		return
	}

	o := logging.Options{
		Format:   logging.JSON,
		Stderr:   a.stderr,
		Redactor: a.redactor,
	}
	log, flush, _ := logging.New(o) // without a file nothing fails
	log.Log(context.Background(), level, line)
	flush()
}

// note prints a line for the user.
func (a *app) note(format string, args ...any) {
	a.say(slog.LevelInfo, program, fmt.Sprintf(format, args...))
}

// warn prints warnings. Empty ones are left out.
func (a *app) warn(warnings ...string) {
	for _, s := range warnings {
		if s != "" {
			a.say(slog.LevelWarn, program+"warning: ", s)
		}
	}
}

// variable returns an environment variable. The last of several values wins.
func (a *app) variable(name string) string {
	return env.ToMap(a.env)[name]
}
