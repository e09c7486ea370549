// Package cli is the command line: commands, flags, texts and exit codes (spec §5.5). Commands that
// answer questions do so with a service.Service.
//
//	cli.go      the commands, errors and exit codes
//	flags.go    the flags that commands share, the checks of values, and the preparation of the
//	            arguments for package cobra
//	stdio.go    --stdio, --show-config and --version
//	serve.go    serve --http, with access.go for who may send requests
//	ask.go      ask, with question.go for the question and events.go for --json and --events
//	login.go    login, which stores the key
//	smoke.go    smoke; doctor.go, quota.go and setup.go have the commands of these names
package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/caarlos0/env/v11"
	"github.com/spf13/cobra"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// Exit codes.
const (
	exitOK          = 0
	exitFailed      = 1
	exitUsage       = 2
	exitInterrupted = 128 + 2  // SIGINT, as a shell reports it
	exitClosed      = 128 + 13 // SIGPIPE, as in `ask … | head`
)

// app is one run of the program, with what the commands share.
type app struct {
	env       []string
	variables map[string]string // env by name; the last of several values counts
	stdin     io.Reader
	stdout    io.Writer
	stderr    io.Writer
	redactor  *redact.Redactor // service.New adds the secrets of the configuration

	// listen and options.Dial reach the network, in place of which tests have one in memory.
	listen func(address string) (net.Listener, error)

	// The flags and the command set the fields below. newService completes a copy of the options.
	// options.LogFormat is also the format of lines that are not of the log: "" is text.
	config            config.Flags
	options           service.Options
	offlineWithoutKey bool // without a key loadService uses the offline API, for smoke
	silent            bool // no warnings, which the JSON of --show-config has, and no note of --offline
}

// Run executes the command line args, which lack the program's name, and returns the exit code: 0
// fine, 1 failed, 2 wrong usage, 130 interrupted, 141 stdout closed. A session on stdio that its
// client or a signal ends is fine. environ has the form of os.Environ. Run returns within endTimeout
// after ctx ends, or half a second later if stderr is blocked, also if nothing reads stdout; only serve
// first lets its calls finish. A session on stdio ends within a second.
func Run(ctx context.Context, args, environ []string, stdin io.Reader, stdout, stderr io.Writer) int {
	if runtime.GOOS == "windows" {
		environ = withUpperCase(environ)
	}
	a := &app{
		env:       environ,
		variables: env.ToMap(environ),
		stdin:     stdin,
		stdout:    stdout,
		stderr:    stderr,
		redactor:  redact.New(),
		listen:    listen,
	}
	return a.reportError(ctx, a.execute(ctx, args))
}

// withUpperCase returns environ with a copy of each variable under its name in upper case: Windows
// compares names without case. If both are there already, that in upper case stays.
func withUpperCase(environ []string) []string {
	var upper []string
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		upper = append(upper, strings.ToUpper(name)+"="+value)
	}
	return append(upper, environ...)
}

// Command returns the commands with their flags, for documents.
func Command() *cobra.Command {
	return new(app).command()
}

// command returns the program as a cobra command, with all commands below it.
func (a *app) command() *cobra.Command {
	root := a.rootCommand()
	root.AddCommand(
		a.serveCommand(),
		a.askCommand(),
		a.smokeCommand(),
		a.loginCommand(),
		a.doctorCommand(),
		a.setupCommand(),
		a.quotaCommand(),
	)
	root.SetOut(a.stdout)
	root.SetFlagErrorFunc(flagError)
	root.CompletionOptions.SetDefaultShellCompDirective(cobra.ShellCompDirectiveNoFileComp)
	addHelpAndCompletion(root)
	addValueChecks(root)
	return root
}

