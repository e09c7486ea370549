//go:build unix

package main

import (
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const late = "ANSWER_WITHIN_MS=1000 "

// tool calls a tool with arguments, which are names and values, and returns the response and the
// object in its text.
func (r *replica) tool(token, name string, arguments ...string) (response, object gjson.Result) {
	r.t.Helper()
	var members []string
	for pair := range slices.Chunk(arguments, 2) {
		members = append(members, fmt.Sprintf("%q:%q", pair[0], pair[1]))
	}
	params := fmt.Sprintf(`"name":%q,"arguments":{%s}`, name, strings.Join(members, ","))
	response = r.request(token, "tools/call", name, params)
	return response, gjson.Parse(response.Get("result.content.0.text").Str)
}

// late begins a call of alice that is late, and returns its id.
func (r *replica) late(query string) string {
	r.t.Helper()
	response, object := r.tool(alice, "answer", "query", query)
	if object.Get("status").Str != "working" {
		r.t.Fatalf("the call is not late: %s\n%s", response, r.log())
	}
	return object.Get("id").Str
}

// answered calls answer_result until there is an answer, which quotes the query.
func (r *replica) answered(id, query string) {
	r.t.Helper()
	for {
		response, object := r.tool(alice, "answer_result", "id", id)
		if object.Get("status").Str != "working" {
			if !strings.Contains(object.Get("answer").Str, query) {
				r.t.Fatalf("got %s, want the answer to %q", response, query)
			}
			return
		}
		id = object.Get("id").Str
	}
}

// result waits for the response to a call, and calls answer_result with the same id while it works.
func (c *client) result(id string) (raw string, late bool) {
	c.t.Helper()
	for ; ; late = true {
		raw = c.want(id).raw
		object := gjson.Parse(gjson.Get(raw, "result.content.0.text").Str)
		if object.Get("status").Str != "working" {
			return raw, late
		}
		c.line(call(id, "answer_result", fmt.Sprintf(`{"id":%q}`, object.Get("id").Str)))
	}
}

// Late calls that run side by side, and continue a question, get their own answers. At EOF a call
// is answered with its answer, and those that are late end.
func TestLateCalls(t *testing.T) {
	compare.SkipShort(t, "waits 8 s")
	t.Parallel()
	api, env := newAPI(t, "always", "asked")
	c := start(t, program(t.TempDir(), append(env, "--stdio", "ANSWER_WITHIN_MS=3000")...)).begin()
	c.line(ask(`"hang"`, "hang"))
	const n = 50
	for i := range n {
		const form = `{"query":"delay=4s %d;","follow_up_to":"delay=4s"}`
		c.line(call(fmt.Sprint(i), "answer", fmt.Sprintf(form, i)))
	}
	for i := range n {
		raw, _ := c.result(fmt.Sprint(i))
		compare.Contains(t, "answer", raw, fmt.Sprintf("delay=4s %d;", i))
	}
	compare.Equal(t, "requests to the API", len(api.Requests()), n+1)

	c.want(`"hang"`)
	c.line(ask("2", "delay=4s eof"))
	last := c.eof()
	compare.Equal(t, "answers at EOF", len(last), 1)
	compare.Contains(t, "at EOF", fmt.Sprint(last), "delay=4s eof")
	await(t, api.WaitAborted, 1)
}

// terminate ends a replica with a signal.
func terminate(r *replica) {
	r.cmd.Process.Signal(syscall.SIGTERM)
	r.end(0)
}

// A task and a late call outlive the process that began them: any other one with the same secret
// finishes them, also one whose calls are not late. The API is asked once and cancels nothing.
func TestOutlives(t *testing.T) {
	compare.SkipShort(t, "waits 6 s")
	t.Parallel()
	const late = "ANSWER_WITHIN_MS=3000 " // a busy machine has the name of the response before
	type kind struct {
		begin func(r *replica, query string) (id string)
		check func(r *replica, id, query string)
	}
	task := kind{(*replica).research, (*replica).completed}
	call := kind{(*replica).late, (*replica).answered}
	eof := func(r *replica) { r.eof() }
	kill := func(r *replica) { r.cmd.Process.Kill() }

	for _, tt := range []struct {
		name string
		kind
		first, then string // the arguments of the process that begins, and of those that finish
		end         func(r *replica)
	}{
		{"task, the same key", task, overHTTP + "DEBUG=1", overHTTP + "DEBUG=1", kill},
		{"task, a listed secret", task, overHTTP + oldSecret, overHTTP + newSecret, kill},
		{"task, stdio, EOF", task, overStdio, overStdio, eof},
		{"late, stdio, EOF", call, overStdio + late, overStdio + late, eof},
		{"late, stdio, SIGTERM", call, overStdio + late, overStdio + late, terminate},
		{"late, HTTP, SIGTERM", call, overHTTP + late, overHTTP + late, terminate},
		{"late, HTTP, SIGKILL", call, overHTTP + late, overHTTP, kill},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "search+slow=100ms")
			a := newReplica(t, env, tt.first)
			b := newReplica(t, env, tt.then) // side by side with a
			id := tt.begin(a, "why is it so")
			tt.end(a)
			c := newReplica(t, env, tt.then) // started after a

			tt.check(b, id, "why is it so")
			tt.check(c, id, "why is it so")

			wantPosts(t, api, 1)
			if log := a.log() + b.log() + c.log(); strings.Contains(log, id) {
				t.Errorf("the log has the id:\n%s", log)
			}
		})
	}
}

