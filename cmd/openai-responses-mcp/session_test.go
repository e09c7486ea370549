//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/tidwall/gjson"
)

// The 257th call waits for one of 256.
func TestCallLimit(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always hang")
	c.begin()
	for i := range 257 {
		c.line(ask(fmt.Sprint(i), "x"))
	}
	await(t, api.WaitRequests, 256)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if api.WaitRequests(ctx, 257) == nil {
		t.Error("257 requests, want 256")
	}
	for i := range 256 { // One of them may be the call that waits.
		c.line(cancelled(fmt.Sprint(i)))
	}
	await(t, api.WaitRequests, 257)
}

// withTasks is the _meta of a client that takes tasks.
const withTasks = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// request sends a request of such a client and returns the result.
func request(c *client, method, params string) gjson.Result {
	c.t.Helper()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":%s}}`, method, params, withTasks))
	return gjson.Get(c.want("1").raw, "result")
}

// Tasks that run side by side get their own answers. tasks/cancel ends the request to the API, and so
// does the end of the session.
func TestTasks(t *testing.T) {
	t.Parallel()
	c, api := serve(t, strings.Repeat("delay=50ms ", 40)+"always hang")
	research := func(query string) (id string) {
		return request(c, "tools/call", fmt.Sprintf(`"name":"answer_detailed","arguments":{"query":%q}`, query)).Get("taskId").Str
	}
	task := func(method, id string) gjson.Result {
		return request(c, "tasks/"+method, fmt.Sprintf(`"taskId":%q`, id))
	}
	var ids []string
	for i := range 40 {
		ids = append(ids, research(fmt.Sprintf("question %d;", i)))
	}
	for i, id := range ids {
		r := task("get", id)
		for ; r.Get("status").Str == "working"; r = task("get", id) {
			time.Sleep(20 * time.Millisecond)
		}
		text := r.Get("result.content.0.text").Str
		if r.Get("status").Str != "completed" || !strings.Contains(text, fmt.Sprintf("question %d;", i)) {
			t.Errorf("task %d: %s", i, r)
		}
	}
	one, other := research("x"), research("x")
	await(t, api.WaitRequests, 42)
	task("cancel", one)
	await(t, api.WaitAborted, 1)
	for about, want := range map[string]string{one: "cancelled", other: "working"} {
		if r := task("get", about); r.Get("status").Str != want {
			t.Errorf("%s, want %s", r, want)
		}
	}
	c.eof()
	await(t, api.WaitAborted, 2)
}

// A session without calls has 5 goroutines and 8 files. Some more may not have ended yet. A leak has
// hundreds.
const (
	maxGoroutines = 10
	maxFiles      = 20
)

// What the API does with a question is its first word, a step of fakeapi. The result is what the
// client must get: an answer, an error, or nothing, because the call hangs until it is cancelled.
// "either" is an answer or an error.
var churn = []struct{ step, result string }{
	{"ok", "answer"},
	{"weather", "answer"},
	{"search+slow=1ms", "answer"},
	{"delay=20ms", "answer"},
	{"refuses=store", "answer"},
	{"incomplete", "answer"},
	{"refusal", "answer"},
	{"404", "error"},
	{"quota", "error"},
	{"cut", "error"},
	{"truncated", "error"},
	{"garbage", "error"},
	{"empty", "error"},
	{"failed", "error"},
	{"error", "error"},
	{"ok+cut-after=6", "either"},
	{"hang", "nothing"},
	{"ok+hang-after=4+delay=1ms", "nothing"},
}

// lane is one of the users of a session. It sends one call after the other, in one of the framings,
// cancels some, and knows what each must result in.
func lane(t *testing.T, c *client, name string, rnd *rand.Rand, end time.Time) {
	for n := 0; time.Now().Before(end); n++ {
		send := func(message string) { c.put([]string{framed(message), message + "\n"}[rnd.IntN(2)]) }
		id := fmt.Sprintf("%s-%d", name, n)
		quoted := `"` + id + `"`
		kind := churn[rnd.IntN(len(churn))]
		tool := []string{"answer", "answer_detailed", "answer_quick"}[rnd.IntN(3)]
		message := call(quoted, tool, fmt.Sprintf(`{"query":"%s %s;"}`, kind.step, id))
		if rnd.IntN(2) == 0 || strings.Contains(kind.step, "hang-after") {
			message = watched(message)
		}
		send(message)
		if kind.result == "nothing" || rnd.IntN(5) == 0 {
			for range rnd.IntN(4) { // round trips, so that calls are cancelled at different times
				c.line(ping(`"` + name + `"`))
				c.want(`"` + name + `"`)
			}
			send(cancelled(quoted))
			// The id is free, so the answer to a ping has it. The call may have been answered before it
			// was cancelled, but not afterwards.
			send(ping(quoted))
			if m := c.want(quoted); !strings.Contains(m.raw, `"result":{}`) {
				if kind.result == "nothing" {
					t.Errorf("a hanging call was answered: %s", m.raw)
				}
				c.want(quoted)
			}
			continue
		}
		m := c.want(quoted)
		answered := strings.Contains(m.raw, `"used_search`)
		if want := kind.result; want != "either" && answered != (want == "answer") {
			t.Errorf("%s: %s, want %s", kind.step, m.raw, want)
		}
		if answered && kind.step != "refusal" && !strings.Contains(m.raw, id+";") {
			t.Errorf("%s: answer to another question than %s: %s", kind.step, id, m.raw)
		}
	}
}

// files returns the number of the server's open files, 0 where that cannot be seen.
func files(c *client) int {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	return len(files)
}

// In one session calls, cancellations and faults go on side by side. Every call is answered once or
// cancelled, and afterwards the server uses what it used before.
func TestChurn(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always asked", "OPENAI_MAX_RETRIES=0")
	c.begin()
	seed, end := uint64(time.Now().UnixNano()), time.Now().Add(3*time.Second)
	var lanes sync.WaitGroup
	for i := range 16 {
		lanes.Go(func() { lane(t, c, fmt.Sprint("lane", i), rand.New(rand.NewPCG(seed, uint64(i))), end) })
	}
	lanes.Wait()
	c.line(ping(`"last"`))
	c.want(`"last"`)
	for line := range strings.Lines(c.log()) {
		if !strings.Contains(line, "warning: ") { // of refused parameters, one each
			t.Errorf("stderr: %s", line)
		}
	}
	// The server closes its connections to the API, which has ended.
	api.Close()
	open := files(c)
	for end := time.Now().Add(patience); open > maxFiles && time.Now().Before(end); open = files(c) {
		time.Sleep(10 * time.Millisecond)
	}
	if open > maxFiles {
		t.Errorf("%d open files, want at most %d", open, maxFiles)
	}
	_ = c.cmd.Process.Signal(syscall.SIGQUIT) // dumps the goroutines
	rest, dump := c.end(2), c.log()
	c.stderr.Reset() // A stack trace is a failure otherwise.
	goroutines := 0
	for stack := range strings.SplitSeq(dump, "\n\n") {
		// The idle goroutines of the runtime come and go.
		if strings.HasPrefix(stack, "goroutine ") && strings.Contains(stack, "openai-responses-mcp") {
			goroutines++
		}
	}
	if goroutines == 0 || goroutines > maxGoroutines {
		t.Errorf("%d goroutines, want at most %d:\n%s", goroutines, maxGoroutines, dump)
	}
	for _, m := range rest {
		if m.id != "" {
			t.Errorf("answered twice, or after it was cancelled: %s", m.raw)
		}
	}
	t.Logf("seed %d: %d messages, %d goroutines", seed, len(c.all), goroutines)
}
