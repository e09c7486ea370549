package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// patience is how long a test waits for something that must happen.
const patience = time.Minute

const (
	key     = "sk-canary-Zq7XbT0wPl94mKfR" // It must not appear in any output.
	nowhere = "OPENAI_BASE_URL=http://127.0.0.1:1/v1"

	initialize = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{` +
		`"protocolVersion":"2025-06-18","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func ping(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

func call(id, tool, arguments string) string {
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call",`+
		`"params":{"name":%q,"arguments":%s,"_meta":{}}}`, id, tool, arguments)
}

func ask(id, query string) string {
	return call(id, "answer", fmt.Sprintf(`{"query":%q}`, query))
}

// withProgress returns a call whose client asks for progress.
func withProgress(call string) string {
	return strings.Replace(call, `"_meta":{}`, `"_meta":{"progressToken":"token"}`, 1)
}

func cancelled(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
		`"params":{"requestId":` + id + `,"reason":"changed my mind"}}`
}

func framed(body string) string {
	return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", len(body), body)
}

// tester is a test or a script.
type tester interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// message is a message that the server wrote. Its id is JSON text, "" in a notification.
type message struct {
	framed bool
	raw    string
	id     string
}

// client is the MCP client of all tests, with the server that it started.
type client struct {
	t      tester
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.ReadCloser

	mu      sync.Mutex
	changed *sync.Cond // of a field below
	all     []message
	unread  []message // messages that no want has returned
	rest    []byte    // of stdout, where it is not messages
	stderr  bytes.Buffer
	bad     error // what is wrong with stdout, or a timeout
	over    bool  // the server has ended, and its output is read
}

// start runs a command that is the server, until the end of the test.
func start(t tester, cmd *exec.Cmd) *client {
	t.Helper()
	c := prepare(t, cmd).launch()
	go c.read()
	return c
}

// prepare makes the pipes of a command.
func prepare(t tester, cmd *exec.Cmd) *client {
	c := &client{t: t, cmd: cmd}
	c.changed = sync.NewCond(&c.mu)
	cmd.Stderr = c
	cmd.WaitDelay = patience

	c.stdin, _ = cmd.StdinPipe()
	c.stdout, _ = cmd.StdoutPipe()
	return c
}

// launch starts the command. Either read or exit waits for its end.
func (c *client) launch() *client {
	c.t.Helper()
	if err := c.cmd.Start(); err != nil {
		c.t.Fatalf("%v", err)
	}

	c.t.Cleanup(func() {
		c.cmd.Process.Kill() // It may have ended.
		c.wait("the end", func() bool { return c.over })
		clean(c.t, c.output()+c.log())
	})
	return c
}

// exit waits for the end of a command whose output is not messages, and wants an exit code.
func (c *client) exit(code int) {
	c.t.Helper()
	go c.finish()
	c.end(code)
}

// finish reads the rest of stdout until the server has ended.
func (c *client) finish() {
	rest, _ := io.ReadAll(c.stdout)
	c.cmd.Wait() // ProcessState has the result.
	c.update(func() {
		c.rest = rest
		c.over = true
	})
}

// read reads the messages on stdout until the server has ended.
func (c *client) read() {
	defer c.finish()
	r := bufio.NewReader(c.stdout)
	m, err := readMessage(r)
	for ; err == nil; m, err = readMessage(r) {
		c.update(func() {
			c.all = append(c.all, m)
			c.unread = append(c.unread, m)
		})
	}
	if !errors.Is(err, io.EOF) {
		c.update(func() { c.bad = err })
	}
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
	c.changed.Broadcast()
}

// readMessage is strict about both framings.
func readMessage(r *bufio.Reader) (m message, err error) {
	line, err := r.ReadString('\n')
	if err != nil && line == "" {
		return m, err
	}
	m.raw = strings.TrimSuffix(line, "\n")

	length, framed := strings.CutPrefix(line, "Content-Length: ")
	if framed && err == nil {
		n, _ := strconv.Atoi(strings.TrimSuffix(length, "\r\n"))
		body := make([]byte, n+2) // panics if the length is negative
		_, err = io.ReadFull(r, body)
		m.framed = true
		m.raw = strings.TrimPrefix(string(body), "\r\n")
	}

	version := gjson.Get(m.raw, "jsonrpc").Raw
	if err != nil || !gjson.Valid(m.raw) || version != `"2.0"` {
		return m, fmt.Errorf("stdout holds %q, then %q: %v", line, m.raw, err)
	}
	m.id = gjson.Get(m.raw, "id").Raw
	return m, nil
}

// wait returns when cond, which is called under the lock, holds.
func (c *client) wait(what string, cond func() bool) {
	c.t.Helper()
	timer := time.AfterFunc(patience, func() {
		c.update(func() { c.bad = errors.New("timeout") })
	})
	defer timer.Stop()

	c.mu.Lock()
	ok := cond()
	for !ok && !c.over && c.bad == nil {
		c.changed.Wait()
		ok = cond()
	}
	problem := c.bad
	c.mu.Unlock()

	if !ok || problem != nil {
		c.t.Fatalf("waiting for %s: %v\nstdout: %s\nstderr: %s",
			what, problem, c.output(), c.log())
	}
}

// put sends bytes as they are. An answer is missing if it fails.
func (c *client) put(s string) { io.WriteString(c.stdin, s) }

// line sends a message on a line.
func (c *client) line(message string) { c.put(message + "\n") }

// begin initializes the session, in lines.
func (c *client) begin() *client {
	c.t.Helper()
	c.line(initialize + "\n" + initialized)
	c.want(`"init"`)
	return c
}

// want waits for the next message with an id, which is JSON text, and returns each message once.
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
	c.wait(fmt.Sprintf("%q on stderr", text), func() bool {
		return strings.Contains(c.stderr.String(), text)
	})
}

