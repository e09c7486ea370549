package cli

import (
	"context"
	"fmt"
	"os"
	"time"

	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// server is the program without a command: --stdio, --show-config and --version.
func (a *app) server(ctx context.Context, args []string) error {
	f := newFlags("")
	runsStdio := f.Bool("stdio", false, "")
	show := f.Bool("show-config", false, "")
	printsVersion := f.Bool("version", false, "")
	f.BoolVar(printsVersion, "v", false, "")
	err := f.parseAll(args)
	if err != nil {
		return err
	}

	if *printsVersion {
		_, err := fmt.Fprintln(a.stdout, version.String())
		return err
	}
	if !*runsStdio && !*show {
		return usageError("MCP clients start it with --stdio; "+f.seeHelp(), "nothing to do")
	}

	f.show = !*runsStdio
	s, err := a.build(f)
	if err != nil {
		return err
	}
	defer s.close()

	if *show || s.Config.Server.ShowConfigOnStart {
		_, err = a.stderr.Write(escape(s.Config.Show(version.String(), s.warnings...)))
	}
	if err != nil || !*runsStdio {
		return err
	}
	return a.serveStdio(ctx, s)
}

// serveStdio runs a session on stdin and stdout. It ends within a second after ctx.
func (a *app) serveStdio(ctx context.Context, s *service) error {
	t := &stdio.Transport{
		In:    a.stdin,
		Out:   a.stdout,
		Lines: s.Config.LineMode,
		Log:   s.log,
		EOF:   make(chan struct{}),
	}
	in, isFile := a.stdin.(*os.File)
	if isFile && term.IsTerminal(int(in.Fd())) {
		a.note("waiting for JSON-RPC messages of an MCP client on stdin")
	}
	s.server.Last = t.EOF
	err := a.outlive(s, false)
	if err != nil {
		return err
	}

	session, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end()
	go s.followKey(session)
	srv := server.New(s.server)
	defer srv.Close()
	mcp := srv.MCP(session)
	ended := make(chan error, 2)
	go func() { ended <- mcp.Run(ctx, t) }()

	// After a signal the session has half a second to end: a write can block forever.
	giveUp := func() { ended <- nil }
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second/2, giveUp) })
	defer stop()

	err = <-ended
	if ctx.Err() != nil || isClosed(err) {
		return nil
	}
	return err
}
