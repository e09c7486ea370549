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

	t.Cleanup(func() {
		for _, f := range []*os.File{p.stdin, p.in, p.out, p.stdout} {
			_ = f.Close()
		}
	})
	p.Stdin = p.stdin
	p.Stdout = p.stdout
	p.Stderr = &p.stderr
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
	_ = p.Wait() // ProcessState has the result.
	if p.ProcessState.ExitCode() != want {
		p.t.Errorf("%v, want exit code %d\nstderr: %s", p.ProcessState, want, &p.stderr)
	}
}

// A signal ends the session with exit code 0 and without answers, although everything that it could
// wait for takes longer than the test.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		step string
		wait func(c *client)
	}{
		{"a call", syscall.SIGTERM, "hang", func(*client) {}},
		{"a call", syscall.SIGINT, "hang", func(*client) {}},
		{"a call", syscall.SIGHUP, "hang", func(*client) {}},
		{"a retry", syscall.SIGTERM, "429=250", func(c *client) { c.logged("status=429") }},
		{"the last answer", syscall.SIGTERM, "hang", func(c *client) { _ = c.stdin.Close() }},
	} {
		t.Run(tt.name+" "+tt.sig.String(), func(t *testing.T) {
			t.Parallel()
			c, api := serve(t, tt.step, "--debug")
			c.begin().line(ask("1", "x"))
			await(t, api.WaitRequests, 1)
			tt.wait(c)

			_ = c.cmd.Process.Signal(tt.sig)
			if rest := c.end(0); len(rest) > 0 {
				t.Errorf("messages after the signal: %v\n%s", rest, c.log())
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

// setNonblocking changes the server's ends of the pipes.
func (p *process) setNonblocking(on bool) {
	p.t.Helper()
	for _, f := range []*os.File{p.stdin, p.stdout} {
		if err := syscall.SetNonblock(int(f.Fd()), on); err != nil {
			p.t.Fatal(err)
		}
	}
}

// ping sends n pings. An answer is missing if it fails.
func (p *process) ping(n int) {
	for i := range n {
		_, _ = io.WriteString(p.in, ping(fmt.Sprint(i))+"\n")
	}
}

// Another process that has the same pipes may make them non-blocking. Neither reading from an empty
// pipe nor writing to a full one fails then.
func TestNonblockingPipes(t *testing.T) {
	t.Parallel()
	p := newProcess(t, "--stdio")
	r := bufio.NewReader(p.out)
	answered := func() {
		t.Helper()
		p.ping(1)
		if m, err := readMessage(r); m.id != "0" {
			t.Fatalf("got %q, %v\n%s", m.raw, err, &p.stderr)
		}
	}

	p.setNonblocking(false) // those of Go are not
	p.start("")
	answered() // the server has begun with blocking pipes
	p.setNonblocking(true)
	_ = p.stdin.Close()
	_ = p.stdout.Close()
	for range 99 {
		answered()
	}

	const n = 20000
	p.ping(n) // the answers fill the pipe
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

// Exit codes.
const (
	interrupted = 130
	notRead     = 141 // nothing reads stdout
)

// Commands end with the reader of their output and with a signal, and their exit code says which it
// was. Without a reader a session ends at once too, and its calls with it, while stdin stays open.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		step string // of the API; without one the command asks nothing
		code int
	}{
		{"--stdio", "hang", 0},
		{"ask x", "hang", interrupted},
		{"smoke x", "hang", interrupted},
		{"doctor --live", "always hang", interrupted},
		{"ask x", "hang", notRead},
		{"ask --json x", "hang", notRead},
		{"ask --events x", "ok+hang-after=2", notRead},
		{"ask x", "", notRead},
		{"setup", "", notRead},
		{"setup codex", "", notRead},
		{"doctor --offline", "", notRead},
		{"smoke --offline", "", notRead},
		{"--help", "", notRead},
	} {
		t.Run(fmt.Sprint(tt.args, " ", tt.step, " ", tt.code), func(t *testing.T) {
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

			if tt.code == interrupted {
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

// A response in the background is cancelled at the API when its program ends.
func TestCancelAtTheEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args string
		end  func(*process)
		code int
	}{
		{"--stdio", func(p *process) { _ = p.Process.Signal(syscall.SIGTERM) }, 0},
		{"--stdio", func(p *process) { p.out.Close() }, 0},
		{"ask x", func(p *process) { _ = p.Process.Signal(os.Interrupt) }, interrupted},
		{"ask x", func(p *process) { p.out.Close() }, notRead},
	} {
		t.Run(fmt.Sprint(tt.args, " ", tt.code), func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "cut-after=1+slow=1m", "hang")
			file := t.TempDir() + "/config.yaml"
			text := []byte("model_profiles: {answer: {background: true}}\n")
			if err := os.WriteFile(file, text, 0o600); err != nil {
				t.Fatal(err)
			}

			args := append(env, strings.Fields(tt.args)...)
			p := newProcess(t, append(args, "--config", file)...)
			p.start(initialize + "\n" + ask("1", "x") + "\n")
			await(t, api.WaitRequests, 2) // the second one is a GET
			tt.end(p)
			p.exit(tt.code)

			requests := api.Requests()
			last := requests[len(requests)-1]
			if !strings.HasSuffix(last.Path, "/cancel") {
				t.Errorf("the last request is %s %s, want a cancel", last.Method, last.Path)
			}
		})
	}
}
