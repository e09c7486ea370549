//go:build unix

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// Tokens and secrets. None of them may be logged.
const (
	alice = "0123456789abcdef0"
	bob   = "fedcba98765432100"

	anyKey    = "OPENAI_API_KEY=sk-another-key-of-24-characters"
	keyLater  = "OPENAI_API_KEY= OPENAI_API_KEY_FILE=none"
	oldSecret = "MCP_TASK_SECRETS=0123456789abcdef0123456789abcdef"
	newSecret = "MCP_TASK_SECRETS=a-new-secret-of-32-characters...,0123456789abcdef0123456789abcdef"
)

// inBackground is a configuration.
const inBackground = "model_profiles: {answer: {background: true}}\n"

// withTasks is the _meta of a client that takes tasks.
const withTasks = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"codex","version":"1.0"},` +
	`"io.modelcontextprotocol/clientCapabilities":{` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// replica is a server, and how clients that take tasks reach it.
type replica struct {
	*client
	url    string // over HTTP
	header http.Header
}

// How a replica is started.
const (
	overStdio = "--stdio --config config.yaml "
	overHTTP  = "serve --http 127.0.0.1:0 --config config.yaml --notice 0s " +
		"MCP_HTTP_TOKENS=alice:" + alice + ",bob:" + bob + " "
)

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/mcp`)

// newReplica starts a replica with the variables of env, and with those and the flags of args.
func newReplica(t *testing.T, env []string, args string) *replica {
	words := slices.Concat(env, strings.Fields(args))
	cmd := program(home(t, inBackground+"prices: {gpt-5: {input: 1, output: 10}}\n"), words...)
	return startReplica(t, cmd, strings.HasPrefix(args, overHTTP))
}

// startReplica starts the command of a replica, and waits for its address if it serves HTTP.
func startReplica(t *testing.T, cmd *exec.Cmd, http bool) *replica {
	r := &replica{client: start(t, cmd), header: map[string][]string{}}
	if http {
		r.logged("serving MCP on")
		r.url = address.FindString(r.log())
	}
	return r
}

// request sends a request, over HTTP with a token, and returns the response.
func (r *replica) request(token, method, name, params string) gjson.Result {
	r.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":%s}}`,
		method, params, withTasks)
	if r.url == "" {
		r.line(body)
		return gjson.Parse(r.want("1").raw)
	}

	r.header.Set("Mcp-Protocol-Version", "2026-07-28")
	r.header.Set("Mcp-Method", method)
	r.header.Set("Mcp-Name", name)
	answer := r.post(context.Background(), token, body)
	return gjson.Parse(strings.TrimPrefix(answer, "event: message\ndata: "))
}

// post sends a message over HTTP, and returns the body of the response, or an error as JSON.
func (r *replica) post(ctx context.Context, token, message string) string {
	req := serving.Request(ctx, http.MethodPost, r.url, token, message)
	maps.Copy(req.Header, r.header)
	req.Host = req.Header.Get("Host") // "": that of the URL

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return fmt.Sprintf("%q", err)
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return string(body)
}

// research begins a task of alice and returns its id.
func (r *replica) research(query string) string {
	r.t.Helper()
	m, _ := r.tool(alice, "answer_detailed", "query", query, "exclude_domains", "b.example")
	id := m.Get("result.taskId").Str
	if id == "" {
		r.t.Fatalf("no task: %s\n%s", m, r.log())
	}
	return id
}

// task sends a request about a task.
func (r *replica) task(token, method, id string) gjson.Result {
	r.t.Helper()
	return r.request(token, "tasks/"+method, id, fmt.Sprintf(`"taskId":%q`, id))
}

// ended asks about a task until it does not work any more.
func (r *replica) ended(id string) (task gjson.Result) {
	r.t.Helper()
	poll(func() bool {
		task = r.task(alice, "get", id).Get("result")
		return task.Get("status").Str != "working"
	})
	return task
}

// completed wants the answer to a query of a task.
func (r *replica) completed(id, query string) {
	r.t.Helper()
	task := r.ended(id)
	if got := task.Get("result.content.0.text").Str; !strings.Contains(got, query) {
		r.t.Fatalf("the task is %s, want the answer to %q", task, query)
	}
}

// poll waits until something holds, and returns whether it does.
func poll(holds func() bool) bool {
	for end := time.Now().Add(patience); !holds() && time.Now().Before(end); {
		time.Sleep(100 * time.Millisecond)
	}
	return holds()
}

