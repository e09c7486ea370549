package cli

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// server is the program without a command: --stdio, --show-config and --version.
func (a *app) server(ctx context.Context, args []string) error {
	f := newFlags("")
	serve := f.Bool("stdio", false, "")
	show := f.Bool("show-config", false, "")
	number := f.Bool("version", false, "")
	words, err := f.parse(joinDebug(args))
	switch {
	case err != nil:
		return err
	case len(words) > 0:
		return usageError("a command goes first, before its flags; "+f.seeHelp(), "unexpected argument %q", words[0])
	case *number:
		_, err := fmt.Fprintln(a.stdout, version.String())
		return err
	case !*serve && !*show:
		return usageError("MCP clients start it with --stdio; "+f.seeHelp(), "nothing to do")
	}
	d, err := a.build(f)
	if err != nil {
		return err
	}
	defer d.close()
	if *show || d.config.Server.ShowConfigOnStart {
		if _, err := a.stderr.Write(escape(d.config.Show(version.String()))); err != nil {
			return fmt.Errorf("writing the configuration to stderr: %w", err)
		}
	}
	if !*serve {
		return nil
	}
	t := &stdio.Transport{In: a.stdin, Out: a.stdout, Lines: d.config.LineMode, Log: d.log}
	d.server.Tasks = d.config.Server.Tasks
	session, end := context.WithCancel(context.WithoutCancel(ctx))
	defer end() // cancels the tasks
	mcp := server.New(d.server).MCP(session)
	ended := make(chan error, 2)
	go func() { ended <- mcp.Run(ctx, t) }()
	// After a signal the session has half a second to end: a write can block forever.
	stop := context.AfterFunc(ctx, func() { time.AfterFunc(time.Second/2, func() { ended <- nil }) })
	defer stop()
	err = <-ended
	if ctx.Err() != nil || errors.Is(err, stdio.ErrGone) || errors.Is(err, syscall.EPIPE) {
		return nil // the end of the client or of ctx is no error
	}
	return err
}
