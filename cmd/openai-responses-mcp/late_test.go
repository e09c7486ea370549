//go:build unix

package main

import (
	"fmt"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"
)

const late = "ANSWER_WITHIN_MS=1000 "

// tool calls a tool with one argument, and returns the response and the object in its text.
func (r *replica) tool(token, name, argument, value string) (response, object gjson.Result) {
	r.t.Helper()
	params := fmt.Sprintf(`"name":%q,"arguments":{%q:%q}`, name, argument, value)
	response = r.request(token, "tools/call", name, params)
	return response, gjson.Parse(response.Get("result.content.0.text").Str)
}

// late begins a call of alice that takes longer than a second, and returns its id.
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

// Late calls that run side by side get their own answers. At EOF a call is answered with its answer,
// and those that are late end.
func TestLateCalls(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "always", "asked")
	c := start(t, program(t.TempDir(), append(env, "--stdio", strings.TrimSpace(late))...)).begin()
	const n = 50
	for i := range n {
		c.line(ask(fmt.Sprint(i), fmt.Sprintf("delay=2500ms %d;", i)))
	}
	for i := range n {
		id := fmt.Sprint(i)
		for {
			object := gjson.Parse(gjson.Get(c.want(id).raw, "result.content.0.text").Str)
			if object.Get("status").Str != "working" {
				if want := fmt.Sprintf("delay=2500ms %d;", i); !strings.Contains(object.Raw, want) {
					t.Errorf("got %s, want the answer to %q", object, want)
				}
				break
			}
			c.line(call(id, "answer_result", fmt.Sprintf(`{"id":%q}`, object.Get("id").Str)))
		}
	}
	if got := len(api.Requests()); got != n {
		t.Errorf("%d requests to the API, want %d", got, n)
	}

	c.line(ask("1", "hang"))
	c.want("1")
	c.line(ask("2", "delay=2500ms eof"))
	for _, m := range c.eof() {
		if !strings.Contains(m.raw, "delay=2500ms eof") {
			t.Errorf("at EOF got %s, want the answer", m.raw)
		}
	}
	await(t, api.WaitAborted, 1)
}

// A late call in the background outlives its process: any other one with the same secret has its
// answer, for the same person. The API is asked once and cancels nothing.
func TestLateOutlives(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, args string
		end        func(r *replica)
	}{
		{"stdio, EOF", overStdio, func(r *replica) { r.eof() }},
		{"stdio, SIGTERM", overStdio, func(r *replica) {
			r.cmd.Process.Signal(syscall.SIGTERM)
			r.client.end(0)
		}},
		{"HTTP, SIGTERM", overHTTP, func(r *replica) {
			r.cmd.Process.Signal(syscall.SIGTERM)
			r.client.end(0)
		}},
		{"HTTP, SIGKILL", overHTTP, func(r *replica) { r.cmd.Process.Kill() }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			api, env := newAPI(t, "always", "search+slow=80ms")
			a := newReplica(t, env, tt.args+late)
			id := a.late("why is it so")
			tt.end(a)

			b := newReplica(t, env, tt.args+late)
			other := newReplica(t, env, tt.args+late+anyKey)
			requests := len(api.Requests())
			for token, r := range map[string]*replica{alice: other, bob: b} {
				if r == b && b.url == "" {
					continue // over stdio there is one person
				}
				response, _ := r.tool(token, "answer_result", "id", id)
				const want = "answer_result: invalid arguments: the id is not known, or has expired"
				if !strings.Contains(response.Raw, want) {
					t.Errorf("got %s, want %s", response, want)
				}
			}
			if n := len(api.Requests()); n != requests {
				t.Errorf("%d requests to the API for ids that are not known", n-requests)
			}

			b.answered(id, "why is it so")
			wantOnePost(t, api)
		})
	}
}

// Without the background a call over HTTP waits, and there is no answer_result.
func TestNotLate(t *testing.T) {
	t.Parallel()
	_, env := newAPI(t, "always", "delay=1500ms")
	r := newReplica(t, env, overHTTP+late+"--config "+home(t, "")+"/config.yaml")
	response, _ := r.tool(alice, "answer", "query", "why is it so")
	if got := response.Get("result.content.0.text").Str; !strings.Contains(got, "why is it so") {
		t.Errorf("got %s, want the answer", response)
	}
	response, _ = r.tool(alice, "answer_result", "id", "x")
	if got := response.Get("error.message").Str; got != "Unknown tool: answer_result" {
		t.Errorf("got %s, want an unknown tool", response)
	}
}
