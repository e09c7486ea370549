// Package cli is the command line: it parses flags, wires the other packages
// together, and turns their errors into messages and exit codes (spec §5.5).
//
//	cli.go        the commands, errors and exit codes
//	flags.go      the flags that commands share, suggestions, usage texts
//	wire.go       the configuration, as the options of the other packages
//	guide.go      the settings that advice about errors names
//	stdio.go      --stdio, --show-config and --version
//	serve.go      serve --http
//	ask.go        ask, with events.go for --events
//	screen.go     ask in a terminal, with wrap.go and terminal.go
//	smoke.go      smoke
//	doctor.go     doctor
//	setup.go      setup
package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
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
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
	redactor       *logging.Redactor // knows the secrets of the configuration once it is loaded
	logsCalls      bool              // log each call, also without debug
}

// Run executes the command line args, without the program's name, and returns
// the exit code: 0 fine, 1 failed, 2 wrong usage, 130 interrupted, 141 stdout
// closed. env has the form of os.Environ. Run returns within a second after ctx
// has ended.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	return a.report(a.run(ctx, args))
}

// command is one command of the command line.
type command struct {
	name string
	run  func(ctx context.Context, args []string) error
}

func (a *app) commands() []command {
	return []command{
		{"serve", a.serve},
		{"ask", a.ask},
		{"smoke", a.smoke},
		{"doctor", a.doctor},
		{"setup", func(_ context.Context, args []string) error { return a.setup(args) }},
		{"help", a.help},
	}
}

// run executes the command that args begins with. Without one they are the
// flags of the server. A command returns errHelp to have its usage printed.
func (a *app) run(ctx context.Context, args []string) error {
	name, run := "", a.root
	for _, c := range a.commands() {
		if len(args) > 0 && args[0] == c.name {
			name, run, args = c.name, c.run, args[1:]
			break
		}
	}
	err := run(ctx, args)
	if errors.Is(err, errHelp) {
		return a.usage(name)
	}
	return err
}

// usageError is a command line that is wrong.
type usageError struct {
	problem string
	hint    string
}

func (e *usageError) Error() string { return e.problem }

// hinted is an error with advice for the user.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

var (
	errInterrupted = errors.New("interrupted")
	errClosed      = errors.New("stdout is closed")
	errReported    = errors.New("the error is printed already")
)

// report prints err and returns its exit code. Each line of an error is a
// message of its own: a configuration can have several problems.
func (a *app) report(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errReported):
		return exitFailed
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errClosed), brokenPipe(err):
		return exitClosed
	}
	code, hint := exitFailed, ""
	if e, ok := errors.AsType[*usageError](err); ok {
		code, hint = exitUsage, e.hint
	} else if e, ok := errors.AsType[*hinted](err); ok {
		hint = e.hint
	}
	for line := range strings.Lines(err.Error()) {
		a.note("error: %s", line)
	}
	if hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", a.oneLine(hint))
	}
	return code
}

// note prints a line for the user on stderr.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "%s: %s\n", version.Name, a.oneLine(fmt.Sprintf(format, args...)))
}

// warn prints a warning.
func (a *app) warn(s string) { a.note("warning: %s", s) }

// oneLine returns s as one line without secrets and control characters.
func (a *app) oneLine(s string) string { return text.OneLine(a.redactor.Redact(s)) }

// brokenPipe reports whether err is a write to stdout or stderr after the
// reader has closed the pipe.
func brokenPipe(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok || e.Path != os.Stdout.Name() && e.Path != os.Stderr.Name() {
		return false
	}
	const windowsNoData = syscall.Errno(232)
	return errors.Is(e, syscall.EPIPE) || runtime.GOOS == "windows" && errors.Is(e, windowsNoData)
}

// variable returns an environment variable. The last of several values wins.
func (a *app) variable(name string) string {
	for _, kv := range slices.Backward(a.env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// home returns the user's home folder.
func (a *app) home() string {
	if runtime.GOOS == "windows" {
		return a.variable("USERPROFILE")
	}
	return a.variable("HOME")
}
