package cli

import (
	"errors"
	"io"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/stdio"
)

// A server that ends before its response fails the session.
func TestPeerEarlyEnd(t *testing.T) {
	serverIn, in := io.Pipe()
	out, serverOut := io.Pipe()
	p := &peer{in: in, out: out, reader: stdio.NewReader(out), framed: true, ended: make(chan error, 1)}
	go func() {
		_, _ = stdio.NewReader(serverIn).Read()
		p.ended <- nil
		_ = serverOut.Close()
	}()
	p.call("ping", nil)
	if err := p.end(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the session ends with %v, want an unexpected end", err)
	}
}
