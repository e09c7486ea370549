//go:build unix

package main

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// A signal ends the session with exit code 0 and without answers, although everything that it could
// wait for takes longer than the test.
func TestSignals(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		sig  syscall.Signal
		step string
		wait func(c *client) // nil: for the request only
	}{
		{"a call", syscall.SIGTERM, "hang", nil},
		{"a call", syscall.SIGINT, "hang", nil},
		{"a call", syscall.SIGHUP, "hang", nil},
		{"a retry", syscall.SIGTERM, "429=250", func(c *client) { c.logged("status=429") }},
		{"the last answer", syscall.SIGTERM, "hang", func(c *client) { _ = c.stdin.Close() }},
	} {
		t.Run(tt.name+" "+tt.sig.String(), func(t *testing.T) {
			t.Parallel()
			c, api := serve(t, tt.step, "--debug")
			c.begin().line(ask("1", "x"))
			await(t, api.WaitRequests, 1)

			if tt.wait != nil {
				tt.wait(c)
			}
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
	c := prepare(t, program(t.TempDir(), "--stdio")).launch()
	go c.put(strings.Repeat(line1, 20000)) // ends with the server
	if _, err := io.ReadFull(c.stdout, make([]byte, 1)); err != nil {
		t.Fatal(err)
	}

	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	c.exit(0)
}

// serverEnds returns the server's ends of the pipes, which it will share with the test.
func serverEnds(c *client) (fds []int) {
	c.t.Helper()
	for _, end := range []any{c.cmd.Stdin, c.cmd.Stdout} {
		fd, err := unix.FcntlInt(end.(*os.File).Fd(), unix.F_DUPFD_CLOEXEC, 0)
		if err != nil {
			c.t.Fatalf("%v", err)
		}
		fds = append(fds, fd)
	}
	return fds
}

// Another process that has the same pipes may make them non-blocking. Neither reading from an empty
// pipe nor writing to a full one fails then.
func TestNonblockingPipes(t *testing.T) {
	t.Parallel()
	c := prepare(t, program(t.TempDir(), "--stdio"))
	ends := serverEnds(c)
	c.launch()

	r := bufio.NewReader(c.stdout)
	answered := func() {
		t.Helper()
		c.line(ping1)
		if m, err := readMessage(r); m.id != "1" {
			t.Fatalf("got %q, %v\n%s", m.raw, err, c.log())
		}
	}

	answered() // the server has begun with blocking pipes
	for _, fd := range ends {
		if err := unix.SetNonblock(fd, true); err != nil {
			t.Fatal(err)
		}
		_ = unix.Close(fd)
	}
	for range 99 {
		answered()
	}

	const n = 20000
	for i := range n { // the answers fill the pipe
		c.line(ping(fmt.Sprint(i)))
	}

	_ = c.stdin.Close()
	ids := map[string]bool{}
	for m, err := readMessage(r); err == nil; m, err = readMessage(r) {
		ids[m.id] = true
	}

	c.exit(0)
	if len(ids) != n {
		t.Errorf("%d answers, want %d", len(ids), n)
	}
}

// Exit codes.
const (
	interrupted = 130
	notRead     = 141 // nothing reads stdout
)

// backgroundSteps are those of a response in the background whose stream breaks.
const backgroundSteps = "cut-after=1+slow=1m hang"

// ends are commands that end early.
var ends = []struct {
	args  string
	steps string    // of the API; without one the command asks nothing
	sig   os.Signal // nil: the reader ends
	code  int
}{
	{"--stdio", "hang", nil, 0},
	{"ask x", "hang", os.Interrupt, interrupted},
	{"smoke x", "hang", os.Interrupt, interrupted},
	{"doctor --live", "always hang", os.Interrupt, interrupted},
	{"ask x", "hang", nil, notRead},
	{"ask --json x", "hang", nil, notRead},
	{"ask --events x", "ok+hang-after=2", nil, notRead},
	{"ask x", "", nil, notRead},
	{"setup", "", nil, notRead},
	{"setup codex", "", nil, notRead},
	{"doctor --offline", "", nil, notRead},
	{"smoke --offline", "", nil, notRead},
	{"--help", "", nil, notRead},
	{"--stdio --config config.yaml", backgroundSteps, syscall.SIGTERM, 0},
	{"--stdio --config config.yaml", backgroundSteps, nil, 0},
	{"ask x --config config.yaml", backgroundSteps, os.Interrupt, interrupted},
	{"ask x --config config.yaml", backgroundSteps, nil, notRead},
}

// Commands end with the reader of their output and with a signal, and their exit code says which it
// was. Without a reader a session ends at once too, and its calls with it, while stdin stays open. A
// response in the background is cancelled at the API.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	for _, tt := range ends {
		t.Run(fmt.Sprint(tt.args, " ", tt.steps, " ", tt.sig), func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, strings.Fields(tt.steps)...)
			words := append(env, strings.Fields(tt.args)...)
			c := prepare(t, program(home(t, inBackground), words...))
			if tt.steps == "" {
				_ = c.stdout.Close()
			}
			c.launch()
			c.line(initialize)
			c.line(ask("1", "x"))
			if tt.steps == backgroundSteps {
				await(t, api.WaitRequests, 2) // the second one is a GET
			} else if tt.steps != "" {
				await(t, api.WaitRequests, 1)
			}

			if tt.sig != nil {
				_ = c.cmd.Process.Signal(tt.sig)
			} else {
				_ = c.stdout.Close()
			}

			c.exit(tt.code)
			if strings.Contains(c.log(), "error") {
				t.Errorf("stderr: %s", c.log())
			}

			switch tt.steps {
			case "hang":
				await(t, api.WaitAborted, 1)
			case backgroundSteps:
				requests := api.Requests()
				last := requests[len(requests)-1]
				if !strings.HasSuffix(last.Path, "/cancel") {
					t.Errorf("the last request is %s %s, want a cancel", last.Method, last.Path)
				}
			}
		})
	}
}
