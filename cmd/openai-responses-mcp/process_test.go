//go:build unix

package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"
)

// process is the program on pipes. A test has both ends of each.
type process struct {
	*exec.Cmd
	t           *testing.T
	stdin, in   *os.File
	out, stdout *os.File
	stderr      bytes.Buffer
}

func newProcess(t *testing.T, words ...string) *process {
	t.Helper()
	p := &process{Cmd: program(t.TempDir(), words...), t: t}
	var inErr, outErr error
	p.stdin, p.in, inErr = os.Pipe()
	p.out, p.stdout, outErr = os.Pipe()
	if err := errors.Join(inErr, outErr); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = errors.Join(p.stdin.Close(), p.in.Close(), p.out.Close(), p.stdout.Close()) })
	p.Stdin, p.Stdout, p.Stderr = p.stdin, p.stdout, &p.stderr
	return p
}

// start starts the program and sends it something.
func (p *process) start(text string) *process {
	p.t.Helper()
	if err := p.Start(); err != nil {
		p.t.Fatal(err)
	}
	_, _ = io.WriteString(p.in, text) // An answer is missing if it fails.
	return p
}

// exit waits for the end of the program, and kills it if it does not end. It checks the exit code.
func (p *process) exit(want int) {
	p.t.Helper()
	timer := time.AfterFunc(patience, func() { _ = p.Process.Kill() })
	defer timer.Stop()
	if _ = p.Wait(); p.ProcessState.ExitCode() != want {
		p.t.Errorf("%v, want exit code %d\nstderr: %s", p.ProcessState, want, &p.stderr)
	}
}

// A signal ends the session at once with exit code 0 and without answers. All that it could wait for
// takes longer than soon.
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
		{"a retry", syscall.SIGTERM, "429=50", func(c *client) { c.logged("status=429") }},
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
			if rest := c.end(0); len(rest) > 0 || time.Since(begin) > soon {
				t.Errorf("ended after %v, messages %v\n%s", time.Since(begin), rest, c.log())
			}
		})
	}
}

// A signal also ends a session whose client does not read.
func TestSignalWithFullPipe(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "--stdio").start("")
	go func() { _, _ = io.WriteString(p.in, strings.Repeat(ping1+"\n", 20000)) }() // ends with the server
	if _, err := io.ReadFull(p.out, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}
	_ = p.Process.Signal(syscall.SIGTERM)
	p.exit(0)
}

// Another process that has the same pipes may make them non-blocking. Neither reading from an empty
// pipe nor writing to a full one fails then.
func TestNonblockingPipes(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "--stdio")
	nonblocking := func(on bool) {
		inErr, outErr := syscall.SetNonblock(int(p.stdin.Fd()), on), syscall.SetNonblock(int(p.stdout.Fd()), on)
		if err := errors.Join(inErr, outErr); err != nil {
			t.Fatal(err)
		}
	}
	nonblocking(false) // those of Go are not
	p.start("")
	r := bufio.NewReader(p.out)
	for i := range 100 {
		_, _ = io.WriteString(p.in, ping(fmt.Sprint(i))+"\n") // An answer is missing if it fails.
		if m, err := readMessage(r); m.id != fmt.Sprint(i) {
			t.Fatalf("%v\n%s", err, &p.stderr)
		}
		if i == 0 { // the server has begun with blocking pipes
			nonblocking(true)
			_ = errors.Join(p.stdin.Close(), p.stdout.Close())
		}
	}
	const n = 20000
	for i := range n { // the answers fill the pipe
		_, _ = io.WriteString(p.in, ping(fmt.Sprint(i))+"\n")
	}
	_ = p.in.Close()
	ids := map[string]bool{}
	for m, err := readMessage(r); err == nil; m, err = readMessage(r) {
		ids[m.id] = true
	}
	p.exit(0)
	if len(ids) != n {
		t.Errorf("%d answers, want %d", len(ids), n)
	}
}

// Commands end with the reader of their output and with a signal, and their exit code says which it
// was. Without a reader a session ends at once too, and its calls with it, while stdin stays open.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args, step string
		code       int // 130: interrupted, 141: nothing reads stdout
	}{
		{"--stdio", "hang", 0},
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
			api, env := newAPI(t, strings.Fields(tt.step)...)
			p := newProcess(t, append(env, strings.Fields(tt.args)...)...)
			if tt.step == "" {
				p.out.Close()
			}
			p.start(initialize + "\n" + ask("1", "x") + "\n")
			if tt.step != "" {
				await(t, api.WaitRequests, 1)
			}
			if tt.code == 130 {
				_ = p.Process.Signal(os.Interrupt)
			} else {
				p.out.Close()
			}
			p.exit(tt.code)
			if strings.Contains(p.stderr.String(), "error") {
				t.Errorf("stderr: %s", &p.stderr)
			}
			if tt.step == "hang" {
				await(t, api.WaitAborted, 1)
			}
		})
	}
}
