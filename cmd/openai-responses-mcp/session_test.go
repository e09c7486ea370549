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

	// A request that should not be there has a second to arrive.
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
const withTasks = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientCapabilities":{` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// request sends a request of such a client and returns the result.
func request(c *client, method, params string) gjson.Result {
	c.t.Helper()
	c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":%s}}`,
		method, params, withTasks))
	return gjson.Get(c.want("1").raw, "result")
}

// research begins a task and returns its id.
func research(c *client, query string) string {
	c.t.Helper()
	params := fmt.Sprintf(`"name":"answer_detailed","arguments":{"query":%q}`, query)
	return request(c, "tools/call", params).Get("taskId").Str
}

// task sends a request about a task.
func task(c *client, method, id string) gjson.Result {
	c.t.Helper()
	return request(c, "tasks/"+method, fmt.Sprintf(`"taskId":%q`, id))
}

// Tasks that run side by side get their own answers.
func TestTasks(t *testing.T) {
	t.Parallel()
	c, _ := serve(t, "always delay=50ms")
	tasks := map[string]string{} // the queries by id
	for i := range 40 {
		query := fmt.Sprintf("question %d;", i)
		tasks[research(c, query)] = query
	}
	if len(tasks) != 40 {
		t.Errorf("%d tasks, want 40", len(tasks))
	}

	for id, query := range tasks {
		r := task(c, "get", id)
		for r.Get("status").Str == "working" {
			time.Sleep(20 * time.Millisecond)
			r = task(c, "get", id)
		}
		if got := r.Get("status").Str; got != "completed" {
			t.Errorf("%s: %s, want completed", query, r)
		}
		if got := r.Get("result.content.0.text").Str; !strings.Contains(got, query) {
			t.Errorf("%s: got the answer %s", query, got)
		}
	}
}

// tasks/cancel ends the request of a task to the API, and so does the end of the session.
func TestCancelTask(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always hang")
	one := research(c, "x")
	other := research(c, "x")
	await(t, api.WaitRequests, 2)

	task(c, "cancel", one)
	await(t, api.WaitAborted, 1)
	if got := task(c, "get", one).Get("status").Str; got != "cancelled" {
		t.Errorf("the task is %s, want cancelled", got)
	}
	if got := task(c, "get", other).Get("status").Str; got != "working" {
		t.Errorf("the other task is %s, want working", got)
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

// A result is what the client must get for a call.
type result int

const (
	anAnswer result = iota
	anError
	either  // an answer or an error
	nothing // the call hangs until it is cancelled
)

// What the API does with a question is its first word, a step of fakeapi.
var churn = []struct {
	step   string
	result result
}{
	{"ok", anAnswer},
	{"weather", anAnswer},
	{"search+slow=1ms", anAnswer},
	{"delay=20ms", anAnswer},
	{"refuses=store", anAnswer},
	{"incomplete", anAnswer},
	{"404", anError},
	{"quota", anError},
	{"cut", anError},
	{"truncated", anError},
	{"garbage", anError},
	{"empty", anError},
	{"failed", anError},
	{"error", anError},
	{"ok+cut-after=6", either},
	{"hang", nothing},
	{"ok+hang-after=4+delay=1ms", nothing},
}

// lane is one of the users of a session. It sends one call after the other, in one of the framings,
// cancels some, and knows what each must result in.
type lane struct {
	t    *testing.T
	c    *client
	name string
	rnd  *rand.Rand
}

// run sends calls.
func (l *lane) run(calls int) {
	tools := []string{"answer", "answer_detailed", "answer_quick"}
	for n := range calls {
		kind := churn[l.rnd.IntN(len(churn))]
		tool := tools[l.rnd.IntN(len(tools))]
		id := fmt.Sprintf("%s-%d", l.name, n)
		message := call(`"`+id+`"`, tool, fmt.Sprintf(`{"query":"%s %s;"}`, kind.step, id))
		if l.rnd.IntN(2) == 0 || strings.Contains(kind.step, "hang-after") {
			message = watched(message)
		}

		l.send(message)
		if kind.result == nothing || l.rnd.IntN(5) == 0 {
			l.cancel(`"`+id+`"`, kind.result)
		} else {
			l.receive(id, kind.step, kind.result)
		}
	}
}

// send sends a message in one of the framings.
func (l *lane) send(message string) {
	if l.rnd.IntN(2) == 0 {
		l.c.put(framed(message))
	} else {
		l.c.line(message)
	}
}

// cancel cancels a call and wants that its id is free: the answer to a ping has it. The call may have
// been answered before it was cancelled, but not afterwards.
func (l *lane) cancel(id string, result result) {
	for range l.rnd.IntN(4) { // round trips, so that calls are cancelled at different times
		l.c.line(ping(`"` + l.name + `"`))
		l.c.want(`"` + l.name + `"`)
	}

	l.send(cancelled(id))
	l.send(ping(id))
	m := l.c.want(id)
	if strings.Contains(m.raw, `"result":{}`) {
		return
	}
	if result == nothing {
		l.t.Errorf("a hanging call was answered: %s", m.raw)
	}
	l.c.want(id)
}

// receive wants the result of a call.
func (l *lane) receive(id, step string, result result) {
	m := l.c.want(`"` + id + `"`)
	answered := strings.Contains(m.raw, `"used_search`)
	if result == anAnswer && !answered {
		l.t.Errorf("%s: %s, want an answer", step, m.raw)
	}
	if result == anError && answered {
		l.t.Errorf("%s: %s, want an error", step, m.raw)
	}
	if answered && !strings.Contains(m.raw, id+";") {
		l.t.Errorf("%s: answer to another question than %s: %s", step, id, m.raw)
	}
}

// files returns the number of the server's open files, 0 where that cannot be seen.
func files(c *client) int {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	return len(files)
}

// goroutines counts the goroutines of a stack dump that run code of the program. The idle ones of the
// runtime come and go.
func goroutines(dump string) (n int) {
	for stack := range strings.SplitSeq(dump, "\n\n") {
		isGoroutine := strings.HasPrefix(stack, "goroutine ")
		if isGoroutine && strings.Contains(stack, "openai-responses-mcp") {
			n++
		}
	}
	return n
}

// In one session calls, cancellations and faults go on side by side. Every call is answered once or
// cancelled, and afterwards the server uses what it used before.
func TestChurn(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always asked", "OPENAI_MAX_RETRIES=0")
	c.begin()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)

	var lanes sync.WaitGroup
	for i := range 16 {
		l := &lane{
			t:    t,
			c:    c,
			name: fmt.Sprint("lane", i),
			rnd:  rand.New(rand.NewPCG(seed, uint64(i))),
		}
		lanes.Go(func() { l.run(80) })
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
	for end := time.Now().Add(patience); files(c) > maxFiles && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := files(c); n > maxFiles {
		t.Errorf("%d open files, want at most %d", n, maxFiles)
	}

	_ = c.cmd.Process.Signal(syscall.SIGQUIT) // dumps the goroutines
	for _, m := range c.end(2) {
		if m.id != "" {
			t.Errorf("answered twice, or after it was cancelled: %s", m.raw)
		}
	}
	dump := c.log()
	c.stderr.Reset() // A stack trace is a failure otherwise.
	if n := goroutines(dump); n == 0 || n > maxGoroutines {
		t.Errorf("%d goroutines, want 1 to %d:\n%s", n, maxGoroutines, dump)
	}
}
