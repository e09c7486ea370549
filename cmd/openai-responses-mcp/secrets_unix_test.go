//go:build unix

package main_test

import (
	"context"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// A dump of the goroutines shows no secret: it holds addresses of strings
// and not their bytes.
func TestSecretsInDump(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	asked := make(chan struct{}, 1)
	e := newEcho(t, func(_ http.ResponseWriter, r *http.Request, _ string) {
		asked <- struct{}{}
		select {
		case <-hang:
		case <-r.Context().Done():
		}
	})
	t.Cleanup(func() { close(hang) })
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := start(ctx, e.home, e.env(), "--stdio", "--debug")
	if err != nil {
		t.Fatal(err)
	}
	if err := p.send(initialize + "\n" + initialized + "\n" + ask("1", "x") + "\n"); err != nil {
		t.Fatal(err)
	}
	<-asked
	if err := p.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	<-p.ended
	text := p.stderr.String()
	if !strings.Contains(text, "goroutine ") {
		t.Errorf("no dump: %s", text)
	}
	if part := leaked(text); part != "" {
		t.Errorf("the dump gives away %q:\n%s", part, text)
	}
}
