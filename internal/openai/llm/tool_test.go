package llm

import (
	"context"
	"errors"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// TestRunEnds has calls that cannot be answered: the caller gets them, and no tool runs. The eighth
// response that calls tools is an error.
func TestRunEnds(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Status, Output string
		Requests, Calls      int
		Kind                 string
	}](t, "run-ends") {
		t.Run(tt.Name, func(t *testing.T) {
			calls := 0
			count := func(context.Context, string) (string, error) {
				calls++
				return "1", nil
			}

			body := `{"status":"` + tt.Status + `","output":[` + tt.Output + `]}`
			cl, api := newClient(0, answer(200, body))
			tools := []Tool{{map[string]any{"type": "function", "name": "add"}, count}}
			_, err := cl.Run(t.Context(), &call.Call{}, question(), tools)

			wantEqual(t, "kind", kindOf(t, err).Label(), tt.Kind)
			api.wantRequests(t, tt.Requests)
			wantEqual(t, "calls", calls, tt.Calls)
		})
	}
}

// toolCallsBody is a response that calls two tools.
const toolCallsBody = `{"id":"resp_1","status":"completed",
	"usage":{"input_tokens":10,"output_tokens":5,"total_tokens":15},"output":[
	{"type":"reasoning","id":"rs_0","summary":[]},
	{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1}},
	{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"},
	{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"},
	{"type":"reasoning","id":"rs_2","summary":[],"encrypted_content":"gBBB"}]}`

// The calls of a response run side by side. The failure of a tool goes back to the model and does
// not affect other tools.
func TestRunFailures(t *testing.T) {
	both := make(chan struct{})
	fail := func(context.Context, string) (string, error) {
		<-both // until the last one runs, too
		return "half", errors.New("no such row")
	}

	echo := func(_ context.Context, input string) (string, error) {
		close(both)
		return input + "!", nil
	}

	tools := []Tool{
		{map[string]any{"type": "function", "name": "fail"}, fail},
		{map[string]any{"type": "custom", "name": "echo"}, echo},
	}

	cl, api := newClient(0, answer(200, toolCallsBody), sseStep(eventCompleted))
	var events []call.Event
	r, err := cl.Run(t.Context(), recorded(&events), question(), tools)
	wantSuccess(t, err)

	wantScript(t, events, r, `
		call.BlockStart {"index":0,"kind":"thinking","id":"rs_0"}
		call.BlockStop {"index":0}
		call.BlockStart {"index":1,"kind":"thinking","id":"rs_1"}
		call.BlockStop {"index":1}
		call.BlockStart {"index":2,"kind":"tool_use","id":"call_1","name":"fail"}
		call.BlockDelta {"index":2,"input_json":"{}"}
		call.BlockStop {"index":2}
		call.BlockStart {"index":3,"kind":"tool_use","id":"call_3","name":"echo"}
		call.BlockDelta {"index":3,"input_json":"hi"}
		call.BlockStop {"index":3}
		call.BlockStart {"index":4,"kind":"thinking","id":"rs_2"}
		call.BlockStop {"index":4}
		call.BlockStart {"index":5,"kind":"text","id":"msg_1"}
		call.BlockDelta {"index":5,"text":"Yes."}
		call.BlockStop {"index":5}
		call.Usage {"input_tokens":11,"output_tokens":7,"total_tokens":18}
		call.Done {"status":"completed"}
		completed {"input_tokens":11,"output_tokens":7,"total_tokens":18}
		`)
	wantEqual(t, "end", events[len(events)-1], call.Done{Status: "completed", Streamed: true})

	want := object(t, `{
		"tools":[
			{"type":"web_search"},
			{"type":"function","name":"fail"},
			{"type":"custom","name":"echo"}],
		"input":[
			{"role":"user","content":"Hello?"},
			{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","future":{"b":1}},
			{"type":"function_call","id":"fc_1","call_id":"call_1","name":"fail","arguments":"{}"},
			{"type":"custom_tool_call","id":"ct_1","call_id":"call_3","name":"echo","input":"hi"},
			{"type":"function_call_output","call_id":"call_1","output":"error: no such row"},
			{"type":"custom_tool_call_output","call_id":"call_3","output":"hi!"}]}`)
	for name := range want {
		wantEqual(t, name+" of the second round", api.sent[1][name], want[name])
	}
}
