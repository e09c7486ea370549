package llm

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func function(name string) map[string]any {
	return map[string]any{
		"type":       "function",
		"name":       name,
		"strict":     true,
		"parameters": map[string]any{"type": "object"},
	}
}

// TestRunEnds has calls that cannot be answered: the caller gets them, and no tool runs. The eighth
// response that calls tools is an error.
func TestRunEnds(t *testing.T) {
	callOf := func(id, name string) string {
		return `{"type":"function_call","id":"fc_1","call_id":` + id + `,"name":"` + name +
			`","arguments":"{}"}`
	}

	respond := func(status string, items ...string) string {
		output := strings.Join(items, ",")
		return `{"id":"resp_1","status":"` + status + `","output":[` + output + `]}`
	}

	add := callOf(`"call_1"`, "add")
	other := callOf(`"call_2"`, "other")
	mine := callOf(`"call_1"`, "mine")

	for _, tt := range []struct {
		name, body      string
		requests, calls int
		kind            Kind
	}{
		{"not offered", respond("completed", other), 1, 0, Kind{}},
		{"one of two not offered", respond("completed", add, other), 1, 0, Kind{}},
		{"offered, left to the caller", respond("completed", mine), 1, 0, Kind{}},
		{"no call_id", respond("completed", callOf("null", "add")), 1, 0, Kind{}},
		{"incomplete", respond("incomplete", add), 1, 0, Kind{}},
		{"again and again", respond("completed", add), 8, 7, KindFailed},
	} {
		t.Run(tt.name, func(t *testing.T) {
			calls := 0
			count := func(context.Context, string) (string, error) {
				calls++
				return "1", nil
			}

			c, api, _ := newClient(t, 0, answer(200, tt.body))
			tools := []Tool{{function("add"), count}, {Param: function("mine")}}
			events, _, err := collect(c.Run(t.Context(), question(), tools))

			wantKind(t, err, tt.kind)
			api.wantRequests(t, tt.requests)
			if calls != tt.calls {
				t.Errorf("%d calls, want %d", calls, tt.calls)
			}

			first, ok := events[0].(BlockStart)
			if !ok || first.Kind != BlockToolUse {
				t.Errorf("first event = %#v, want the start of a tool block", events[0])
			}
		})
	}
}

// The failure of a tool goes back to the model and does not affect the others.
func TestRunFailures(t *testing.T) {
	calls := `{"id":"resp_1","status":"completed",
		"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15},"output":[
		{"type":"reasoning","id":"rs_0","summary":[]},
		{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1}},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"},
		{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"},
		{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"}]}`
	both := make(chan struct{})
	tools := []Tool{
		{
			Param: function("fail"),
			Call: func(context.Context, string) (string, error) {
				<-both // until the last one runs, too
				return "half", errors.New("no such row")
			},
		},
		{
			Param: map[string]any{"type": "custom", "name": "echo"},
			Call: func(_ context.Context, input string) (string, error) {
				close(both)
				return input + "!", nil
			},
		},
	}

	c, api, _ := newClient(t, 0, answer(200, calls), sseStep(eventCompleted))
	events, r, err := collect(c.Run(t.Context(), question(), tools))
	if err != nil {
		t.Fatal(err)
	}

	checkBlocks(t, events)

	want := object(t, `{"input":[
		{"role":"user","content":"Hello?"},
		{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1}},
		{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"},
		{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"},
		{"type":"function_call_output","call_id":"call_1","output":"error: no such row"},
		{"type":"custom_tool_call_output","call_id":"call_3","output":"hi!"}]}`)
	if diff := cmp.Diff(want["input"], api.bodies[1]["input"]); diff != "" {
		t.Errorf("input of the second round (-want +got):\n%s", diff)
	}

	tokens := Usage{Input: 11, Output: 7, Total: 18}
	if r.Tokens != tokens {
		t.Errorf("usage = %+v, want %+v", r.Tokens, tokens)
	}

	event := events[len(events)-2]
	if event != Event(tokens) {
		t.Errorf("last event but one = %+v, want %+v", event, tokens)
	}
}
