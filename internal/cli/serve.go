package cli

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
)

// grace is how long calls in flight may take to notice that they are over.
const grace = 500 * time.Millisecond

// ancestors are the processes that the npm launcher tells us to belong to, the
// nearest first, or none. They stand between us and the client, and their end
// is not that of the pipes.
func (a *app) ancestors() []int {
	var pids []int
	for word := range strings.SplitSeq(a.variable("OPENAI_RESPONSES_MCP_PARENT"), ",") {
		pid, err := strconv.Atoi(word)
		if err != nil {
			return nil
		}
		pids = append(pids, pid)
	}
	return pids
}

// serve runs the MCP server until the client has gone or ctx ends. Neither is
// an error: it is how every session ends.
func (a *app) serve(ctx context.Context, w *wiring) error {
	s := server.New(server.Options{
		Ask:        w.answerer.Ask,
		Explain:    w.answerer.Explain,
		Structured: w.config.Server.StructuredContent,
		Redact:     w.redact,
		Debug:      w.config.Server.Debug,
		Log:        w.log,
	})
	t := &stdio.Transport{
		In:        a.stdin,
		Out:       a.stdout,
		Lines:     w.config.LineMode,
		Ancestors: a.ancestors(),
		Methods:   server.Methods(),
		Log:       w.log,
	}
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, t) }()
	select {
	case err := <-ended:
		if ctx.Err() != nil || errors.Is(err, stdio.ErrGone) || errors.Is(err, syscall.EPIPE) {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	// A write to a client that does not read may hang for ever.
	select {
	case err := <-ended:
		w.log.Debug("the session was ended", "err", err)
	case <-time.After(grace):
	}
	return nil
}
