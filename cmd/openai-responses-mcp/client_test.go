package main_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// patience is how long a test waits for what must come. It is no measure: what
// must come within a second says so where it is tested.
const patience = 3 * time.Minute

// nowhere is a base URL at which nobody listens: a test without an API must
// not find a real one.
const nowhere = "http://127.0.0.1:1/v1"

// api is a fake API at an address.
type api struct {
	*fakeapi.Server
	url string
}

// openAPI starts an API that wants the key. Its steps are queued, those behind
// the word "always" apply when the queue is empty.
func openAPI(words ...string) (*api, func(), error) {
	a := &api{Server: fakeapi.New(fakeapi.Options{Key: key})}
	for i, word := range words {
		if word == "always" {
			continue
		}
		step, err := fakeapi.ParseStep(word)
		if err != nil {
			return nil, nil, err
		}
		if i > 0 && words[i-1] == "always" {
			a.Always(step)
		} else {
			a.Queue(step)
		}
	}
	server := httptest.NewServer(a)
	a.url = server.URL + "/v1"
	return a, func() {
		a.Close()
		server.CloseClientConnections()
		server.Close()
	}, nil
}

// newAPI is openAPI for the time of a test.
func newAPI(t *testing.T, words ...string) *api {
	t.Helper()
	a, stop, err := openAPI(words...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return a
}

// body returns the body of request n, counted from 1.
func (a *api) body(t *testing.T, n int) map[string]any {
	t.Helper()
	all := a.Requests()
	if len(all) < n {
		t.Fatalf("%d requests, want at least %d", len(all), n)
	}
	var body map[string]any
	if err := json.Unmarshal(all[n-1].Body, &body); err != nil {
		t.Fatal(err)
	}
	return body
}

// environment is a clean one: nothing of the user's reaches the program.
func environment(home string, more ...string) []string {
	env := []string{
		"HOME=" + home,
		"USERPROFILE=" + home,
		"APPDATA=" + filepath.Join(home, "AppData"),
		// The detector's second of sleep at the exit would look like ours.
		"GORACE=atexit_sleep_ms=0",
	}
	if runtime.GOOS == "windows" {
		env = append(env, "SYSTEMROOT="+os.Getenv("SYSTEMROOT"))
	}
	return append(env, more...)
}

// setup is how a program is run.
type setup struct {
	api    *api     // nil: none, and no key
	args   []string // besides --stdio
	env    []string // besides HOME, the API's address and key
	config string   // the YAML file at the default path, when not empty

	change func(*exec.Cmd) // the command, before it starts; nil: nothing
}

// client is a program in a test, and what its MCP client can do.
type client struct {
	*process
	t    *testing.T
	ctx  context.Context
	api  *api
	home string
}

// serve runs the program with --stdio.
func serve(t *testing.T, s setup) *client {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	c := &client{t: t, ctx: ctx, api: s.api, home: t.TempDir()}
	if s.config != "" {
		c.write(".config/openai-responses-mcp/config.yaml", s.config)
	}
	env := environment(c.home, "OPENAI_BASE_URL="+nowhere)
	if s.api != nil {
		env = environment(c.home, "OPENAI_BASE_URL="+s.api.url, "OPENAI_API_KEY="+key)
	}
	cmd := exec.CommandContext(ctx, binary, append([]string{"--stdio"}, s.args...)...)
	if s.change != nil {
		s.change(cmd)
	}
	p, err := launch(cmd, c.home, append(env, s.env...))
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	c.process = p
	t.Cleanup(func() {
		cancel()
		<-p.ended
		checkOutput(t, "stderr", p.stderr.String())
		checkOutput(t, "stdout", p.messages())
	})
	return c
}

// write puts a file below the home folder.
func (c *client) write(name, text string) {
	c.t.Helper()
	path := filepath.Join(c.home, filepath.FromSlash(name))
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		c.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		c.t.Fatal(err)
	}
}

// broken finds what no user may ever see.
var broken = regexp.MustCompile(`(?m)^(panic: |fatal error: |goroutine \d+ |WARNING: DATA RACE)`)

