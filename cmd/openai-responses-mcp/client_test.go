package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// patience is how long a test waits for something that must happen.
const patience = time.Minute

// key is the API key of all tests. It must not appear in any output.
const key = "sk-canary-Zq7XbT0wPl94mKfR"

const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s,"_meta":{}}}`, id, tool, arguments)
}

func ask(id, query string) string { return call(id, "answer", fmt.Sprintf(`{"query":%q}`, query)) }

// watched returns a call whose client asks for progress.
func watched(call string) string {
	return strings.Replace(call, `"_meta":{}`, `"_meta":{"progressToken":"token"}`, 1)
}

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"changed my mind"}}`
}

func framed(body string) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body) }

// tester is a test or a script.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
}

// message is a message that the server wrote.
type message struct {
	framed   bool
	raw      string
	id       string // JSON text; "" for a notification
	progress bool
}

// client is the MCP client of all tests, with the server that it started.
type client struct {
	t     tester
	cmd   *exec.Cmd
	stdin io.WriteCloser

	mu      sync.Mutex
	changed chan struct{} // closed and replaced when a field below changes
	all     []message
	unread  []message    // messages that no want has returned
	stdout  bytes.Buffer // all messages, one on a line
	stderr  bytes.Buffer
	bad     error // what is wrong with stdout
	over    bool  // the server has ended, and its output is read
}

// start runs a command that is the server.
func start(t tester, cmd *exec.Cmd) *client {
	t.Helper()
	c := &client{t: t, cmd: cmd, changed: make(chan struct{})}
	cmd.Stderr, cmd.WaitDelay = c, patience
	var err error
	if c.stdin, err = cmd.StdinPipe(); err != nil {
		t.Fatalf("%v", err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatalf("%v", err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatalf("%v", err)
	}
	go func() {
		c.read(out)
		_ = cmd.Wait() // ProcessState has the result.
		c.update(func() { c.over = true })
	}()
	return c
}

// Write collects stderr.
func (c *client) Write(b []byte) (int, error) {
	c.update(func() { c.stderr.Write(b) })
	return len(b), nil
}

func (c *client) update(change func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	change()
	close(c.changed)
	c.changed = make(chan struct{})
}

// read collects messages and is strict about both framings.
func (c *client) read(out io.Reader) {
	r := bufio.NewReaderSize(out, 1<<16)
	for {
		m, err := readMessage(r)
		c.update(func() {
			if err == nil {
				c.all, c.unread = append(c.all, m), append(c.unread, m)
				c.stdout.WriteString(m.raw + "\n")
			} else if !errors.Is(err, io.EOF) {
				c.bad = err
			}
		})
		if err != nil {
			_, _ = io.Copy(io.Discard, r)
			return
		}
	}
}

func readMessage(r *bufio.Reader) (message, error) {
	line, err := r.ReadString('\n')
	if err != nil {
		if line != "" {
			err = fmt.Errorf("stdout ends with %q", line)
		}
		return message{}, err
	}
	m := message{raw: strings.TrimSuffix(line, "\n")}
	if length, ok := strings.CutPrefix(line, "Content-Length: "); ok {
		n, err := strconv.Atoi(strings.TrimSuffix(length, "\r\n"))
		body := make([]byte, max(n, 0)+2)
		if _, err2 := io.ReadFull(r, body); err != nil || err2 != nil || string(body[:2]) != "\r\n" {
			return m, fmt.Errorf("stdout holds %q after %q: %v", body, line, errors.Join(err, err2))
		}
		m.framed, m.raw = true, string(body[2:])
	}
	var envelope struct {
		JSONRPC string
		ID      json.RawMessage
		Method  string
	}
	if err := json.Unmarshal([]byte(m.raw), &envelope); err != nil || envelope.JSONRPC != "2.0" || m.raw[0] != '{' {
		return m, fmt.Errorf("stdout holds %q: %v", m.raw, err)
	}
	m.id, m.progress = string(envelope.ID), envelope.Method == "notifications/progress"
	return m, nil
}

// wait returns when cond, which is called under the lock, holds.
func (c *client) wait(what string, cond func() bool) {
	c.t.Helper()
	timeout := time.After(patience)
	for {
		c.mu.Lock()
		ok, problem, changed := cond(), c.bad, c.changed
		if problem == nil && !ok && c.over {
			problem = errors.New("the server has ended")
		}
		c.mu.Unlock()
		if problem == nil {
			if ok {
				return
			}
			select {
			case <-changed:
				continue
			case <-timeout:
				problem = errors.New("timeout")
			}
		}
		c.t.Fatalf("waiting for %s: %v\nstdout: %s\nstderr: %s", what, problem, c.output(), c.log())
	}
}

// put sends bytes as they are.
func (c *client) put(s string) {
	c.t.Helper()
	if _, err := io.WriteString(c.stdin, s); err != nil {
		c.t.Fatalf("sending %.100q: %v\n%s", s, err, c.log())
	}
}

// line sends messages, each on a line.
func (c *client) line(messages ...string) {
	c.t.Helper()
	c.put(strings.Join(messages, "\n") + "\n")
}

// begin initializes the session, in lines.
func (c *client) begin() *client {
	c.t.Helper()
	c.line(initialize, initialized)
	c.want(`"init"`)
	return c
}

// want waits for the next message with an id, which is JSON text, and returns
// each message once.
func (c *client) want(id string) (m message) {
	c.t.Helper()
	c.wait("a message with id "+id, func() bool {
		i := slices.IndexFunc(c.unread, func(m message) bool { return m.id == id })
		if i >= 0 {
			m = c.unread[i]
			c.unread = slices.Delete(c.unread, i, i+1)
		}
		return i >= 0
	})
	return m
}

// logged waits until stderr holds a text.
func (c *client) logged(text string) {
	c.t.Helper()
	c.wait(fmt.Sprintf("%q on stderr", text), func() bool { return strings.Contains(c.stderr.String(), text) })
}

// end waits until the server has ended, and returns its exit code and the
// messages that were not asked for.
func (c *client) end() (code int, rest []message) {
	c.t.Helper()
	c.wait("the end", func() bool { return c.over })
	return c.cmd.ProcessState.ExitCode(), c.unread
}

// eof closes stdin and wants exit code 0. It returns the messages that were not
// asked for.
func (c *client) eof() []message {
	c.t.Helper()
	_ = c.stdin.Close() // The server may have closed its end.
	code, rest := c.end()
	if code != 0 {
		c.t.Fatalf("exit code %d\nstderr: %s", code, c.log())
	}
	return rest
}

// log returns stderr.
func (c *client) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// output returns all messages.
func (c *client) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stdout.String()
}

var crash = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ |WARNING: DATA RACE)`)

// check ends the server and wants that no output has the key or a stack trace.
func (c *client) check() {
	c.t.Helper()
	_ = c.cmd.Process.Kill() // It may have ended.
	c.wait("the end", func() bool { return c.over })
	if text := c.output() + c.log(); strings.Contains(text, key[3:]) || crash.MatchString(text) {
		c.t.Fatalf("the output has the key or a stack trace:\n%s", text)
	}
}

// program returns a command that runs the program in an empty home folder, with
// a clean environment. testscript.Main puts the program on PATH.
func program(home string, env []string, args ...string) *exec.Cmd {
	cmd := exec.Command("openai-responses-mcp", args...)
	cmd.Dir = home
	cmd.Env = append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "OPENAI_BASE_URL=http://127.0.0.1:1/v1",
		"GORACE=atexit_sleep_ms=0"}, env...)
	return cmd
}
