// The tests in this package run the program as its users do: through its command line, environment,
// pipes and exit code, against the API of test/apitest.
//
//	main_test.go      the commands of the scripts in testdata
//	client_test.go    the MCP client of scripts and tests
//	messages_test.go  input, well-formed and not, as a table
//	process_test.go   signals and pipes
//	terminal_test.go  what a terminal shows
//	login_test.go     what login reads
//	session_test.go   many calls in a session: the limit, and everything at once
//	tasks_test.go     tasks, also of several processes, and calls over HTTP
//	late_test.go      late answers, and calls that wait
//	ways_test.go      the same answers and errors over stdio, HTTP, ask and in the background
//	secrets_test.go   where the key must not be
//
// Tests, here and in other packages, are written in three small languages:
//
//	testdata/*.txtar  A line is a command of TestScript or of testscript (go doc testscript), such
//	                  as stdout REGEXP and ! stderr REGEXP. Files follow, each after "-- NAME --".
//	                  In other packages such files are inputs and what becomes of them, in turn.
//	testdata/*.table  A line is a row of a test, with " | " between its columns. The comment at
//	                  the top names them (compare.Table).
//	api 429=0 ok      A word is what the API does with one request. This one refuses the first,
//	                  with Retry-After: 0, and answers the second (apitest.Server.Script).
//
// With that API, a session starts, asks a question with the id 1, waits for its answer, and ends:
//
//	api 429=0 ok
//	mcp
//	ask 1 What is new?
//	answer 1 '^This is'
//	eof
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/policy"
	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

func TestMain(m *testing.M) {
	flag.Set("test.parallel", "16") // The tests wait for other processes. -parallel wins.
	testscript.Main(m, map[string]func(){"openai-responses-mcp": main})
}

// newAPI starts an API with these steps, and returns the variables of a program that asks it.
func newAPI(t tester, steps ...string) (api *apitest.Server, env []string) {
	t.Helper()
	api, err := apitest.Start(steps...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(api.Close)

	return api, []string{"OPENAI_BASE_URL=" + api.URL, "OPENAI_API_KEY=" + key}
}

// await waits for something that the API counts, such as its requests.
func await(t tester, wait func(context.Context, int) error, n int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := wait(ctx, n); err != nil {
		t.Fatalf("waiting for %d: %v", n, err)
	}
}

// serve starts an API, and a server on stdio that asks it once for each call.
func serve(t *testing.T, steps string) (*client, *apitest.Server) {
	t.Helper()
	api, env := newAPI(t, strings.Fields(steps)...)
	words := append(env, "--stdio", "OPENAI_MAX_RETRIES=0")
	return start(t, program(t.TempDir(), words...)), api
}

// script is the state of a script, and its tester.
type script struct {
	*testscript.TestScript
	api     *apitest.Server
	c       *client
	printed string // by the command
}

func (s *script) Helper()          {}
func (s *script) Cleanup(f func()) { s.Defer(f) }

// TestScript runs the scripts in testdata, with these commands:
//
//	api STEP...              starts an API with these steps (see apitest.Server.Script)
//	requests N, aborted N    waits until the API has had N requests and no more, N aborted ones
//	body N [REGEXP...], headers N [REGEXP...]  prints the body or the headers of request N, or last
//	code N ARG...            runs the program and wants exit code N
//	server [NAME=VALUE...] ARG...  starts a session, after eof; mcp also initializes it
//	line JSON, frame JSON    sends a message
//	ask ID WORD...           sends a call of answer; watch ID WORD... one with progress
//	call ID TOOL JSON, cancel ID, ping ID  sends these
//	want ID [REGEXP...]      waits for a message and prints it
//	answer ID [REGEXP...]    waits for an answer and prints it
//	error ID [REGEXP...]     waits for an error and prints code, message and data; ID "-" asks first
//	logged TEXT              waits for a text on stderr
//	progress                 prints the progress so far
//	eof                      closes stdin, wants exit code 0, prints other messages and stderr
//
// What is printed must match the regular expressions, after steady has replaced what varies.
func TestScript(t *testing.T) {
	commands := map[string]func(*testscript.TestScript, bool, []string){}
	for _, name := range scriptCommands {
		commands[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("! is not supported")
			}
			s := ts.Value("script").(*script)
			s.TestScript = ts
			s.printed = ""
			s.print("") // so that a script sees that there is nothing

			s.run(name, args)
			if slices.Contains(matching, name) {
				s.match(args[1:])
			}
		}
	}

	testscript.Run(t, testscript.Params{
		Dir:                 "testdata",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds:                commands,
		Setup: func(e *testscript.Env) error {
			e.Values["script"] = &script{}
			e.Setenv("HOME", e.WorkDir+"/home")
			e.Setenv("USERPROFILE", "") // on Windows package testscript sets it, in place of HOME
			e.Vars = append(e.Vars, "OPENAI_API_KEY=", "KEY="+key)
			e.Vars = append(e.Vars, cheap()...)
			return nil
		},
	})
}

