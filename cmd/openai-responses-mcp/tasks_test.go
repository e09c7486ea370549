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

// research starts a task and returns its id.
func research(c *client, id, query string) string {
	c.t.Helper()
	c.line(strings.Replace(call(id, "answer_detailed", fmt.Sprintf(`{"query":%q}`, query)), `"_meta":{}`, `"_meta":`+withTasks, 1))
	m := c.want(id)
	task := gjson.Get(m.raw, "result.taskId").Str
	if task == "" || gjson.Get(m.raw, "result.resultType").Str != "task" {
		c.t.Fatalf("not a task: %s", m.raw)
	}
	return task
}

// task sends a request about a task and returns the result.
func task(c *client, id, method, task string) gjson.Result {
	c.t.Helper()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":"tasks/%s","params":{"taskId":%q,"_meta":%s}}`, id, method, task, withTasks))
	return gjson.Get(c.want(id).raw, "result")
}

// Tasks that run side by side get their own answers. tasks/cancel ends the request
// to the API, and so does the end of the session.
func TestTasks(t *testing.T) {
	t.Parallel()
	c, api := serve(t, strings.Repeat("delay=50ms ", 40)+"always hang")
	questions := map[string]string{}
	for i := range 40 {
		question := fmt.Sprintf("question %d;", i)
		questions[research(c, "1", question)] = question
	}
	for about, question := range questions {
		r := task(c, "2", "get", about)
		for r.Get("status").Str == "working" {
			time.Sleep(20 * time.Millisecond)
			r = task(c, "2", "get", about)
		}
		if text := r.Get("result.content.0.text").Str; r.Get("status").Str != "completed" || !strings.Contains(text, question) {
			t.Errorf("task about %s: %s", question, r)
		}
	}
	third, fourth := research(c, "3", "x"), research(c, "4", "x")
	await(t, api.WaitRequests, 42)
	task(c, "5", "cancel", third)
	await(t, api.WaitAborted, 1)
	for about, want := range map[string]string{third: "cancelled", fourth: "working"} {
		if r := task(c, "6", "get", about); r.Get("status").Str != want {
			t.Errorf("%s, want %s", r, want)
		}
	}
	c.eof()
	await(t, api.WaitAborted, 2)
}
