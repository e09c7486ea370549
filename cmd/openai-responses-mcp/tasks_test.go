//go:build unix

package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// Tokens and secrets. None of them may be logged.
const (
	alice = "0123456789abcdef0"
	bob   = "fedcba98765432100"

	anyKey    = "OPENAI_API_KEY=sk-another-key-of-24-characters"
	oldSecret = "MCP_TASK_SECRETS=0123456789abcdef0123456789abcdef"
	newSecret = "MCP_TASK_SECRETS=a-new-secret-of-32-characters...,0123456789abcdef0123456789abcdef"
)

// home returns a folder with a configuration that runs answer_detailed in the background.
func home(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	config := []byte("model_profiles: {answer_detailed: {background: true}}\n")
	err := os.WriteFile(filepath.Join(dir, "config.yaml"), config, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

// replica is the program over HTTP.
type replica struct {
	*client
	url string
}

// serveHTTP starts a replica in front of an API, with the variables of env.
func serveHTTP(t *testing.T, env ...string) *replica {
	t.Helper()
	words := strings.Fields("serve --http 127.0.0.1:0 --config config.yaml --debug --notice 0s")
	tokens := "MCP_HTTP_TOKENS=alice:" + alice + " bob:" + bob
	words = append(words, tokens)
	env = slices.DeleteFunc(slices.Clone(env), func(s string) bool { return s == "" })
	c := start(t, program(home(t), append(words, env...)...))

	c.logged("/mcp")
	_, url, _ := strings.Cut(c.log(), "serving MCP on ")
	url, _, _ = strings.Cut(url, "\n")
	return &replica{c, url}
}

// request sends a request of a client that takes tasks, and returns the message that answers it.
func (r *replica) request(token, method, name, params string) gjson.Result {
	r.t.Helper()
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":%s}}`,
		method, params, withTasks)
	req, err := http.NewRequest(http.MethodPost, r.url, strings.NewReader(body))
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	req.Header = http.Header{
		"Authorization":        {"Bearer " + token},
		"Content-Type":         {"application/json"},
		"Accept":               {"application/json, text/event-stream"},
		"Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method":           {method},
		"Mcp-Name":             {name},
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatalf("%v\n%s", err, r.log())
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatalf("%v", err)
	}
	_, data, isStream := strings.Cut(string(answer), "data: ")
	if isStream {
		return gjson.Parse(data)
	}
	return gjson.ParseBytes(answer)
}

// research begins a task of alice and returns its id.
func (r *replica) research(query string) string {
	r.t.Helper()
	params := fmt.Sprintf(`"name":"answer_detailed","arguments":{"query":%q}`, query)
	m := r.request(alice, "tools/call", "answer_detailed", params)
	id := m.Get("result.taskId").Str
	if id == "" {
		r.t.Fatalf("no task: %s\n%s", m, r.log())
	}
	return id
}

func (r *replica) task(token, method, id string) gjson.Result {
	r.t.Helper()
	return r.request(token, "tasks/"+method, id, fmt.Sprintf(`"taskId":%q`, id))
}

// completed asks about a task until it does not work any more, and wants the answer to a query.
func completed(t *testing.T, query string, get func() gjson.Result) {
	t.Helper()
	task := get()
	for end := time.Now().Add(patience); task.Get("status").Str == "working"; task = get() {
		if time.Now().After(end) {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got := task.Get("result.content.0.text").Str; !strings.Contains(got, query) {
		t.Errorf("the task is %s, want the answer to %q", task, query)
	}
}

// posts counts the requests that ask the API a question.
func posts(api *fakeapi.Server) (n int) {
	for _, r := range api.Requests() {
		if r.Method == http.MethodPost && strings.HasSuffix(r.Path, "/responses") {
			n++
		}
	}
	return n
}

// A task outlives the process that began it: any other one with the same secret finishes it.
func TestTaskOutlives(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		first string // the secret of the process that begins the task
		then  string // that of the one that finishes it
	}{
		{"the same key", "", ""}, // that of newAPI
		{"a listed secret", oldSecret, newSecret},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "search+slow=100ms")
			then := append(slices.Clone(env), tt.then)
			a := serveHTTP(t, append(env, tt.first)...)
			b := serveHTTP(t, then...) // side by side with a
			id := a.research("why is it so")
			_ = a.cmd.Process.Kill()
			c := serveHTTP(t, then...) // started after a

			for _, r := range []*replica{b, c} {
				completed(t, "why is it so", func() gjson.Result {
					return r.task(alice, "get", id).Get("result")
				})
			}
			if n := posts(api); n != 1 {
				t.Errorf("the API was asked %d times, want once", n)
			}
			for _, r := range []*replica{a, b, c} {
				if strings.Contains(r.log(), id) {
					t.Errorf("the log has the id of the task:\n%s", r.log())
				}
			}
		})
	}
}

// Over stdio, too, and the end of the session does not cancel the response.
func TestTaskOutlivesSession(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		end  func(c *client)
	}{
		{"killed", func(c *client) { _ = c.cmd.Process.Kill() }},
		{"at its end", func(c *client) { c.eof() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "search+slow=100ms")
			words := append(env, "--stdio", "--config", "config.yaml")
			c := start(t, program(home(t), words...))
			id := research(c, "why is it so")
			tt.end(c)

			c = start(t, program(home(t), words...))
			completed(t, "why is it so", func() gjson.Result { return task(c, "get", id) })
			if n := posts(api); n != 1 {
				t.Errorf("the API was asked %d times, want once and no cancel", n)
			}
		})
	}
}

// Ids that are not those of the person's tasks here are refused without a request to the API.
func TestUnknownTask(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "always", "search+slow=50ms")
	a := serveHTTP(t, env...)
	b := serveHTTP(t, append(slices.Clone(env), anyKey)...)
	c := serveHTTP(t, append(slices.Clone(env), oldSecret)...)
	id := a.research("why")
	requests := len(api.Requests())

	for _, tt := range []struct {
		name    string
		replica *replica
		token   string
		id      string
	}{
		{"another person", a, bob, id},
		{"a changed id", a, alice, id[:20] + "_" + id[21:]},
		{"a key that is not listed", b, alice, id},
		{"a secret that is not listed", c, alice, id},
	} {
		for _, method := range []string{"get", "cancel", "update"} {
			t.Run(tt.name+" "+method, func(t *testing.T) {
				m := tt.replica.task(tt.token, method, tt.id)
				want := "Unknown task: " + tt.id[:50]
				got := m.Get("error.message").Str
				if m.Get("error.code").Int() != -32602 || !strings.HasPrefix(got, want) {
					t.Errorf("got %s, want %s", m, want)
				}
				if n := len(api.Requests()); n != requests {
					t.Errorf("%d requests to the API, want none", n-requests)
				}
			})
		}
	}
}
