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
	withTasks    = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
	withoutTasks = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`
	initialized  = `{"io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`
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
	_, sendErr := fmt.Fprintf(p.in, `{"jsonrpc":"2.0","id":1,"method":%q,"params":{"_meta":%s,%s}}`+"\n", method, meta, params)
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
			o.Tasks, o.MaxCalls, o.Timeout = true, 0, 5*time.Minute
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
		p.want(p.request("server/discover", withTasks, `"x":1`), `"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}`)
		began := time.Now()
		created := p.call(strings.Replace(withTasks, "{", `{"progressToken":1,`, 1), "answer_detailed", "why")
		id := created.Get("taskId").Str
		const times = `"createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:00Z","ttlMs":3900000,"pollIntervalMs":2000}`
		p.want(created, `"resultType":"task","taskId":"`, `","status":"working",`+times)
		if len(id) < 26 || time.Since(began) > 0 {
			t.Errorf("created after %v: %s", time.Since(began), created)
		}
		time.Sleep(500 * time.Millisecond)
		p.want(p.task("get", id), `"resultType":"complete","taskId":"`+id+`","status":"working","statusMessage":"searching: a",`+times)
		if r := p.task("update", id); r.Get("resultType").Str != "complete" || r.Get("taskId").Exists() {
			t.Errorf("update: %s", r)
		}
		time.Sleep(time.Minute)
		over := p.task("get", id)
		p.want(over, `"status":"completed","createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:01:00Z"`)
		plain, _ := sjson.Delete(p.call(withoutTasks, "answer_detailed", "why").Raw, `_meta.io\.modelcontextprotocol/serverInfo`)
		if got := over.Get("result").Raw; got != plain || gjson.Get(plain, "resultType").Str != "complete" {
			t.Errorf("result = %s, want that of a plain call: %s", got, plain)
		}
		time.Sleep(65*time.Minute - time.Since(began))
		p.want(p.task("get", id), `"status":"completed"`)
		time.Sleep(time.Millisecond)
		p.want(p.task("get", id), `"code":-32602`)
	})
}

// What tasks/get returns for calls that have failed. It is too late to cancel them.
func TestTaskFails(t *testing.T) {
	for _, tt := range []struct{ query, mode, status, want string }{
		{"fail", "", "completed", `"isError":true`},
		{"panic", "", "completed", `"text":"answer failed: internal error"`},
		{"fail", "protocol", "failed", `"error":{"code":-32001,"message":"answer failed: `},
	} {
		inSession(t, func(o *Options) { o.ToolErrors = tt.mode }, func(t *testing.T, p *peer) {
			id := p.call(withTasks, "answer_detailed", tt.query).Get("taskId").Str
			synctest.Wait()
			p.want(p.task("cancel", id), `"resultType":"complete"`)
			r := p.task("get", id)
			if r.Get("status").Str != tt.status || !strings.Contains(r.Raw, tt.want) || strings.Contains(r.Raw, secret) ||
				r.Get("result").Exists() != (tt.status == "completed") {
				t.Errorf("%s %s: got %s", tt.query, tt.mode, r)
			}
		})
	}
}

// Who gets no task, and what is refused.
func TestNoTask(t *testing.T) {
	const id = `"taskId":"x"`
	for _, tt := range []struct{ name, method, meta, params, want string }{
		{"another tool", "tools/call", withTasks, `"name":"answer","arguments":{"query":"why"}`, `"resultType":"complete"`},
		{"not declared", "tools/call", withoutTasks, `"name":"answer_detailed","arguments":{"query":"why"}`, `"resultType":"complete"`},
		{"2025-06-18", "tools/call", initialized, `"name":"answer_detailed","arguments":{"query":"why"}`, `"content":[`},
		{"invalid arguments", "tools/call", withTasks, `"name":"answer_detailed","arguments":{"query":""}`, `answer_detailed: invalid arguments: query must not be empty`},
		{"unknown tool", "tools/call", withTasks, `"name":"x","arguments":{}`, `"code":-32601`},
		{"unknown task", "tasks/get", withTasks, id, `"code":-32602,"message":"Unknown task: x"`},
		{"unknown task", "tasks/cancel", withTasks, id, `"code":-32602`},
		{"unknown task", "tasks/update", withTasks, id, `"code":-32602`},
		{"no id", "tasks/get", withTasks, `"taskId":1`, `"code":-32602`},
		{"not declared", "tasks/get", withoutTasks, id, `"code":-32021,"message":"Missing required client capability: io.modelcontextprotocol/tasks","data":{"requiredCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`},
		{"2025-06-18", "tasks/get", initialized, id, `"code":-32601`},
		{"unknown method", "tasks/list", withTasks, id, `"code":-32601`},
		{"off", "tasks/get", withTasks, id, `"code":-32601`},
		{"off", "tasks/cancel", withTasks, id, `"code":-32601`},
		{"off", "tasks/update", withTasks, id, `"code":-32601`},
		{"off", "tools/call", withTasks, `"name":"answer_detailed","arguments":{"query":"why"}`, `"resultType":"complete"`},
		{"off", "server/discover", withTasks, id, `"capabilities":{"tools":{}}`},
	} {
		t.Run(tt.name+" "+tt.method, func(t *testing.T) {
			inSession(t, func(o *Options) { o.Tasks = tt.name != "off" }, func(t *testing.T, p *peer) {
				if tt.meta == initialized {
					r := p.request("initialize", `{}`, `"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"x","version":"1"}`)
					if r.Get("capabilities").Raw != `{"tools":{}}` {
						t.Errorf("initialize: %s", r)
					}
				}
				if r := p.request(tt.method, tt.meta, tt.params); !strings.Contains(r.Raw, tt.want) || strings.Contains(r.Raw, `"task"`) {
					t.Errorf("got %s, want %s", r, tt.want)
				}
			})
		})
	}
}

// Beyond 1,000 tasks the oldest results are dropped. If all tasks work, the call is a plain one.
func TestTaskLimit(t *testing.T) {
	inSession(t, func(o *Options) { o.MaxCalls = 2000 }, func(t *testing.T, p *peer) {
		var ids []string
		for range 1000 {
			ids = append(ids, p.call(withTasks, "answer_detailed", "brief").Get("taskId").Str)
		}
		p.want(p.call(withTasks, "answer_detailed", "brief"), `"resultType":"complete"`)
		synctest.Wait() // all calls end at the same time
		p.want(p.call(withTasks, "answer_detailed", "brief"), `"resultType":"task"`)
		p.want(p.task("get", ids[0]), `"code":-32602`)
		p.want(p.task("get", ids[1]), `"status":"completed"`)
	})
}
