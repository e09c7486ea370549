package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// The _meta of requests: of a client with tasks, one without, and one of 2025-06-18.
const (
	stateless    = `"io.modelcontextprotocol/protocolVersion":"2026-07-28"`
	capabilities = `"io.modelcontextprotocol/clientCapabilities":`
	extension    = `{"extensions":{"io.modelcontextprotocol/tasks":{}}}`

	withTasks    = `{` + stateless + `,` + capabilities + extension + `}`
	withoutTasks = `{` + stateless + `,` + capabilities + `{}}`
	initialized  = `{` + capabilities + extension + `}`
)

// peer is the client's side of a session.
type peer struct {
	t   *testing.T
	in  io.Writer
	out *bufio.Reader
}

// request returns the result of a request, or {"error": …}.
func (p *peer) request(method, meta, params string) gjson.Result {
	p.t.Helper()
	const format = `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":%s,%s}}` + "\n"
	_, sendErr := fmt.Fprintf(p.in, format, method, meta, params)
	line, err := p.out.ReadString('\n')
	if err := errors.Join(sendErr, err); err != nil {
		p.t.Fatal(err)
	}

	if r := gjson.Get(line, "result"); r.Exists() {
		return r
	}
	return gjson.Parse(line)
}

func (p *peer) call(meta, tool, query string) gjson.Result {
	p.t.Helper()
	return p.request("tools/call", meta, fmt.Sprintf(`"name":%q,"arguments":{"query":%q}`, tool, query))
}

// task sends a request about a task.
func (p *peer) task(method, id string) gjson.Result {
	p.t.Helper()
	return p.request("tasks/"+method, withTasks, fmt.Sprintf(`"taskId":%q`, id))
}

// want checks parts of a result.
func (p *peer) want(r gjson.Result, parts ...string) {
	p.t.Helper()
	for _, part := range parts {
		if !strings.Contains(r.Raw, part) {
			p.t.Errorf("%s lacks %s", r, part)
		}
	}
}

// inSession runs a test in a session, which ends with the test.
func inSession(t *testing.T, set func(*Options), test func(t *testing.T, p *peer)) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		s, _ := newServer(func(o *Options) {
			o.Tasks = true
			o.MaxCalls = 0
			o.Timeout = 5 * time.Minute
			set(o)
		})

		in, input := io.Pipe()
		output, out := io.Pipe()
		defer input.Close()
		go s.MCP(ctx).Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
		test(t, &peer{t: t, in: input, out: bufio.NewReader(output)})
	})
}

func TestTask(t *testing.T) {
	inSession(t, func(*Options) {}, func(t *testing.T, p *peer) {
		p.want(p.request("server/discover", withTasks, `"x":1`),
			`"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}`)

		// A task is returned at once.
		const times = `"createdAt":"2000-01-01T00:00:00Z",` +
			`"lastUpdatedAt":"2000-01-01T00:00:00Z","ttlMs":3900000,"pollIntervalMs":2000}`
		began := time.Now()
		meta := strings.Replace(withTasks, "{", `{"progressToken":1,`, 1)
		created := p.call(meta, "answer_detailed", "why")
		id := created.Get("taskId").Str
		p.want(created, `"resultType":"task","taskId":"`, `","status":"working",`+times)
		if len(id) < 26 {
			t.Errorf("id %q, want 26 characters", id)
		}
		if d := time.Since(began); d > 0 {
			t.Errorf("created after %v", d)
		}

		// While it works, it has the last message about the call.
		time.Sleep(500 * time.Millisecond)
		p.want(p.task("get", id), `"resultType":"complete","taskId":"`+id+
			`","status":"working","statusMessage":"searching: a",`+times)
		update := p.task("update", id)
		p.want(update, `"resultType":"complete"`)
		if update.Get("taskId").Exists() {
			t.Errorf("update: %s", update)
		}

		// Its result is that of a plain call.
		time.Sleep(time.Minute)
		over := p.task("get", id)
		p.want(over, `"status":"completed","createdAt":"2000-01-01T00:00:00Z",`+
			`"lastUpdatedAt":"2000-01-01T00:01:00Z"`)
		plain := p.call(withoutTasks, "answer_detailed", "why")
		p.want(plain, `"resultType":"complete"`)
		want, _ := sjson.Delete(plain.Raw, `_meta.io\.modelcontextprotocol/serverInfo`)
		if got := over.Get("result").Raw; got != want {
			t.Errorf("result = %s, want that of a plain call: %s", got, want)
		}

		// It is kept for its time.
		time.Sleep(65*time.Minute - time.Since(began))
		p.want(p.task("get", id), `"status":"completed"`)
		time.Sleep(time.Millisecond)
		p.want(p.task("get", id), `"code":-32602`)
	})
}

// What tasks/get returns for calls that have failed. It is too late to cancel them.
func TestTaskFails(t *testing.T) {
	for _, tt := range []struct {
		query  string
		mode   string
		status string
		want   string
	}{
		{"fail", "", "completed", `"isError":true`},
		{"panic", "", "completed", `"text":"answer failed: internal error"`},
		{"fail", "protocol", "failed", `"error":{"code":-32001,"message":"answer failed: `},
	} {
		t.Run(tt.query+" "+tt.mode, func(t *testing.T) {
			mode := func(o *Options) { o.ToolErrors = tt.mode }
			inSession(t, mode, func(t *testing.T, p *peer) {
				id := p.call(withTasks, "answer_detailed", tt.query).Get("taskId").Str
				synctest.Wait()
				p.want(p.task("cancel", id), `"resultType":"complete"`)

				r := p.task("get", id)
				p.want(r, `"status":"`+tt.status+`"`, tt.want)
				if r.Get("result").Exists() != (tt.status == "completed") {
					t.Errorf("got %s, want a result only of a completed task", r)
				}
				if strings.Contains(r.Raw, secret) {
					t.Errorf("the secret is in %s", r)
				}
			})
		})
	}
}

