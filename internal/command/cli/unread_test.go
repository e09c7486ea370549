package cli

import (
	"context"
	"io"
	"strings"
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
	for _, command := range []string{"ask x", "smoke x", "doctor"} {
		t.Run(command, func(t *testing.T) {
			t.Parallel()
			ctx, interrupt := context.WithCancel(t.Context())
			stdout := unreadPipe{interrupt, make(chan struct{})}
			defer close(stdout.end)
			code := Run(ctx, strings.Fields(command+" --offline"), nil, nil, stdout, io.Discard)
			compare.Equal(t, "exit code", code, exitInterrupted)
		})
	}
}
