// Package cli is the command line (spec §5.5, §14): it reads flags, wires the
// other packages together, and turns their errors into messages and exit codes.
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
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 130 // what shells give a program that Ctrl-C has ended
	exitUnread      = 141 // and one that a closed pipe has ended, as in `ask | head`
)

// app is one invocation: everything that it reads and writes.
type app struct {
	env            []string
	stdin          io.Reader
	stdout, stderr io.Writer
}

// Run executes the command line args (without the program's name) and returns
// the exit code: 0 fine, 1 failed, 2 wrong usage, 130 interrupted, 141 when
// nobody reads the output any more. env is as os.Environ gives it. When ctx
// ends, so does Run, within a second.
func Run(ctx context.Context, args, env []string, stdin io.Reader, stdout, stderr io.Writer) int {
	a := &app{env: env, stdin: stdin, stdout: stdout, stderr: stderr}
	return a.report(a.run(ctx, args))
}

// run picks the sub-command.
func (a *app) run(ctx context.Context, args []string) error {
	if len(args) == 0 {
		return &usageError{problem: "nothing to do", hint: "MCP clients start it with --stdio; see --help"}
	}
	if command := a.command(args[0]); command != nil {
		return command(ctx, args[1:])
	}
	return a.root(ctx, args)
}

// command is the sub-command of that name, or nil.
func (a *app) command(name string) func(ctx context.Context, args []string) error {
	switch name {
	case "ask":
		return a.ask
	case "smoke":
		return a.smoke
	case "doctor":
		return a.doctor
	case "setup":
		return func(_ context.Context, args []string) error { return a.setup(args) }
	case "help":
		return func(context.Context, []string) error { return a.help() }
	}
	return nil
}

// usageError is a command line that cannot be carried out.
type usageError struct {
	problem string
	hint    string
}

func (e *usageError) Error() string { return e.problem }

// hinted is an error with advice for the person at the terminal.
type hinted struct {
	error
	hint string
}

func (e *hinted) Unwrap() error { return e.error }

// report prints err, if any, and returns the exit code it means.
func (a *app) report(err error) int {
	switch {
	case err == nil:
		return exitOK
	case errors.Is(err, errTold):
		return exitFailed
	case errors.Is(err, errInterrupted):
		return exitInterrupted
	case errors.Is(err, errUnread), unread(err):
		return exitUnread
	}
	code, hint := exitFailed, ""
	var usage *usageError
	var h *hinted
	switch {
	case errors.As(err, &usage):
		code, hint = exitUsage, usage.hint
	case errors.As(err, &h):
		hint = h.hint
	}
	fmt.Fprintf(a.stderr, "%s: error: %s\n", version.Name, a.shown(err.Error()))
	if hint != "" {
		fmt.Fprintf(a.stderr, "hint: %s\n", plain(hint))
	}
	return code
}

// unread reports that err is a write of output whose reader has gone: it has
// what it wanted, and there is nothing to say.
func unread(err error) bool {
	e, ok := errors.AsType[*fs.PathError](err)
	if !ok || e.Path != os.Stdout.Name() && e.Path != os.Stderr.Name() {
		return false
	}
	if runtime.GOOS == "windows" { // ERROR_BROKEN_PIPE, ERROR_NO_DATA
		return errors.Is(e, syscall.Errno(109)) || errors.Is(e, syscall.Errno(232))
	}
	return errors.Is(e, syscall.EPIPE)
}

// shown is a message without a key that stands where it does not belong, a
// flag for example, and safe to print.
func (a *app) shown(text string) string {
	return plain(logging.Redact(a.keys()...)(text))
}

// keys are what the environment holds as keys, by the names of the variables:
// no configuration is read yet that could say which.
func (a *app) keys() []string {
	var keys []string
	for _, kv := range a.env {
		if name, value, _ := strings.Cut(kv, "="); strings.HasSuffix(name, "API_KEY") {
			keys = append(keys, value)
		}
	}
	return keys
}

// warn prints one warning.
func (a *app) warn(text string) {
	fmt.Fprintf(a.stderr, "%s: warning: %s\n", version.Name, a.shown(text))
}

// note tells the person at the terminal something that is no answer.
func (a *app) note(format string, args ...any) {
	fmt.Fprintf(a.stderr, "%s: %s\n", version.Name, plain(fmt.Sprintf(format, args...)))
}

// variable returns an environment variable; the last of several wins.
func (a *app) variable(name string) string {
	for _, kv := range slices.Backward(a.env) {
		if v, ok := strings.CutPrefix(kv, name+"="); ok {
			return v
		}
	}
	return ""
}

// home is the user's folder, where config looks for it as well.
func (a *app) home() string {
	if runtime.GOOS == "windows" {
		return a.variable("USERPROFILE")
	}
	return a.variable("HOME")
}
