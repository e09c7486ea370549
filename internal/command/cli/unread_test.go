package cli

import (
	"context"
	"io"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// unreadPipe is a pipe that nothing reads. A write to it interrupts the command.
type unreadPipe struct {
	interrupt context.CancelFunc
	end       chan struct{}
}

func (p unreadPipe) Write([]byte) (int, error) {
	p.interrupt()
	<-p.end
	return 0, io.ErrClosedPipe
}

// An interrupted command ends, although nothing reads its output.
func TestUnreadOutput(t *testing.T) {
	for _, command := range []string{"ask", "smoke"} {
		t.Run(command, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			stdout := unreadPipe{interrupt, make(chan struct{})}
			defer close(stdout.end)
			code := Run(ctx, []string{command, "--offline", "x"}, nil, nil, stdout, io.Discard)
			compare.Equal(t, "exit code", code, exitInterrupted)
		})
	}
}
