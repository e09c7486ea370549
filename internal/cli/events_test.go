package cli

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func TestEvents(t *testing.T) {
	for _, tt := range []struct {
		event llm.Event
		want  string
	}{
		{llm.BlockStart{Kind: "text", ID: "msg_1"}, `{"type":"block_start","index":0,"kind":"text","id":"msg_1"}`},
		{llm.BlockStart{Index: 1, Kind: "tool_use", ID: "call_1", Name: "f"}, `{"type":"block_start","index":1,"kind":"tool_use","id":"call_1","name":"f"}`},
		{llm.BlockStart{Kind: "thinking"}, `{"type":"block_start","index":0,"kind":"thinking","id":""}`},
		{llm.BlockDelta{Text: "<a> & 天\n"}, `{"type":"block_delta","index":0,"text":"<a> & 天\n"}`},
		{llm.BlockDelta{Text: "\x7f\u009b\u202e\u2028\U000e0041\U0001f600\t"}, `{"type":"block_delta","index":0,"text":"\u007f\u009b\u202e\u2028\udb40\udc41😀\t"}`},
		{llm.BlockDelta{Index: 2, Thinking: "hm"}, `{"type":"block_delta","index":2,"thinking":"hm"}`},
		{llm.BlockDelta{Index: 3, InputJSON: `{"a":1}`}, `{"type":"block_delta","index":3,"input_json":"{\"a\":1}"}`},
		{llm.BlockStop{Index: 3}, `{"type":"block_stop","index":3}`},
		{llm.Search{Action: "search", Query: "q"}, `{"type":"search","action":"search","query":"q"}`},
		{llm.Search{Action: "open_page", URL: "https://a.example/?a&b"}, `{"type":"search","action":"open_page","url":"https://a.example/?a&b"}`},
		{llm.Search{}, `{"type":"search"}`},
		{llm.Usage{Input: 1, Cached: 9, Output: 0, Total: 3}, `{"type":"usage","input_tokens":1,"output_tokens":0,"total_tokens":3}`},
		{llm.Done{Status: "completed"}, `{"type":"done","status":"completed"}`},
	} {
		if got := printed(t, eventOf(tt.event)); got != tt.want {
			t.Errorf("line of %#v = %s, want %s", tt.event, got, tt.want)
		}
	}
	if line := eventOf(llm.Retrying{Attempt: 2, Err: &llm.Error{}}); line != nil {
		t.Errorf("a retry is printed as %v", line)
	}
}

func TestFailed(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string // message and code
	}{
		{&llm.Error{Kind: llm.KindQuota, Type: "insufficient_quota", Code: "insufficient_quota", Message: "You exceeded your quota."}, `"You exceeded your quota.","code":"insufficient_quota"`},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Type: "invalid_request_error", Message: "No."}, `"No.","code":"invalid_request_error"`},
		{&llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set X"}, `"Missing API key: set X","code":"missing_key"`},
		{&llm.Error{Kind: llm.KindServer, Status: 500}, `"explained","code":"server_error"`},
		{&llm.Error{Kind: llm.KindCanceled, Err: context.Canceled}, `"explained","code":"canceled"`},
		{errors.New("looking up"), `"explained","code":"error"`},
		// The API repeats the end of a wrong key.
		{&llm.Error{Kind: llm.KindAuth, Status: 401, Code: "invalid_api_key", Message: "Incorrect API key provided: sk-...abcd."}, `"explained","code":"invalid_api_key"`},
	} {
		want := `{"type":"error","message":` + tt.want + "}"
		if got := printed(t, new(app).failed(tt.err, "explained")); got != want {
			t.Errorf("line of %v = %s, want %s", tt.err, got, want)
		}
	}
}

func printed(t *testing.T, line event) string {
	t.Helper()
	var b strings.Builder
	if err := printJSON(&b, line); err != nil {
		t.Error(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}