// end waits for the end of the server, wants an exit code, and returns the messages not asked for.
func (c *client) end(code int) []message {
	c.t.Helper()
	c.wait("the end", func() bool { return c.over })
	if c.cmd.ProcessState.ExitCode() != code {
		c.t.Fatalf("%v, want exit code %d\nstderr: %s", c.cmd.ProcessState, code, c.log())
	}
	return c.unread
}

// eof closes stdin and wants exit code 0.
func (c *client) eof() []message {
	c.t.Helper()
	c.stdin.Close() // The server may have closed its end.
	return c.end(0)
}

// log returns stderr.
func (c *client) log() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.stderr.String()
}

// output returns all messages, each on a line, and the rest of stdout.
func (c *client) output() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var b strings.Builder
	for _, m := range c.all {
		b.WriteString(m.raw + "\n")
	}
	return b.String() + string(c.rest)
}

var crash = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ |WARNING: DATA RACE)`)

// clean wants that no output has the key or a stack trace.
func clean(t tester, output string) {
	t.Helper()
	if strings.Contains(output, key[3:]) || crash.MatchString(output) {
		t.Fatalf("the output has the key or a stack trace:\n%s", output)
	}
}

// home returns a folder with a configuration in config.yaml.
func home(t *testing.T, config string) string {
	t.Helper()
	dir := t.TempDir()
	err := os.WriteFile(filepath.Join(dir, "config.yaml"), []byte(config), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// cheap returns variables of a program that asks no real API and starts and ends fast: it reads one
// root certificate in place of the system's 300.
func cheap() []string {
	root, _ := filepath.Abs("testdata/root.pem")
	return []string{
		nowhere,
		"SSL_CERT_FILE=" + root,
		"SSL_CERT_DIR=/nowhere",
		"GORACE=atexit_sleep_ms=0",
	}
}

var variable = regexp.MustCompile(`^[A-Z_]+=`)

// program returns a command that runs the program with these arguments and variables, in an empty
// home folder and a clean environment. testscript.Main puts the program on PATH.
func program(home string, words ...string) *exec.Cmd {
	cmd := exec.Command("openai-responses-mcp")
	cmd.Dir = home
	cmd.Env = append(cheap(), "HOME="+home, "PATH="+os.Getenv("PATH"))
	for _, word := range words {
		if variable.MatchString(word) {
			cmd.Env = append(cmd.Env, word)
		} else {
			cmd.Args = append(cmd.Args, word)
		}
	}
	return cmd
}
