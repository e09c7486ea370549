package llm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func function(name string) map[string]any {
	return map[string]any{"type": "function", "name": name, "strict": true, "parameters": map[string]any{"type": "object"}}
}

// TestRunEnds has calls that cannot be answered: the caller gets them, and no tool runs.
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
		never := func(context.Context, string) (string, error) {
			t.Errorf("%s: a tool runs", name)
			return "", nil
		}
		events, r, err := collect(c.Run(t.Context(), question(), []Tool{{function("add"), never}, {Param: function("mine")}}))
		if err != nil || r.ID != "resp_1" || api.requests() != 1 {
			t.Errorf("%s: %v, %v after %d requests, want the response at once", name, r, err, api.requests())
		}
		if start, ok := events[0].(BlockStart); !ok || start.Kind != BlockToolUse {
			t.Errorf("%s: events begin with %+v, want the call", name, events[0])
		}
	}
	// The eighth response that calls tools is an error.
	calls := 0
	c, api, _ := newClient(t, 0, answer(200, respond("completed", call(`"call_1"`, "add"))))
	_, _, err := collect(c.Run(t.Context(), question(), []Tool{{function("add"), func(context.Context, string) (string, error) {
		calls++
		return "1", nil
	}}}))
	if e := asError(t, err); e.Kind != KindFailed || api.requests() != 8 || calls != 7 {
		t.Errorf("Run = %v after %d requests and %d calls, want 8 and 7", e, api.requests(), calls)
	}
}

// The failure of a tool goes back to the model and does not affect the others.
func TestRunFailures(t *testing.T) {
	calls := `{"id":"resp_1","status":"completed","usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15},"output":[
		{"type":"reasoning","id":"rs_0","summary":[]},
		{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1,"a":2.50}},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"},
		{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"},
		{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"}]}`
	both := make(chan struct{})
	tools := []Tool{
		{function("fail"), func(context.Context, string) (string, error) {
			<-both // until the last one runs, too
			return "half", errors.New("no such row")
		}},
		{map[string]any{"type": "custom", "name": "echo"}, func(_ context.Context, input string) (string, error) {
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
	blocks(t, events)
}
