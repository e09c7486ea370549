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
)

// await waits for something that the API counts, such as its requests.
func await(t *testing.T, wait func(context.Context, int) error, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if err := wait(ctx, n); err != nil {
		t.Fatalf("waiting for %d: %v", n, err)
	}
}

// launch starts the program, and kills it if it does not end. It collects stderr.
func launch(t *testing.T, cmd *exec.Cmd, stdin, stdout *os.File) *bytes.Buffer {
	t.Helper()
	var stderr bytes.Buffer
	cmd.Stdin, cmd.Stdout, cmd.Stderr = stdin, stdout, &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	timer := time.AfterFunc(patience, func() { _ = cmd.Process.Kill() })
	t.Cleanup(func() { timer.Stop() })
	return &stderr
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

// A signal ends the session at once with exit code 0 and without answers. All
// that it could wait for takes longer than soon.
func TestSignals(t *testing.T) {
	t.Parallel()
	const soon = 40 * time.Second
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		step string
		wait func(c *client)
	}{
		{"a call", syscall.SIGTERM, "hang", func(*client) {}},
		{"a call", syscall.SIGINT, "hang", func(*client) {}},
		{"a call", syscall.SIGHUP, "hang", func(*client) {}},
		{"a retry", syscall.SIGTERM, "429:retry-after=50", func(c *client) { c.logged("status=429") }},
		{"the last answer", syscall.SIGTERM, "hang", func(c *client) { _ = c.stdin.Close() }},
	} {
		t.Run(tt.name+" "+tt.sig.String(), func(t *testing.T) {
			t.Parallel()
			c, api := serve(t, tt.step, "--debug")
			c.begin().line(ask("1", "x"))
			await(t, api.WaitRequests, 1)
			tt.wait(c)
			begin := time.Now()
			_ = c.cmd.Process.Signal(tt.sig)
			if code, rest := c.end(); code != 0 || len(rest) > 0 || time.Since(begin) > soon {
				t.Errorf("exit code %d after %v, messages %v\n%s", code, time.Since(begin), rest, c.log())
			}
		})
	}
}

// A signal also ends a session whose client does not read.
func TestSignalWithFullPipe(t *testing.T) {
	t.Parallel()
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	cmd := program(t.TempDir(), nil, "--stdio")
	stderr := launch(t, cmd, stdin, stdout)
	go func() { _, _ = io.WriteString(in, strings.Repeat(ping1+"\n", 20000)) }() // ends with the server
	if _, err := io.ReadFull(out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Process.Signal(syscall.SIGTERM)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
}

// Without a reader of stdout the session ends at once, and its calls with it,
// also while stdin stays open.
func TestStdoutGone(t *testing.T) {
	t.Parallel()
	api, env, stop := newAPI(t, "hang")
	t.Cleanup(stop)
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	cmd := program(t.TempDir(), env, "--stdio")
	stderr := launch(t, cmd, stdin, stdout)
	if _, err := io.WriteString(in, initialize+"\n"+ask("1", "x")+"\n"); err != nil {
		t.Fatal(err)
	}
	await(t, api.WaitRequests, 1)
	out.Close()
	await(t, api.WaitAborted, 1)
	if err := cmd.Wait(); err != nil {
		t.Errorf("%v\n%s", err, stderr)
	}
}

// Another process that has the same pipes may make them non-blocking. Neither
// reading nor writing fails then.
func TestNonblockingPipes(t *testing.T) {
	t.Parallel()
	stdin, in := pipe(t)
	out, stdout := pipe(t)
	cmd := program(t.TempDir(), nil, "--stdio")
	stderr := launch(t, cmd, stdin, stdout)
	// The server is up, with blocking pipes, once it has answered.
	if _, err := io.WriteString(in, ping1+"\n"); err != nil {
		t.Fatal(err)
	}
	r := bufio.NewReaderSize(out, 1)
	if m, err := readMessage(r); m.id != "1" {
		t.Fatalf("%v\n%s", err, stderr)
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
	stdout.Close()
	ids := map[string]bool{}
	for m, err := readMessage(r); err == nil; m, err = readMessage(r) {
		ids[m.id] = true
	}
	if err := cmd.Wait(); err != nil || len(ids) != n {
		t.Errorf("%d answers, want %d; %v\n%s", len(ids), n, err, stderr)
	}
}

// An output without room is an error, with its reason.
func TestStdoutFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("only Linux has /dev/full")
	}
	stdin, in := pipe(t)
	cmd := program(t.TempDir(), nil, "--stdio")
	stderr := launch(t, cmd, stdin, full)
	_, _ = io.WriteString(in, ping1+"\n")
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 || !strings.Contains(stderr.String(), "no space left") {
		t.Errorf("%v, stderr: %s", err, stderr)
	}
}

// The 257th call waits for one of 256, and can be cancelled.
func TestCallLimit(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always hang")
	c.begin()
	for i := range 256 {
		c.line(ask(fmt.Sprint(i), "x"))
	}
	await(t, api.WaitRequests, 256)
	c.line(ask("256", "x"), ask("257", "x"), cancelled("257"))
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if api.WaitRequests(ctx, 257) == nil {
		t.Error("257 requests, want 256")
	}
	c.line(ask("257", "x"), ping("257")) // the id is free again
	c.want("null")
	c.line(cancelled("0"))
	await(t, api.WaitRequests, 257)
}

// Commands end with the reader of their output and with a signal, and their
// exit code says which it was.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, step string
		code       int // 130: interrupted, 141: nothing reads stdout
	}{
		{"ask x", "hang", 130},
		{"smoke x", "hang", 130},
		{"doctor --live", "always hang", 130},
		{"ask x", "hang", 141},
		{"ask --json x", "hang", 141},
		{"ask --events x", "ok+hang-after=2", 141},
		{"ask x", "", 141},
		{"setup", "", 141},
		{"setup codex", "", 141},
		{"doctor --offline", "", 141},
		{"smoke --offline", "", 141},
		{"--help", "", 141},
	} {
		t.Run(tt.args, func(t *testing.T) {
			t.Parallel()
			api, env, stop := newAPI(t, strings.Fields(tt.step)...)
			t.Cleanup(stop)
			stdin, _ := pipe(t)
			out, stdout := pipe(t)
			if tt.step == "" {
				out.Close()
			}
			cmd := program(t.TempDir(), env, strings.Fields(tt.args)...)
			stderr := launch(t, cmd, stdin, stdout)
			if tt.step != "" {
				await(t, api.WaitRequests, 1)
			}
			if tt.code == 130 {
				_ = cmd.Process.Signal(os.Interrupt)
			} else {
				out.Close()
			}
			if _ = cmd.Wait(); cmd.ProcessState.ExitCode() != tt.code || strings.Contains(stderr.String(), "error") {
				t.Errorf("%v, want %d\nstderr: %s", cmd.ProcessState, tt.code, stderr)
			}
			if tt.step == "hang" {
				await(t, api.WaitAborted, 1)
			}
		})
	}
}