// Tasks that run side by side get their own answers. tasks/cancel ends the request of a task to the
// API, and so does the end of the session.
func TestTasks(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always asked")
	r := &replica{client: c}
	one := r.research("hang")
	other := r.research("hang")

	var ids []string
	for i := range 40 {
		ids = append(ids, r.research(fmt.Sprintf("delay=50ms %d;", i)))
	}
	for i, id := range ids {
		r.completed(id, fmt.Sprintf("delay=50ms %d;", i))
	}

	await(t, api.WaitRequests, 42)
	r.task("", "cancel", one)
	await(t, api.WaitAborted, 1)
	for id, want := range map[string]string{one: "cancelled", other: "working"} {
		compare.Equal(t, "a task", r.task("", "get", id).Get("result.status").Str, want)
	}

	c.eof()
	await(t, api.WaitAborted, 2)
}

// Whichever process finishes a task, the answer cites no pages that its call has excluded.
func TestTaskExcludes(t *testing.T) {
	t.Parallel()
	response := home(t, `{"id":"resp_1","status":"completed",
		"output":[{"type":"message","content":[{"type":"output_text","text":"It is so.","annotations":[
			{"type":"url_citation","url":"https://a.example/"},
			{"type":"url_citation","url":"https://www.b.example/"}]}]}]}`)
	_, env := newAPI(t, "file="+response+"/config.yaml+slow=100ms")
	id := newReplica(t, env, overHTTP).research("why")

	b := newReplica(t, env, overHTTP)
	b.completed(id, "a.example")
	answer := b.task(alice, "get", id).Get("result.result.content.0.text").Str
	if strings.Contains(answer, "b.example") {
		t.Errorf("the answer cites an excluded page: %s", answer)
	}
}

// tasks/cancel cancels at the API once, also in a process that has not begun the task, and only
// that of its person. The process that has begun it reports a call that was cancelled, not a
// failure.
func TestTaskCancelled(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "search+slow=1m")
	polls := home(t, inBackground+"responses: {stream: false}\n")
	a := newReplica(t, env, overHTTP+"--config "+polls+"/config.yaml")
	id := a.research("why")

	b := newReplica(t, env, overHTTP)
	for _, token := range []string{bob, alice, alice} {
		b.task(token, "cancel", id)
	}
	a.logged("outcome=cancelled kind=canceled")
	for name, r := range map[string]*replica{"a": a, "b": b} {
		status := r.ended(id).Get("status").Str // the call is logged before its task ends
		compare.Equal(t, "status at "+name, status, "cancelled")
	}
	wantPosts(t, api, 2) // the second one is a cancel
}

// A task that is cancelled just before its process ends, is cancelled at the API, too.
func TestTaskCancelledAtEnd(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(*replica){
		"EOF":     func(r *replica) { r.eof() },
		"SIGTERM": terminate,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "search+slow=1m")
			r := newReplica(t, env, overStdio)
			id := ""
			for i := 0; i < 5 && len(id) <= 26; i++ { // the response has no name after 2 s
				id = r.research("why")
			}
			next := api.Arrived() + 1
			r.task("", "cancel", id)
			end(r)
			wantCancel(t, api, next)
		})
	}
}

// A call that is cancelled before its client has read its id ends, also if the input ends
// meanwhile: its answer could not be asked for.
func TestCancelUnreadID(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "search+slow=1m")
	words := append(env, "--stdio", "--config", "config.yaml", "ANSWER_WITHIN_MS=1000")
	c := prepare(t, program(home(t, inBackground), words...)).launch()
	c.line(initialize)
	for i := range 3000 { // the answers fill the pipe
		c.line(ping(fmt.Sprint(i)))
	}
	c.line(withProgress(ask(`"call"`, "x")))
	await(t, api.WaitRequests, 1)
	time.Sleep(1300 * time.Millisecond) // The call is late.

	c.line(cancelled(`"call"`))
	for i := range 3000 {
		c.line(cancelled(fmt.Sprint(i)))
	}
	c.stdin.Close()
	time.Sleep(300 * time.Millisecond) // The server has read all of it.
	go c.read()
	wantCancel(t, api, 2)
	c.end(0)
}

// wantPosts wants that an API was asked n times, and cancelled nothing.
func wantPosts(t *testing.T, api *apitest.Server, n int) {
	t.Helper()
	posts := 0
	for _, r := range api.Requests() {
		if r.Method == http.MethodPost {
			posts++
		}
	}
	compare.Equal(t, "questions and cancels", posts, n)
}