// Parameters of requests.
const (
	someTask     = `"taskId":"x"`
	plainCall    = `"name":"answer","arguments":{"query":"why"}`
	detailedCall = `"name":"answer_detailed","arguments":{"query":"why"}`
	invalidCall  = `"name":"answer_detailed","arguments":{"query":""}`
)

// Which calls are no tasks, and which requests about tasks are refused.
func TestNoTask(t *testing.T) {
	const (
		invalid  = `answer_detailed: invalid arguments: query must not be empty`
		complete = `"resultType":"complete"`
		noMethod = `"code":-32601`
		noTask   = `"code":-32602`
		missing  = `"code":-32021,"message":"Missing required client capability: ` +
			`io.modelcontextprotocol/tasks","data":{"requiredCapabilities":` + extension + `}`
	)
	for _, tt := range []struct {
		name   string
		method string
		meta   string
		params string
		want   string
	}{
		{"another tool", "tools/call", withTasks, plainCall, complete},
		{"not declared", "tools/call", withoutTasks, detailedCall, complete},
		{"2025-06-18", "tools/call", initialized, detailedCall, `"content":[`},
		{"invalid arguments", "tools/call", withTasks, invalidCall, invalid},
		{"unknown tool", "tools/call", withTasks, `"name":"x","arguments":{}`, noMethod},
		{"unknown task", "tasks/get", withTasks, someTask, noTask + `,"message":"Unknown task: x"`},
		{"unknown task", "tasks/cancel", withTasks, someTask, noTask},
		{"unknown task", "tasks/update", withTasks, someTask, noTask},
		{"no id", "tasks/get", withTasks, `"taskId":1`, noTask},
		{"not declared", "tasks/get", withoutTasks, someTask, missing},
		{"2025-06-18", "tasks/get", initialized, someTask, noMethod},
		{"unknown method", "tasks/list", withTasks, someTask, noMethod},
		{"off", "tasks/get", withTasks, someTask, noMethod},
		{"off", "tasks/cancel", withTasks, someTask, noMethod},
		{"off", "tasks/update", withTasks, someTask, noMethod},
		{"off", "tools/call", withTasks, detailedCall, complete},
		{"off", "server/discover", withTasks, someTask, `"capabilities":{"tools":{}}`},
	} {
		t.Run(tt.name+" "+tt.method, func(t *testing.T) {
			tasks := func(o *Options) { o.Tasks = tt.name != "off" }
			inSession(t, tasks, func(t *testing.T, p *peer) {
				if tt.meta == initialized {
					r := p.request("initialize", `{}`, `"protocolVersion":"2025-06-18",`+
						`"capabilities":{},"clientInfo":{"name":"x","version":"1"}`)
					p.want(r, `"capabilities":{"tools":{}}`)
				}

				r := p.request(tt.method, tt.meta, tt.params)
				p.want(r, tt.want)
				if strings.Contains(r.Raw, `"task"`) {
					t.Errorf("got a task: %s", r)
				}
			})
		})
	}
}

// Beyond 1,000 tasks the oldest results are dropped. If all tasks work, the call is a plain one.
func TestTaskLimit(t *testing.T) {
	manyCalls := func(o *Options) { o.MaxCalls = 2000 }
	inSession(t, manyCalls, func(t *testing.T, p *peer) {
		var ids []string
		for range 1000 {
			id := p.call(withTasks, "answer_detailed", "brief").Get("taskId").Str
			ids = append(ids, id)
		}
		p.want(p.call(withTasks, "answer_detailed", "brief"), `"resultType":"complete"`)

		synctest.Wait() // all calls end at the same time
		p.want(p.call(withTasks, "answer_detailed", "brief"), `"resultType":"task"`)
		p.want(p.task("get", ids[0]), `"code":-32602`)
		p.want(p.task("get", ids[1]), `"status":"completed"`)
	})
}

// Beyond 64 MiB the tasks that completed first are dropped, also if they began later.
func TestTaskBytes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, _ := newServer(func(*Options) {})
		list := &taskList{server: s}
		start := func(duration time.Duration) string {
			text := &mcp.TextContent{Text: strings.Repeat("x", 10<<20)}
			call := func(context.Context) (mcp.Result, error) {
				time.Sleep(duration)
				return &mcp.CallToolResult{Content: []mcp.Content{text}}, nil
			}
			return list.start(t.Context(), call).ID
		}

		ids := []string{start(time.Minute)}
		for range 7 {
			ids = append(ids, start(time.Second))
			time.Sleep(2 * time.Second)
		}
		time.Sleep(time.Minute)
		ids = append(ids, start(time.Second))
		time.Sleep(time.Minute)

		for i, id := range ids {
			want := i == 0 || i > 3
			got := list.find(id) != nil
			if got != want {
				t.Errorf("task %d is kept: %t, want %t", i, got, want)
			}
		}
	})
}