// matching are the commands that take regular expressions.
var matching = []string{"want", "answer", "error", "body", "headers"}

// match wants that what the command has printed matches the patterns.
func (s *script) match(patterns []string) {
	for _, pattern := range patterns {
		if !regexp.MustCompile("(?m)" + pattern).MatchString(s.printed) {
			s.Fatalf("no match for %s in:\n%s", pattern, s.printed)
		}
	}
}

var scriptCommands = strings.Fields("api requests aborted body headers code server mcp line frame ask " +
	"watch call cancel ping want answer error logged progress eof")

// run executes a command.
func (s *script) run(name string, args []string) {
	switch name {
	case "api":
		s.startAPI(args)
	case "requests":
		s.requests(args)
	case "aborted":
		await(s, s.api.WaitAborted, s.number(args))
	case "body":
		s.body(args)
	case "headers":
		s.headers(args)
	case "code":
		s.code(args)

	case "server":
		s.serve(args)
	case "mcp":
		s.serve(args)
		s.c.begin()
	case "want":
		m := s.want(args[0])
		s.print("framed=%v %s\n", m.framed, m.raw)
	case "answer":
		s.answer(args)
	case "error":
		e := errorOf(s, s.want(args[0]).raw)
		s.print("%s %s\n%s\n", e.Get("code"), e.Get("message"), e.Get("data"))
	case "logged":
		s.c.logged(join(args))
	case "progress":
		s.progress()
	case "eof":
		s.eof()
	default:
		s.c.line(newMessage(name, args))
	}
}

// newMessage returns what a command sends.
func newMessage(command string, args []string) string {
	id := args[0]
	switch command {
	case "frame":
		return framed(join(args))
	case "ask":
		return ask(id, join(args[1:]))
	case "watch":
		return withProgress(ask(id, join(args[1:])))
	case "call":
		return call(id, args[1], join(args[2:]))
	case "cancel":
		return cancelled(id)
	case "ping":
		return ping(id)
	}
	return join(args)
}

func join(words []string) string { return strings.Join(words, " ") }

func (s *script) startAPI(args []string) {
	s.api, _ = newAPI(s, args...)
	s.Setenv("OPENAI_BASE_URL", s.api.URL)
	s.Setenv("OPENAI_API_KEY", key)
}

func (s *script) requests(args []string) {
	n := s.number(args)
	await(s, s.api.WaitRequests, n)
	if got := len(s.api.Requests()); got != n {
		s.Fatalf("the API has had %d requests", got)
	}
}

func (s *script) body(args []string) {
	text, _ := policy.Load(policy.System{}, nil)
	encoded, _ := json.Marshal(text)
	instructions := strings.Trim(string(encoded), `"`)

	members := gjson.ParseBytes(s.api.Requests()[s.number(args)-1].Body).Map()
	for _, name := range slices.Sorted(maps.Keys(members)) {
		value := members[name].Get("@ugly").Raw
		s.print("%s: %s\n", name, strings.ReplaceAll(value, instructions, "POLICY"))
	}
}

func (s *script) headers(args []string) {
	r := s.api.Requests()[s.number(args)-1]
	s.print("%s %s\n", r.Method, r.Path)

	delete(r.Header, "Content-Length") // It depends on the policy.
	for _, name := range slices.Sorted(maps.Keys(r.Header)) {
		s.print("%s: %s\n", name, strings.ReplaceAll(r.Header.Get(name), key, "KEY"))
	}
}

