package cli

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/command/clients"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/service"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// rootFlags are the flags of the program without a command.
type rootFlags struct {
	*app
	stdio      bool
	showConfig bool
	version    bool
}

// rootCommand returns the program without a command: --stdio, --show-config and --version.
func (a *app) rootCommand() *cobra.Command {
	f := &rootFlags{app: a}
	models := call.MapTools(func(t call.Tool) string { return t.Variable })
	c := &cobra.Command{
		Use:   version.Name + " --stdio [flags]\n  " + version.Name + " COMMAND [flags]",
		Short: "web-searched, cited answers for MCP clients",
		Long: `Web-searched, cited answers from the OpenAI Responses API, for MCP clients.

Environment:

    OPENAI_API_KEY       the key; calls fail until it is set
    OPENAI_API_KEY_FILE  a file that contains the key instead, read again when it
                         changes; without both, the key that login has stored
    OPENAI_BASE_URL      the API, for a compatible server or a gateway
    ` + strings.Join(models, ", ") + `
                         the models of the tools
    DEBUG                1 logs to stderr, a path such as ./debug.log to a file, too
    HTTPS_PROXY          the proxy for requests
    NO_PROXY             hosts that are reached without the proxy
    SSL_CERT_FILE        root certificates to trust; macOS and Windows use their store
    NO_COLOR             no colors and links in a terminal

Files:

    ~/.config/openai-responses-mcp/config.yaml     the configuration
    ~/.config/openai-responses-mcp/OPENAI_API_KEY  the key that login has stored

On Windows both are in %APPDATA%\openai-responses-mcp.

Precedence:

Flags win over variables, variables over the file, and the file over the defaults. An
empty variable counts as unset. The configuration reference has all variables and keys:
https://github.com/uchimanajet7/openai-responses-mcp/blob/main/docs/reference/config-reference.md

Exit status:

0 fine, 1 failed, 2 wrong usage, 130 interrupted, 141 stdout closed.`,
		Args:          noWords,
		SilenceErrors: true, // reportError prints them
		SilenceUsage:  true,
		RunE:          f.run,
	}

	flags := c.Flags()
	flags.BoolVar(&f.stdio, "stdio", false,
		"serve MCP on stdin and stdout; this is what a client's configuration runs")
	flags.BoolVar(&f.showConfig, "show-config", false,
		"print the effective configuration as JSON on stderr; with --stdio the server then goes on")
	f.addCommon(c, call.DefaultTool)
	flags.BoolVarP(&f.version, "version", "v", false, "print the version")
	return c
}

// run does what the flags say.
func (f *rootFlags) run(c *cobra.Command, _ []string) error {
	if f.version {
		_, err := fmt.Fprintln(f.stdout, version.String())
		return err
	}
	if !f.stdio && !f.showConfig {
		hint := "MCP clients start it with --stdio; " + seeHelp(c)
		if f.onTerminal() {
			hint = strings.ReplaceAll("run $ME login, then $ME setup CLIENT; "+
				`$ME ask "QUESTION" answers here, and $ME --help lists all`, "$ME", version.Name)
		}
		return usageError(hint, "nothing to do")
	}

	f.silent = !f.stdio
	f.options.OnePerson = f.stdio
	s, err := f.loadService()
	if err != nil {
		return err
	}
	defer s.Close()

	if f.showConfig || s.Config.Server.ShowConfigOnStart {
		_, err = f.stderr.Write(text.EscapeJSON(s.ConfigJSON()))
	}
	if err != nil || !f.stdio {
		return err
	}
	return f.serveStdio(c.Context(), s)
}

