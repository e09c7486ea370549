//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// within runs what must take less than a second. A busy machine gets three tries.
func within(t *testing.T, try func() time.Duration) {
	t.Helper()
	var took time.Duration
	for range 3 {
		if took = try(); took < time.Second {
			return
		}
	}
	t.Errorf("took %v, want less than a second", took)
}

func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

func requests(t *testing.T, api *fakeapi.Server, n int) {
	t.Helper()
	if err := api.WaitRequests(deadline(t), n); err != nil {
		t.Fatalf("waiting for %d requests: %v", n, err)
	}
}

func aborted(t *testing.T, api *fakeapi.Server, n int) {
	t.Helper()
	if err := api.WaitAborted(deadline(t), n); err != nil {
		t.Fatalf("waiting for %d aborted requests: %v", n, err)
	}
}

// kill sends a signal and returns how long the server takes to end, without
// answers and with exit code 0.
func kill(t *testing.T, c *client, sig syscall.Signal) time.Duration {
	t.Helper()
	begin := time.Now()
	if err := c.cmd.Process.Signal(sig); err != nil {
		t.Fatal(err)
	}
	code, rest := c.end()
	if code != 0 || len(rest) > 0 {
		t.Errorf("after %v: exit code %d, messages %v\n%s", sig, code, rest, c.log())
	}
	return time.Since(begin)
}

// A signal ends the session within a second, whatever it waits for.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		step string
		wait func(c *client, api *fakeapi.Server)
	}{
		{"a call", syscall.SIGTERM, "hang", func(*client, *fakeapi.Server) {}},
		{"a call", syscall.SIGINT, "hang", func(*client, *fakeapi.Server) {}},
		{"a call", syscall.SIGHUP, "hang", func(*client, *fakeapi.Server) {}},
		{"a retry", syscall.SIGTERM, "429:retry-after=50", func(c *client, _ *fakeapi.Server) { c.logged("status=429") }},
		{"the last answer", syscall.SIGTERM, "hang", func(c *client, _ *fakeapi.Server) { _ = c.stdin.Close() }},
	} {
		t.Run(tt.name+" "+tt.sig.String(), func(t *testing.T) {
			t.Parallel()
			within(t, func() time.Duration {
				c, api := serve(t, tt.step, "--debug")
				c.begin().line(ask("1", "x"))
				requests(t, api, 1)
				tt.wait(c, api)
				return kill(t, c, tt.sig)
			})
		})
	}
}

// run starts a command, and kills it if it does not end.
func run(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
}

// pipe closes its ends after the test.
func pipe(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return r, w
}

// A signal also ends a session whose client does not read.
func TestSignalWithFullPipe(t *testing.T) {
	t.Parallel()
	within(t, func() time.Duration {
		r, w := pipe(t)
		cmd := program(t.TempDir(), nil, "--stdio")
		in, err := cmd.StdinPipe()
		if err != nil {
			t.Fatal(err)
		}
		cmd.Stdout = w
		run(t, cmd)
		w.Close()
		go func() { _, _ = io.WriteString(in, strings.Repeat(ping1+"\n", 20000)) }() // ends with the server
		if _, err := io.ReadFull(r, make([]byte, 1)); err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		_ = cmd.Process.Signal(syscall.SIGTERM)
		if _, err := cmd.Process.Wait(); err != nil {
			t.Fatal(err)
		}
		return time.Since(begin)
	})
}