// checkOutput holds an output to what is true of all of them.
func checkOutput(t *testing.T, name, text string) {
	t.Helper()
	if strings.Contains(text, key) || strings.Contains(text, key[3:]) {
		t.Errorf("%s holds the API key:\n%s", name, text)
	}
	if at := broken.FindStringIndex(text); at != nil {
		t.Errorf("%s holds a stack trace:\n%s", name, text[at[0]:])
	}
}

// put sends bytes as they are.
func (c *client) put(s string) {
	c.t.Helper()
	if err := c.send(s); err != nil {
		c.t.Fatalf("sending %.100q: %v\n%s", s, err, c.stderr)
	}
}

// line sends messages, each as a line.
func (c *client) line(messages ...string) {
	c.t.Helper()
	c.put(strings.Join(messages, "\n") + "\n")
}

// want waits for the next message with that id.
func (c *client) want(id string) message {
	c.t.Helper()
	m, err := c.answer(c.ctx, id)
	if err != nil {
		c.t.Fatalf("%v\nstderr: %s", err, c.stderr)
	}
	return m
}

const (
	initialize  = `{"jsonrpc":"2.0","id":"init","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

// begin runs the program and initializes the session, in lines.
func begin(t *testing.T, s setup) *client {
	t.Helper()
	c := serve(t, s)
	c.line(initialize, initialized)
	c.want(`"init"`)
	return c
}

// ask is a tools/call of answer; id is JSON text.
func ask(id, query string) string {
	return callTool(id, "answer", map[string]any{"query": query})
}

func callTool(id, tool string, arguments any) string {
	b, err := json.Marshal(arguments)
	if err != nil {
		panic(err)
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, tool, b)
}

func cancelling(id string) string {
	return `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":` + id + `,"reason":"changed my mind"}}`
}

func pinging(id string) string { return `{"jsonrpc":"2.0","id":` + id + `,"method":"ping"}` }

// done closes stdin and expects the program to end well. It returns what was
// answered and not asked for.
func (c *client) done() []message {
	c.t.Helper()
	if err := c.stdin.Close(); err != nil {
		c.t.Fatal(err)
	}
	code, err := c.wait(c.ctx)
	if err != nil || code != 0 {
		c.t.Fatalf("exit code %d, %v\nstderr: %s", code, err, c.stderr)
	}
	return c.rest()
}

// silent is done where nothing more may come.
func (c *client) silent() {
	c.t.Helper()
	if rest := c.done(); len(rest) > 0 {
		c.t.Errorf("more came: %v", rest)
	}
}

// requests waits until n requests have arrived at the API.
func (c *client) requests(n int) {
	c.t.Helper()
	if err := c.api.WaitRequests(c.ctx, n); err != nil {
		c.t.Fatalf("waiting for %d requests at the API: %v\nstderr: %s", n, err, c.stderr)
	}
}

// logged waits until stderr holds text.
func (c *client) logged(text string) {
	c.t.Helper()
	if err := c.stderr.wait(c.ctx, text); err != nil {
		c.t.Fatalf("%v\nstderr: %s", err, c.stderr)
	}
}

// count compares the number of requests that the API has seen.
func (c *client) count(want int) {
	c.t.Helper()
	if got := len(c.api.Requests()); got != want {
		c.t.Errorf("the API has seen %d requests, want %d", got, want)
	}
}

// tokyo is the zone of the dates in all answers (spec §9).
func tokyo(t time.Time) string {
	return t.In(time.FixedZone("JST", 9*60*60)).Format(time.DateOnly)
}

// today checks that a date that was just given is today's in Tokyo, where
// midnight may have passed meanwhile, and returns it.
func today(t *testing.T, date string) string {
	t.Helper()
	now := time.Now()
	if date != tokyo(now) && date != tokyo(now.Add(-patience)) {
		t.Errorf("date %s, want today's in Tokyo, %s", date, tokyo(now))
	}
	return date
}