func (s *script) code(args []string) {
	code := "0"
	err := s.Exec("openai-responses-mcp", args[1:]...)
	if err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}

	out := s.ReadFile("stdout")
	stderr := s.ReadFile("stderr")
	clean(s, out+stderr)
	s.print("%s", out)
	fmt.Fprint(s.Stderr(), s.steady(stderr))
	if code != args[0] {
		s.Fatalf("exit code %s", code)
	}
}

func (s *script) answer(args []string) {
	raw := s.want(args[0]).raw
	a := gjson.Parse(gjson.Get(raw, "result.content.0.text").Str)
	if !a.Get("citations").IsArray() || strings.Contains(raw, "structuredContent") {
		s.Fatalf("not an answer as text: %s", raw)
	}

	s.print("%s\n", a.Get("answer"))
	for _, c := range a.Get("citations").Array() {
		s.print("citation %s %q %s\n", c.Get("url"), c.Get("title"), c.Get("published_at"))
	}
	s.print("used_search=%s model=%s\n", a.Get("used_search"), a.Get("model"))
	s.print("meta %s\n", gjson.Get(raw, "result._meta"))
}

func (s *script) progress() {
	var last gjson.Result // null is less than a number
	for raw := range strings.Lines(s.c.output()) {
		p := gjson.Get(raw, "params")
		progress := p.Get("progress")
		if !progress.Exists() {
			continue
		}
		if !last.Less(progress, true) {
			s.Fatalf("no progress after %s: %s", last, raw)
		}
		last = progress
		s.print("%s\n", p.Get("message"))
	}
}

func (s *script) eof() {
	rest := s.c.eof()
	last := s.c.all[len(s.c.all)-1] // There is no progress after the answer.
	for _, m := range rest {
		if !gjson.Get(m.raw, "params.progress").Exists() || m == last {
			s.print("%s\n", m.raw)
		}
	}
	fmt.Fprint(s.Stderr(), s.steady(s.c.log()))
}

func (s *script) serve(args []string) {
	if s.c != nil {
		s.c.eof()
	}
	words := []string{"--stdio"}
	for _, name := range []string{"HOME", "OPENAI_BASE_URL", "OPENAI_API_KEY"} {
		words = append(words, name+"="+s.Getenv(name))
	}
	s.c = start(s, program(s.MkAbs("."), append(words, args...)...))
}

func (s *script) print(format string, args ...any) {
	text := s.steady(fmt.Sprintf(format, args...))
	s.printed += text
	fmt.Fprint(s.Stdout(), text)
}

func (s *script) want(id string) message {
	if id == "-" {
		id = "0"
		s.c.line(ask(id, "x"))
	}
	return s.c.want(id)
}

func (s *script) number(args []string) int {
	if args[0] == "last" {
		return len(s.api.Requests())
	}
	n, err := strconv.Atoi(args[0])
	s.Check(err)
	return n
}

var varying = []struct{ from, to string }{
	{`("openai-responses-mcp/elapsed_ms":)\d+`, "${1}0"},
	{`\b(req|resp|rs|ws|msg)_0ff11e[0-9a-f]+`, "${1}_ID"},
	{`127\.0\.0\.1:\d{4,5}`, "API"},
	{`\b\d\d:\d\d:\d\d\.\d+`, "TIME"},
}

// steady replaces what is different in each run.
func (s *script) steady(text string) string {
	text = strings.NewReplacer(
		s.Getenv("WORK"), "$WORK",
		version.String(), "BUILD",
		version.Version, "VERSION",
	).Replace(undated(text))

	for _, v := range varying {
		text = regexp.MustCompile(v.from).ReplaceAllString(text, v.to)
	}
	return text
}

// undated replaces the date of access.
func undated(text string) string {
	now := time.Now().In(time.FixedZone("JST", 9*60*60))
	text = strings.ReplaceAll(text, now.Format(time.DateOnly), "TODAY")
	now = now.Add(-patience) // midnight may have passed
	return strings.ReplaceAll(text, now.Format(time.DateOnly), "TODAY")
}

// errorOf reads the error in a message.
func errorOf(t tester, raw string) gjson.Result {
	t.Helper()
	e := gjson.Get(raw, "error")
	if message := e.Get("message").Str; message == "" || strings.ContainsAny(message, "\r\n") {
		t.Fatalf("not an error of one line: %s", raw)
	}
	return e
}
