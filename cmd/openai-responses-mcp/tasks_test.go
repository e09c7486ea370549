package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// withTasks is the _meta of a client that takes tasks.
const withTasks = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// result sends a request of such a client and returns the result.
func result(c *client, id, request string) gjson.Result {
	c.t.Helper()
	c.line(strings.Replace(request, `"_meta":{}`, `"_meta":`+withTasks, 1))
	return gjson.Get(c.want(id).raw, "result")
}

// research starts a task and returns its id.
func research(c *client, query string) string {
	c.t.Helper()
	r := result(c, "1", call("1", "answer_detailed", fmt.Sprintf(`{"query":%q}`, query)))
	if r.Get("taskId").Str == "" || r.Get("resultType").Str != "task" {
		c.t.Fatalf("not a task: %s", r)
	}
	return r.Get("taskId").Str
}

// task sends a request about a task.
func task(c *client, method, task string) gjson.Result {
	c.t.Helper()
	return result(c, "2", fmt.Sprintf(`{"jsonrpc":"2.0","id":2,"method":"tasks/%s","params":{"taskId":%q,"_meta":{}}}`, method, task))
}

// Tasks that run side by side get their own answers. tasks/cancel ends the request to the API, and so
// does the end of the session.
func TestTasks(t *testing.T) {
	t.Parallel()
	c, api := serve(t, strings.Repeat("delay=50ms ", 40)+"always hang")
	questions := map[string]string{}
	for i := range 40 {
		question := fmt.Sprintf("question %d;", i)
		questions[research(c, question)] = question
	}
	for about, question := range questions {
		r := task(c, "get", about)
		for ; r.Get("status").Str == "working"; r = task(c, "get", about) {
			time.Sleep(20 * time.Millisecond)
		}
		if text := r.Get("result.content.0.text").Str; r.Get("status").Str != "completed" || !strings.Contains(text, question) {
			t.Errorf("task about %s: %s", question, r)
		}
	}
	one, other := research(c, "x"), research(c, "x")
	await(t, api.WaitRequests, 42)
	task(c, "cancel", one)
	await(t, api.WaitAborted, 1)
	for about, want := range map[string]string{one: "cancelled", other: "working"} {
		if r := task(c, "get", about); r.Get("status").Str != want {
			t.Errorf("%s, want %s", r, want)
		}
	}
	c.eof()
	await(t, api.WaitAborted, 2)
}
