//go:build unix

package main_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// A signal ends the program within a second, whatever is in flight.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			withinSecond(t, func() time.Duration {
				c := begin(t, setup{api: newAPI(t, "always", "hang")})
				c.line(ask("1", "hang"), ask("2", "hang"))
				c.requests(2)
				return c.kill(sig)
			})
		})
	}
}

// Nor is a retry waited for, or a session that never began.
func TestSignalWhileWaiting(t *testing.T) {
	t.Parallel()
	t.Run("for a retry", func(t *testing.T) {
		t.Parallel()
		withinSecond(t, func() time.Duration {
			c := begin(t, setup{api: newAPI(t, "429:retry-after=50"), args: []string{"--debug"}})
			c.line(ask("1", "HTTP 404"))
			c.logged("openai(client): error")
			return c.kill(syscall.SIGTERM)
		})
	})
	t.Run("for initialize", func(t *testing.T) {
		t.Parallel()
		withinSecond(t, func() time.Duration {
			c := serve(t, setup{})
			c.line("not JSON")
			c.want("null") // it is up
			return c.kill(syscall.SIGTERM)
		})
	})
	t.Run("after the end of the input", func(t *testing.T) {
		t.Parallel()
		withinSecond(t, func() time.Duration {
			c := begin(t, setup{api: newAPI(t, "always", "hang")})
			c.line(ask("1", "hang"))
			c.requests(1)
			if err := c.stdin.Close(); err != nil {
				t.Fatal(err)
			}
			return c.kill(syscall.SIGTERM)
		})
	})
}

// A client that has stopped reading holds nobody up.
func TestSignalWhileNobodyReads(t *testing.T) {
	t.Parallel()
	withinSecond(t, func() time.Duration {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		cmd := exec.CommandContext(ctx, binary, "--stdio")
		cmd.Env = environment(t.TempDir())
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		// More answers than a pipe holds. Writing ends with the program.
		go func() { _, _ = io.WriteString(in, strings.Repeat(ping1+"\n", 20000)) }()
		if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		state, err := cmd.Process.Wait()
		took := time.Since(begin)
		if err != nil || !state.Success() {
			t.Errorf("the program ended with %v, %v", state, err)
		}
		_ = in.Close()
		_ = out.Close()
		return took
	})
}

// kill sends a signal and measures how long the program takes to end.
func (c *client) kill(sig os.Signal) time.Duration {
	c.t.Helper()
	begin := time.Now()
	if err := c.cmd.Process.Signal(sig); err != nil {
		c.t.Fatal(err)
	}
	code, err := c.wait(c.ctx)
	took := time.Since(begin)
	if err != nil || code != 0 {
		c.t.Errorf("after %v: exit code %d, %v\nstderr: %s", sig, code, err, c.stderr)
	}
	if rest := c.rest(); len(rest) > 0 {
		c.t.Errorf("after %v: hanging calls were answered: %v", sig, rest)
	}
	return took
}

// A client that reads no more leaves no process behind, even with a call
// hanging at the API, whether its other pipe is gone as well or not.
func TestReaderGone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		both bool
	}{{"both pipes", true}, {"stdout", false}} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			ctx, cancel := context.WithTimeout(context.Background(), patience)
			defer cancel()
			a := newAPI(t, "always", "hang")
			in, toProgram := pipe(t)
			fromProgram, out := pipe(t)
			cmd := exec.CommandContext(ctx, binary, "--stdio")
			cmd.Env = environment(t.TempDir(), "OPENAI_BASE_URL="+a.url, "OPENAI_API_KEY="+key)
			cmd.Stdin, cmd.Stdout = in, out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			in.Close()
			out.Close()
			if _, err := io.WriteString(toProgram, initialize+"\n"+ask("1", "hang")+"\n"); err != nil {
				t.Fatal(err)
			}
			if err := a.WaitRequests(ctx, 1); err != nil {
				t.Fatal(err)
			}
			if tt.both {
				toProgram.Close()
			}
			fromProgram.Close()
			if err := a.WaitAborted(ctx, 1); err != nil {
				t.Error(err)
			}
			if err := cmd.Wait(); err != nil {
				t.Errorf("the program ended with %v", err)
			}
		})
	}
}

// pipe closes its ends after the test.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Close()
		w.Close()
	})
	return r, w
}

// smoke, too, is ended by Ctrl-C and not by an error of the server that it ends.
func TestSmokeInterrupted(t *testing.T) {
	t.Parallel()
	a := newAPI(t, "always", "hang")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	p, err := start(ctx, t.TempDir(), environment(t.TempDir(), "OPENAI_BASE_URL="+a.url, "OPENAI_API_KEY="+key), "smoke")
	if err != nil {
		t.Fatal(err)
	}
	if err := a.WaitRequests(ctx, 1); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	code, err := p.wait(ctx)
	if text := p.stderr.String(); code != 130 || err != nil || strings.Contains(text, "error") {
		t.Errorf("exit code %d, %v, want 130\nstderr: %s", code, err, text)
	}
}
