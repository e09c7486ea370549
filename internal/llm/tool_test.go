package llm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

func function(name string) responses.ToolUnionParam {
	return responses.ToolParamOfFunction(name, map[string]any{"type": "object"}, true)
}

// workbench has tools that record their calls.
type workbench struct {
	mu    sync.Mutex
	calls []string
}

func (w *workbench) tools() []Tool {
	note := func(name string) func(context.Context, string) (string, error) {
		return func(_ context.Context, input string) (string, error) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.calls = append(w.calls, name+" "+input)
			return fmt.Sprintf("%s did %d", name, len(w.calls)), nil
		}
	}
	return []Tool{
		{function("add"), note("add")},
		{responses.ToolUnionParam{OfCustom: &responses.CustomToolParam{Name: "free"}}, note("free")},
	}
}

// TestRun is a conversation with a fake API that refuses it unless reasoning,
// calls and outputs all come back.
func TestRun(t *testing.T) {
	tests := []struct {
		word            string
		requests, calls int
	}{
		{"ok", 1, 0},
		{"tools", 2, 1},
		{"tools:rounds=3,parallel=2", 4, 6},
		{"tools:rounds=7", 8, 7},
	}
	for _, tt := range tests {
		c, api := offline(t, strings.Repeat(tt.word+" ", tt.requests))
		w := &workbench{}
		r := question()
		r.Params.Input = responses.ResponseNewParamsInputUnion{OfString: param.NewOpt("What is 1 + 1?")}
		events, resp, err := collect(c.Run(t.Context(), r, w.tools()))
		if err != nil {
			t.Fatalf("%s: %v", tt.word, err)
		}
		if n := len(api.Requests()); n != tt.requests || len(w.calls) != tt.calls {
			t.Errorf("%s: %d requests, calls %q, want %d and %d", tt.word, n, w.calls, tt.requests, tt.calls)
		}
		if text := resp.OutputText(); strings.Count(text, " did ") != tt.calls {
			t.Errorf("%s: the answer does not have the outputs of the tools: %s", tt.word, text)
		}
		var inputs []string
		for _, b := range blocks(t, events) {
			if b.Kind == BlockToolUse {
				inputs = append(inputs, b.Name+" "+b.Text)
			}
		}
		slices.Sort(inputs)
		slices.Sort(w.calls)
		if diff := cmp.Diff(w.calls, inputs); diff != "" {
			t.Errorf("%s: input of the tools (-called +streamed):\n%s", tt.word, diff)
		}
	}
}

// offline returns a client of a fake API that plays steps, on a real socket.
func offline(t *testing.T, words string) (*Client, *fakeapi.Server) {
	t.Helper()
	api := fakeapi.New(fakeapi.Options{})
	steps, err := fakeapi.ParseSteps(words)
	if err != nil {
		t.Fatal(err)
	}
	api.Queue(steps...)
	base, stop, err := api.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	return New(Options{BaseURL: base, APIKey: testKey, MaxRetries: 1}), api
}

// TestRunEnds has calls that cannot be answered: the caller gets them, and no
// tool runs.
func TestRunEnds(t *testing.T) {
	call := func(id, name string) string {
		return `{"type":"function_call","id":"fc_1","call_id":` + id + `,"name":"` + name + `","arguments":"{}"}`
	}
	respond := func(status string, items ...string) string {
		return `{"id":"resp_1","status":"` + status + `","output":[` + strings.Join(items, ",") + `]}`
	}
	for name, body := range map[string]string{
		"not offered":                 respond("completed", call(`"call_1"`, "other")),
		"one of two not offered":      respond("completed", call(`"call_1"`, "add"), call(`"call_2"`, "other")),
		"offered, left to the caller": respond("completed", call(`"call_1"`, "mine")),
		"no call_id":                  respond("completed", call("null", "add")),
		"incomplete":                  respond("incomplete", call(`"call_1"`, "add")),
	} {
		c, api, _ := newClient(t, 0, answer(200, body))
		w := &workbench{}
		events, r, err := collect(c.Run(t.Context(), question(), append(w.tools(), Tool{Param: function("mine")})))
		if err != nil || r.ID != "resp_1" || api.requests() != 1 || len(w.calls) != 0 {
			t.Errorf("%s: %v, %v after %d requests and %d calls, want the response at once", name, r, err, api.requests(), len(w.calls))
		}
		if got := blocks(t, events); len(got) == 0 || got[0].Kind != BlockToolUse {
			t.Errorf("%s: blocks %+v, want the call among them", name, got)
		}
	}
}

// The failure of a tool goes back to the model and does not affect the others.
func TestRunFailures(t *testing.T) {
	calls := `{"id":"resp_1","status":"completed","usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15},"output":[
		{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1,"a":2.50}},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"},
		{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"}]}`
	both := make(chan struct{})
	tools := []Tool{
		{function("fail"), func(context.Context, string) (string, error) {
			<-both // until the last one runs, too
			return "half", errors.New("no such row")
		}},
		{responses.ToolUnionParam{OfCustom: &responses.CustomToolParam{Name: "echo"}}, func(_ context.Context, input string) (string, error) {
			close(both)
			return input + "!", nil
		}},
	}
	c, api, _ := newClient(t, 0, answer(200, calls), sseStep(eventCompleted))
	events, r, err := collect(c.Run(t.Context(), question(), tools))
	if err != nil {
		t.Fatal(err)
	}
	var want []any
	for _, item := range []string{
		`{"role":"user","content":"Hello?"}`,
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1,"a":2.50}}`,
		`{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"}`,
		`{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"}`,
		`{"type":"function_call_output","call_id":"call_1","output":"error: no such row"}`,
		`{"type":"custom_tool_call_output","call_id":"call_3","output":"hi!"}`,
	} {
		var v any
		if err := json.Unmarshal([]byte(item), &v); err != nil {
			t.Fatal(err)
		}
		want = append(want, v)
	}
	if diff := cmp.Diff(any(want), api.bodies[1]["input"]); diff != "" {
		t.Errorf("input of the second round (-want +got):\n%s", diff)
	}
	tokens := Usage{Input: 11, Output: 7, Total: 18}
	if events[len(events)-2] != Event(tokens) || r.Tokens != tokens {
		t.Errorf("usage = %+v, %+v, want %+v", events[len(events)-2], r.Tokens, tokens)
	}
	compare(t, events, `
		start 0 thinking rs_1
		stop 0
		start 1 tool_use call_1 fail
		delta 1 "{}"
		stop 1
		start 2 tool_use call_3 echo
		delta 2 "hi"
		stop 2
		start 3 text msg_1
		delta 3 "Yes."
		stop 3
		usage 18
		done completed
		`)
}