// Ids that are not those of the person's tasks and late calls here are refused without a request to
// the API.
func TestUnknownTask(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "always", "search+slow=5s") // a silent stream would be asked for again
	a := newReplica(t, env, overHTTP+late)
	b := newReplica(t, env, overHTTP+late+anyKey)
	c := newReplica(t, env, overHTTP+late+oldSecret)
	ids := [2]string{a.research("why"), a.late("why")}
	const requests = 4 // a POST and a GET for each
	await(t, api.WaitRequests, requests)

	for _, tt := range []struct {
		name    string
		replica *replica
		token   string
		changed bool
	}{
		{"another person", a, bob, false},
		{"another person in another process", newReplica(t, env, overHTTP+late), bob, false},
		{"a changed id", a, alice, true},
		{"a key that is not listed", b, alice, false},
		{"a secret that is not listed", c, alice, false},
		{"a key that may still come", newReplica(t, env, overHTTP+late+keyLater), alice, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ids := ids
			for i, id := range ids {
				if tt.changed {
					ids[i] = id[:20] + other(id[20]) + id[21:]
				}
			}
			for _, method := range []string{"get", "cancel", "update"} {
				got := tt.replica.task(tt.token, method, ids[0]).Get("error").Raw
				compare.Contains(t, method, got, `{"code":-32602,"message":"Unknown task: `+ids[0][:50])
			}
			response, _ := tt.replica.tool(tt.token, "answer_result", "id", ids[1])
			const want = "answer_result: invalid arguments: the id is not known, or has expired"
			compare.Contains(t, "answer_result", response.Raw, want)
		})
	}

	compare.Equal(t, "requests to the API", len(api.Requests()), requests)
}

// The API gets the same identifier of a person from all replicas, with each request of a call, and
// another one of another person.
func TestSafetyIdentifier(t *testing.T) {
	t.Parallel()
	hashes := strings.NewReplacer( // of token:alice and token:bob
		"ALICE", "142cf5f743a90ad4ee6dc54c46e017cfc8c16a1d652d017ef0b7d6179c824838",
		"BOB", "cfb691d4009e24136bc3d9c54562a39cc07a5ccc753fa1c29ed3c839d5780315",
	)
	compare.Each(t, "identifiers", 4, func(t *testing.T, row []string) {
		t.Parallel()
		api, env := newAPI(t, "always", row[1]+"+slow=1ms")
		args := overHTTP + "REQUERY_ATTEMPTS=1 --config " +
			home(t, inBackground+row[2]) + "/config.yaml"
		a := newReplica(t, env, args)
		b := newReplica(t, env, args)

		a.tool(alice, "answer", "query", "x")
		b.tool(bob, "answer", "query", "x")
		b.tool(alice, "answer_detailed", "query", "x")

		var got []string
		for _, r := range api.Requests() {
			if r.Method == http.MethodPost {
				got = append(got, cmp.Or(gjson.GetBytes(r.Body, "safety_identifier").Str, "-"))
			}
		}
		want := strings.Fields(hashes.Replace(row[3]))
		got = got[:min(len(got), len(want))] // the task may have asked again
		compare.Equal(t, "the API gets", got, want)
	})
}

// calls are the lines of a call that is answered and of one that fails.
var calls = regexp.MustCompile(`(?s) call call_id=proxy-7 traceparent=00-0af.*-01 tool=answer ` +
	`client=alice app=codex/1\.0 model=gpt-5\.2 outcome=ok cost_usd=0\.0042 request_id=req_\w+ attempts=1 ` +
	`seconds=\d+(\.\d{1,3})? api_seconds=\d+(\.\d{1,3})? ` +
	`input_tokens=1200 cached_tokens=0 output_tokens=300 reasoning_tokens=64 searches=0` +
	`.* outcome=error kind=quota status=429 code=insufficient_quota hint="check plan, credit`)

// A call over HTTP is logged with its trace and with why it failed, but without tokens. Content and
// the API's message, which may quote it, are logged in debug only.
func TestServeLog(t *testing.T) {
	t.Parallel()
	for _, debug := range []bool{false, true} {
		t.Run(fmt.Sprint("debug ", debug), func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "ok", "quota")
			file := home(t, "alice:"+alice+"\n") + "/config.yaml"
			r := newReplica(t, env, overHTTP+"--allowed-host MCP.example:443 "+
				"--public-url https://mcp.example "+
				"--oauth-issuer http://127.0.0.1:1 "+ // which is down
				"MCP_HTTP_TOKENS= MCP_HTTP_TOKENS_FILE="+file+" --debug="+fmt.Sprint(debug))
			r.header = http.Header{
				"Host":         {"mcp.example"},
				"Traceparent":  {"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
				"X-Request-Id": {"proxy-7"},
			}
			for range 2 {
				r.tool(alice, "answer", "query", "is "+alice+" a token?")
			}

			r.logged("the keys cannot be read")
			r.logged("kind=quota status=429 code=insufficient_quota")
			if !calls.MatchString(r.log()) {
				t.Errorf("the log is %s, want %s", r.log(), calls)
			}
			for text, want := range map[string]bool{
				"without --oauth-scope, ID tokens and tokens for other purposes may be accepted": true,
				"is [redacted] a token?":      debug,
				"exceeded your current quota": debug,
				alice:                         false,
			} {
				if strings.Contains(r.log(), text) != want {
					t.Errorf("%q is logged: %t, want %t: %s", text, !want, want, r.log())
				}
			}

			sent := api.Requests()[0].Header.Get("Traceparent")
			compare.Equal(t, "the API gets the trace", sent, r.header.Get("Traceparent"))
		})
	}
}