// addHelpAndCompletion adds the commands help and completion of package cobra, with texts in the
// style of this program.
func addHelpAndCompletion(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	helper, _, _ := root.Find([]string{"help"}) // no error: both commands exist
	helper.Short = "print the help of a command"
	completion, _, _ := root.Find([]string{"completion"})
	completion.Use = "completion bash|zsh|fish|powershell"
	completion.Short = "print a completion script for bash, zsh, fish or powershell"
	completion.Long = "Print a completion script. The help of each shell says how to load it."
	completion.DisableFlagsInUseLine = true

	for _, shell := range completion.Commands() {
		shell.Short = "print the completion script for " + shell.Name()
		shell.Long = strings.ReplaceAll(shell.Long, "#### ", "")
		shell.Args = noWords
	}
}

// execute executes the command line args.
func (a *app) execute(ctx context.Context, args []string) error {
	root := a.command()
	args, err := a.prepareArgs(root, args)
	if err != nil {
		return err
	}

	var helpErr error // of writing the help
	root.SetHelpFunc(func(c *cobra.Command, _ []string) {
		_, helpErr = io.WriteString(a.stdout, help(c))
	})
	root.SetArgs(args)
	root.SetErr(a.stderr)
	c, _, _ := root.Find(args) // before the goroutine changes the commands
	done := make(chan error, 1)
	go func() {
		err := root.ExecuteContext(ctx)
		done <- cmp.Or(err, helpErr)
	}()

	unread := make(chan struct{}) // closed if the command does not end: nothing reads its output
	if c != root && c.Name() != "serve" {
		stop := context.AfterFunc(ctx, func() { time.AfterFunc(endTimeout, func() { close(unread) }) })
		defer stop()
	}
	select {
	case err := <-done:
		return err
	case <-unread:
		return ctx.Err()
	}
}

// endTimeout is how long a command may take to end after its context. ask needs up to 3 s, to cancel
// its response.
const endTimeout = 4 * time.Second

// commandsInOrder lists the commands in the order in which a new user needs them.
const commandsInOrder = "login setup doctor ask smoke serve quota completion help"

// help returns the text of --help.
func help(c *cobra.Command) string {
	const environment = "\n\nEnvironment:\n"
	about, variables, ok := strings.Cut(c.Long, environment)
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", strings.TrimSpace(about), c.UseLine())
	if !c.HasParent() {
		b.WriteString("\nCommands:\n")
		for name := range strings.FieldsSeq(commandsInOrder) {
			sub, _, _ := c.Find([]string{name}) // no error: the command exists
			fmt.Fprintf(&b, "  %-12s%s\n", name, sub.Short)
		}
	}

	debug := c.Flags().Lookup("debug")
	if debug != nil {
		debug.NoOptDefVal = "PATH" // what FlagUsagesWrapped shows for the optional value
	}
	fmt.Fprintf(&b, "\nFlags:\n%s", c.Flags().FlagUsagesWrapped(96))
	if c.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", c.Example)
	}
	if ok {
		fmt.Fprintln(&b, environment[1:]+variables)
	}
	return b.String()
}

// loadService loads the configuration and builds the service. It prints the warnings, unless
// a.silent is set.
func (a *app) loadService() (*service.Service, error) {
	cfg, warnings, err := config.Load(a.config, a.env)
	if err != nil {
		a.warn(warnings...)
		if config.IsMissing(err) {
			err = usageError("check the path that --config names", "%v", err)
		}
		return nil, err
	}

	isKeyless := !cfg.HasCredential && cfg.APIKeyErr == nil // that error is about the file of a key
	if isKeyless && a.offlineWithoutKey && !a.options.Offline {
		a.note("%s is not set: smoke uses the offline API", cfg.CredentialVariable)
		a.options.Offline = true
	}
	s, err := a.newService(cfg, warnings)
	if err == nil && !a.silent {
		a.warn(s.Warnings...)
	}
	return s, err
}