// serveStdio runs a session on stdin and stdout. It returns within a second after ctx ends.
func (a *app) serveStdio(ctx context.Context, s *service.Service) error {
	if a.onTerminal() {
		a.note("waiting for JSON-RPC messages of an MCP client on stdin")
	}

	eof := make(chan struct{}) // closed by the transport at the end of stdin
	files := s.NewFiles()
	o, err := a.newServerOptions(s, files,
		server.DetachOptions{EOF: eof}, budget.Options{DefaultID: a.quotaID()})
	if err != nil {
		return err
	}
	o.Needs = a.needs(s)
	srv := server.New(o)
	defer srv.Close()
	t := &stdio.Transport{
		In:       a.stdin,
		Out:      a.stdout,
		LineMode: s.Config.LineMode,
		Methods:  server.Methods,
		Log:      s.Log,
		EOF:      eof,

		Undelivered: srv.CancelUndelivered,
	}

	// Without a store, Probe returns at once.
	err = runSession(ctx, srv, t, files.Follow, o.Budget.Store.Probe)
	switch {
	case ctx.Err() != nil || isClosed(err): // so a client ends a session: 0, not 130 or 141
		return nil
	case err == nil && t.ReceivedNothing():
		return &failure{ // such as after docker run without -i
			exitFailed,
			"stdin was closed before an MCP client sent anything",
			"keep stdin open, in Docker with docker run -i; serve --http needs no stdin",
		}
	}
	return err
}

// runSession runs a session of srv on t. The loops run until the session ends.
//
// A signal ends ctx, which ends the connection. Then the SDK cancels the calls of requests with
// call.ErrShutdown as the cause. They have half a second to cancel their responses at the API, and
// write no answers. Detached calls go on until the caller closes srv.
func runSession(
	ctx context.Context, srv *server.Server, t *stdio.Transport, loops ...func(context.Context),
) error {
	// sessionCtx ends after the connection, because calls need the loops. It ends no call by
	// itself: connectionCtx ends those of requests, and srv.Close those that are detached.
	sessionCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	for _, run := range loops {
		go run(sessionCtx)
	}

	sdkServer := srv.SDKServer(sessionCtx, call.Person{})
	ended := make(chan error, 2)
	connectionCtx, disconnect := context.WithCancelCause(context.WithoutCancel(ctx))
	defer disconnect(nil)
	go func() { ended <- sdkServer.Run(connectionCtx, t) }()

	giveUp := func() { ended <- nil }
	stop := context.AfterFunc(ctx, func() {
		disconnect(call.ErrShutdown)
		time.AfterFunc(time.Second/2, giveUp) // a write can block forever
	})
	defer stop()
	return <-ended
}

// onTerminal reports whether stdin is a terminal.
func (a *app) onTerminal() bool {
	in, ok := a.stdin.(*os.File)
	return ok && term.IsTerminal(int(in.Fd()))
}

// quotaID returns the ID under which the quotas of stdio are counted, where people have no ID: the
// name of the user or, if there is none, as in a container, that of the machine.
func (a *app) quotaID() string {
	host, _ := os.Hostname()
	return "user:" + cmp.Or(a.variable("USER"), a.variable("USERNAME"), host)
}

// needs returns a function for what a client needs, by the name that it sends
// (clients.FixedVariablesOf). A setting of the configuration takes precedence.
func (a *app) needs(s *service.Service) func(client string) server.Needs {
	return func(client string) (n server.Needs) {
		variables := clients.FixedVariablesOf(client) // a copy
		if s.Config.IsSet("server.answer_within_ms") {
			delete(variables, "ANSWER_WITHIN_MS")
		}
		if s.Config.IsSet("server.tool_errors") {
			delete(variables, "TOOL_ERRORS")
		}
		ms, _ := strconv.Atoi(variables["ANSWER_WITHIN_MS"]) // 0 if there is none
		n.DetachAfter = time.Duration(ms) * time.Millisecond
		n.ToolErrors = variables["TOOL_ERRORS"]
		if len(variables) > 0 {
			// To the log: a write to stderr can block, and all requests wait for this one.
			s.Log.Warn("settings for " + client + ", where you have none: " +
				strings.Join(assignments(variables), " "))
		}
		return n
	}
}