// Without a reader of stdout the session ends at once, and its calls with it,
// also while stdin stays open.
func TestStdoutGone(t *testing.T) {
	t.Parallel()
	r, w := pipe(t)
	api, env, stop := newAPI(t, "hang")
	t.Cleanup(stop)
	cmd := program(t.TempDir(), env, "--stdio")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout = w
	run(t, cmd)
	w.Close()
	if _, err := io.WriteString(in, initialize+"\n"+ask("1", "x")+"\n"); err != nil {
		t.Fatal(err)
	}
	requests(t, api, 1)
	r.Close()
	aborted(t, api, 1)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

// Another process that has the same pipes may make them non-blocking. Neither
// reading nor writing fails then.
func TestNonblockingPipes(t *testing.T) {
	t.Parallel()
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	cmd := program(t.TempDir(), nil, "--stdio")
	cmd.Stdin, cmd.Stdout = stdin, stdout
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	run(t, cmd)
	// The server is up, with blocking pipes, once it has answered.
	if _, err := io.WriteString(in, ping1+"\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(out, 1)
	if m, err := readMessage(r); m.id != "1" {
		t.Fatalf("%v\n%s", err, &stderr)
	}
	for _, f := range []*os.File{stdin, stdout} {
		if err := syscall.SetNonblock(int(f.Fd()), true); err != nil {
			t.Fatal(err)
		}
	}
	const n = 5000
	go func() {
		defer in.Close()
		for i := range n {
			_, _ = io.WriteString(in, ping(fmt.Sprint(i))+"\n") // The count of answers shows errors.
		}
	}()
	for end := time.Now().Add(patience); time.Now().Before(end); runtime.Gosched() {
		fds := []unix.PollFd{{Fd: int32(stdout.Fd()), Events: unix.POLLOUT}}
		if ready, err := unix.Poll(fds, 0); err == nil && ready == 0 {
			break // The pipe is full, so a write has failed.
		}
	}
	stdin.Close()
	stdout.Close()
	ids := map[string]bool{}
	for {
		m, err := readMessage(r)
		if err != nil {
			break
		}
		ids[m.id] = true
	}
	if err := cmd.Wait(); err != nil || len(ids) != n {
		t.Errorf("%d answers, want %d; %v\n%s", len(ids), n, err, &stderr)
	}
}

// An output without room is an error, with its reason.
func TestStdoutFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("only Linux has /dev/full")
	}
	defer full.Close()
	cmd := program(t.TempDir(), nil, "--stdio")
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = strings.NewReader(ping1), full, &stderr
	run(t, cmd)
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("%v, stderr: %s", err, &stderr)
	}
}

// The 257th call waits for one of 256, and can be cancelled.
func TestCallLimit(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always hang")
	c.begin()
	for i := range 258 {
		c.line(ask(fmt.Sprint(i), "x"))
	}
	requests(t, api, 256)
	c.line(cancelled("257"), ping(`"sync"`))
	c.want(`"sync"`)
	if n := len(api.Requests()); n != 256 {
		t.Errorf("%d requests, want 256", n)
	}
	c.line(ask("257", "x"), ping("257")) // the id is free again
	c.want("null")
	c.line(cancelled("0"))
	requests(t, api, 257)
	kill(t, c, syscall.SIGTERM)
}

// Commands end with the reader of their output and with a signal, and their
// exit code says which it was.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, step string
		end        func(cmd *exec.Cmd, reader *os.File)
		code       int
	}{
		{"ask x", "hang", interrupt, 130},
		{"smoke x", "hang", interrupt, 130},
		{"doctor --live", "always hang", interrupt, 130},
		{"ask x", "hang", unread, 141},
		{"ask --json x", "hang", unread, 141},
		{"ask --events x", "ok+hang-after=2", unread, 141},
		{"ask x", "", unread, 141},
		{"setup", "", unread, 141},
		{"setup codex", "", unread, 141},
		{"doctor --offline", "", unread, 141},
		{"smoke --offline", "", unread, 141},
		{"--help", "", unread, 141},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			api, env, stop := newAPI(t, strings.Fields(tt.step)...)
			t.Cleanup(stop)
			r, w := pipe(t)
			cmd := program(t.TempDir(), env, strings.Fields(tt.args)...)
			var stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = w, &stderr
			if tt.step == "" {
				tt.end(cmd, r)
			}
			run(t, cmd)
			w.Close()
			if tt.step != "" {
				requests(t, api, 1)
				tt.end(cmd, r)
			}
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != tt.code || strings.Contains(stderr.String(), "error") {
				t.Errorf("%v, want %d\nstderr: %s", cmd.ProcessState, tt.code, &stderr)
			}
			if tt.step == "hang" {
				aborted(t, api, 1)
			}
		})
	}
}

func interrupt(cmd *exec.Cmd, _ *os.File) { _ = cmd.Process.Signal(os.Interrupt) }

func unread(_ *exec.Cmd, reader *os.File) { reader.Close() }