// newService builds the service of a configuration. From now on the redactor of the app redacts its
// secrets.
func (a *app) newService(cfg *config.Config, warnings []string) (*service.Service, error) {
	o := a.options
	o.Config = cfg
	o.Warnings = warnings
	o.Stderr = a.stderr
	o.Redactor = a.redactor
	o.Getenv = a.variable
	s, err := service.New(o)
	if err == nil && o.Offline && !a.silent {
		a.note("offline: answers are samples from the built-in fake API")
	}
	return s, err
}

// newServerOptions returns the options of an MCP server that both transports share. detach and
// quotas have those of their fields that differ by transport: OverHTTP and EOF, DefaultID and
// RefuseWithoutStore. The caller sets other options of its transport in o.
func (a *app) newServerOptions(
	s *service.Service, files *service.Files, detach server.DetachOptions, quotas budget.Options,
) (o server.Options, err error) {
	detach, warning, err := s.CompleteDetachOptions(detach)
	if err != nil {
		return o, usageError("", "%v", err)
	}
	a.warn(warning)
	b, err := s.NewBudget(quotas, files)
	if err != nil {
		return o, usageError("", "%v", err)
	}

	o = s.ServerOptions()
	o.Detach = detach
	o.Budget = b
	return o, nil
}

// failure is an error with an exit code and advice.
type failure struct {
	code    int
	problem string // one or more lines
	hint    string // what to do, or ""
}

func (f *failure) Error() string {
	return f.problem
}

// usageError returns the failure for a wrong command line or environment.
func usageError(hint, format string, args ...any) error {
	problem := fmt.Sprintf(format, args...)
	return &failure{exitUsage, problem, hint}
}

// reportError prints err and its hint, and returns the exit code. After an interrupt it prints
// nothing, unless err is a *failure.
func (a *app) reportError(ctx context.Context, err error) int {
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
		a.say(slog.LevelError, linePrefix+"error: ", line)
	}
	if f.hint != "" {
		a.say(slog.LevelInfo, "hint: ", f.hint)
	}
	return f.code
}

// closedOnWindows are the errors of Windows for a pipe without a reader. On other systems the same
// numbers mean something else.
var closedOnWindows = []syscall.Errno{
	109, // ERROR_BROKEN_PIPE: the reader has closed the pipe while a write waited
	232, // ERROR_NO_DATA: it had closed the pipe before
	233, // ERROR_PIPE_NOT_CONNECTED: it was disconnected
}

// isClosed reports whether err means that stdout has no reader.
func isClosed(err error) bool {
	number, ok := errors.AsType[syscall.Errno](err)
	onWindows := runtime.GOOS == "windows" && ok && slices.Contains(closedOnWindows, number)
	return errors.Is(err, syscall.EPIPE) || onWindows || errors.Is(err, stdio.ErrReaderGone)
}

// linePrefix is the prefix of lines for the user.
const linePrefix = version.Name + ": "

// say prints a line for the user on stderr: with a prefix or, if the format of the log is JSON, as
// a record of the log.
func (a *app) say(level slog.Level, prefix, line string) {
	if a.options.LogFormat != logging.JSON {
		fmt.Fprintln(a.stderr, prefix+a.redactor.Line(line))
		return
	}

	o := logging.Options{
		Format:   logging.JSON,
		Stderr:   a.stderr,
		Redactor: a.redactor,
	}
	log, closeLog, _ := logging.New(o) // no error: only a file can fail
	log.Log(context.Background(), level, line)
	closeLog()
}

// note prints a line for the user on stderr.
func (a *app) note(format string, args ...any) {
	a.say(slog.LevelInfo, linePrefix, fmt.Sprintf(format, args...))
}

// warn prints the warnings that are not empty on stderr.
func (a *app) warn(warnings ...string) {
	for _, s := range warnings {
		if s != "" {
			a.say(slog.LevelWarn, linePrefix+"warning: ", s)
		}
	}
}

// variable returns the value of an environment variable, or "".
func (a *app) variable(name string) string {
	return a.variables[name]
}