// Over HTTP a call that waits for a slot or for the rate limit ends in time, does not count for the
// quota, and has its answer when it is called again. It is not a failure.
func TestWaitingCall(t *testing.T) {
	compare.SkipShort(t, "waits 10 s")
	t.Parallel()
	for _, tt := range []struct {
		name, first string // step of the API
		taken       bool   // the slot
	}{
		{"slot", "ok", true},
		{"rate limit", "429=4", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "search+slow=80ms")
			r := newReplica(t, env, overHTTP+late+"--max-calls 1 --calls-per-hour 1")
			id := ""
			if tt.taken {
				id = r.late("why is it so")
			} else if err := api.Script(tt.first); err != nil {
				t.Fatal(err)
			}

			response, object := r.tool(bob, "answer", "query", "what is it")
			compare.Equal(t, "status", object.Get("status").Str, "waiting")
			compare.Contains(t, "message", object.Get("message").Str, "Call the same tool again")
			compare.Equal(t, "an error", response.Get("result.isError").Exists(), false)
			r.logged("outcome=waiting")
			compare.Equal(t, "errors in the log", strings.Contains(r.log(), "kind="), false)

			for object.Get("status").Str == "waiting" {
				response, object = r.tool(bob, "answer", "query", "what is it")
			}
			for object.Get("status").Str == "working" {
				response, object = r.tool(bob, "answer_result", "id", object.Get("id").Str)
			}
			compare.Contains(t, "answer", response.Get("result.content.0.text").Str, "what is it")
			if tt.taken {
				r.answered(id, "why is it so")
			}
			wantPosts(t, api, 2)
		})
	}
}

// Without the background a call over HTTP waits, and there is no answer_result.
func TestNotLate(t *testing.T) {
	t.Parallel()
	_, env := newAPI(t, "always", "delay=1500ms")
	r := newReplica(t, env, overHTTP+late+"--config "+home(t, "")+"/config.yaml")
	response, _ := r.tool(alice, "answer", "query", "why is it so")
	compare.Contains(t, "text", response.Get("result.content.0.text").Str, "why is it so")
	response, _ = r.tool(alice, "answer_result", "id", "x")
	compare.Equal(t, "error", response.Get("error.message").Str, "Unknown tool: answer_result")
}
