//go:build unix

package main

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
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

// Tasks that run side by side get their own answers.
func TestTasks(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "ok")
	api.Choose(func(question string) fakeapi.Step {
		word, _, _ := strings.Cut(question, " ")
		step, err := fakeapi.ParseStep(word)
		if err != nil {
			t.Error(err)
		}
		return step
	})
	var all sync.WaitGroup
	for i := range 40 {
		all.Go(func() {
			id := fmt.Sprint(i)
			about := research(c, id, fmt.Sprintf("delay=%dms number-%d!", i%7*50, i))
			r := task(c, id, "get", about)
			for r.Get("status").Str == "working" {
				time.Sleep(20 * time.Millisecond)
				r = task(c, id, "get", about)
			}
			if text := r.Get("result.content.0.text").Str; r.Get("status").Str != "completed" || !strings.Contains(text, "number-"+id+"!") {
				t.Errorf("task %d: %s", i, r)
			}
		})
	}
	all.Wait()
	c.eof()
}

// tasks/cancel ends the request to the API, and so does the end of the session.
func TestTasksEnd(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always hang")
	first, second := research(c, "1", "x"), research(c, "2", "x")
	await(t, api.WaitRequests, 2)
	task(c, "3", "cancel", first)
	await(t, api.WaitAborted, 1)
	for about, want := range map[string]string{first: "cancelled", second: "working"} {
		if r := task(c, "4", "get", about); r.Get("status").Str != want {
			t.Errorf("%s, want %s", r, want)
		}
	}
	c.eof()
	await(t, api.WaitAborted, 2)
}