// A client whose version is that of the configuration may say it in the header, and others as
// before.
func TestOldProtocolVersion(t *testing.T) {
	t.Parallel()
	_, env := newAPI(t)
	r := newReplica(t, env, overHTTP+"PROTOCOL_VERSION=2025-03-26")
	for version, want := range map[string]string{
		"2025-03-26": `"result"`,
		"2025-06-18": `"result"`,
		"2025-11-25": `"result"`,
		"2024-11-05": "Unsupported protocol version",
	} {
		r.header.Set("Mcp-Protocol-Version", version)
		body := r.post(t.Context(), alice, `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
		compare.Contains(t, "response to "+version, body, want)
	}

	params := fmt.Sprintf(`"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":%s`,
		`{"name":"t","version":"1"}`)
	r.header.Del("Mcp-Protocol-Version")
	body := r.post(t.Context(), alice, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`+params+`}}`)
	compare.Contains(t, "response to initialize", body, `"protocolVersion":"2025-03-26"`)
}

// People who share a server are not told what only its operator can do, and read what they can do.
func TestServeForCallers(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t)
	file := home(t, "responses: {stream: auto}\n") + "/config.yaml" // without background
	r := newReplica(t, env, overHTTP+"OPENAI_MAX_RETRIES=1 --config "+file)
	for _, row := range compare.Table(t, "callers", 2) {
		if err := api.Script(strings.Fields(row[0])...); err != nil {
			t.Fatal(err)
		}
		m, _ := r.tool(alice, "answer", "query", "x")
		text := m.Get("result.content.0.text").Str + "\n"
		compare.Contains(t, "text", text, "answer failed: "+row[1])
	}
	r.logged(`kind=model status=404 code=model_not_found hint="model_profiles.answer.model is gpt-5.2`)
	r.logged("kind=filtered status=400 code=invalid_prompt request_id")
	r.logged(`kind=no_text reason="incomplete: max_output_tokens" ` +
		`hint="ask for less, or raise max_output_tokens of the profile"`)
	r.logged("outcome=cancelled kind=canceled")
}

// A call beyond the limit of its person is not asked. Its error is for a model, and the log has it.
func TestServeCallsPerHour(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "always", "ok")
	r := newReplica(t, env, overHTTP+"--calls-per-hour 1")
	for _, tt := range []struct{ token, query, want string }{
		{alice, " ", "answer: invalid arguments: query must not be empty"},
		{alice, "x", `{"answer":`},
		{bob, "x", `{"answer":`},
		{alice, "x", "answer failed: used 1 of 1 calls an hour; the next call at "},
	} {
		m, _ := r.tool(tt.token, "answer", "query", tt.query)
		if got := m.Get("result.content.0.text").Str; !strings.HasPrefix(got, tt.want) {
			t.Errorf("got %s, want %s", m, tt.want)
		}
	}

	r.logged("client=alice app=codex/1.0 model=gpt-5.2 outcome=limited kind=limited ")
	compare.Equal(t, "requests to the API", len(api.Requests()), 2)
}

// A response in the background is cancelled at the API when its client has left, and when the
// server ends.
func TestServeCancels(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, strings.Fields(backgroundSteps+" ok ok "+backgroundSteps)...)
	r := newReplica(t, env, overHTTP+"--drain 0s")
	ctx, leave := context.WithCancel(t.Context())
	go r.post(ctx, alice, ask("1", "x"))
	await(t, api.WaitRequests, 2) // the second one is a GET
	leave()
	wantCancel(t, api, 3)
	await(t, api.WaitRequests, 4) // a GET for the usage

	go r.post(t.Context(), alice, ask("1", "x"))
	await(t, api.WaitRequests, 6)
	terminate(r)
	wantCancel(t, api, 7)
}

// other returns a character of ids that is not c.
func other(c byte) string {
	if c == 'a' {
		return "b"
	}
	return "a"
}
