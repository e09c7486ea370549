package cli

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

func TestEvents(t *testing.T) {
	failed := func(err error) event { return new(app).failed(err, "explained") }
	for _, tt := range []struct {
		line event
		want string
	}{
		{eventOf(llm.BlockStart{Kind: "text", ID: "msg_1"}), `{"type":"block_start","index":0,"kind":"text","id":"msg_1"}`},
		{eventOf(llm.BlockStart{Index: 1, Kind: "tool_use", ID: "call_1", Name: "f"}), `{"type":"block_start","index":1,"kind":"tool_use","id":"call_1","name":"f"}`},
		{eventOf(llm.BlockStart{Kind: "thinking"}), `{"type":"block_start","index":0,"kind":"thinking","id":""}`},
		{eventOf(llm.BlockDelta{Text: "<a> & 天\n"}), `{"type":"block_delta","index":0,"text":"<a> & 天\n"}`},
		{eventOf(llm.BlockDelta{Text: "\x7f\u009b\u202e\u2028\U000e0041\U0001f600\t"}), `{"type":"block_delta","index":0,"text":"\u007f\u009b\u202e\u2028\udb40\udc41😀\t"}`},
		{eventOf(llm.BlockDelta{Index: 2, Thinking: "hm"}), `{"type":"block_delta","index":2,"thinking":"hm"}`},
		{eventOf(llm.BlockDelta{Index: 3, InputJSON: `{"a":1}`}), `{"type":"block_delta","index":3,"input_json":"{\"a\":1}"}`},
		{eventOf(llm.BlockStop{Index: 3}), `{"type":"block_stop","index":3}`},
		{eventOf(llm.Search{Action: "search", Query: "q"}), `{"type":"search","action":"search","query":"q"}`},
		{eventOf(llm.Search{Action: "open_page", URL: "https://a.example/?a&b"}), `{"type":"search","action":"open_page","url":"https://a.example/?a&b"}`},
		{eventOf(llm.Search{}), `{"type":"search"}`},
		{eventOf(llm.Usage{Input: 1, Cached: 9, Output: 0, Total: 3}), `{"type":"usage","input_tokens":1,"output_tokens":0,"total_tokens":3}`},
		{eventOf(llm.Done{Status: "completed"}), `{"type":"done","status":"completed"}`},
		{failed(&llm.Error{Kind: llm.KindQuota, Type: "insufficient_quota", Code: "insufficient_quota", Message: "You exceeded your quota."}), `{"type":"error","message":"You exceeded your quota.","code":"insufficient_quota"}`},
		{failed(&llm.Error{Kind: llm.KindParameter, Status: 400, Type: "invalid_request_error", Message: "No."}), `{"type":"error","message":"No.","code":"invalid_request_error"}`},
		{failed(&llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set X"}), `{"type":"error","message":"Missing API key: set X","code":"missing_key"}`},
		{failed(&llm.Error{Kind: llm.KindServer, Status: 500}), `{"type":"error","message":"explained","code":"server_error"}`},
		{failed(&llm.Error{Kind: llm.KindCanceled, Err: context.Canceled}), `{"type":"error","message":"explained","code":"canceled"}`},
		{failed(errors.New("looking up")), `{"type":"error","message":"explained","code":"error"}`},
		// The API repeats the end of a wrong key.
		{failed(&llm.Error{Kind: llm.KindAuth, Status: 401, Code: "invalid_api_key", Message: "Incorrect API key provided: sk-...abcd."}), `{"type":"error","message":"explained","code":"invalid_api_key"}`},
	} {
		var got strings.Builder
		if err := printJSON(&got, tt.line); err != nil || got.String() != tt.want+"\n" {
			t.Errorf("printed %s, %v, want %s", &got, err, tt.want)
		}
	}
	if line := eventOf(llm.Retrying{Attempt: 2, Err: &llm.Error{}}); line != nil {
		t.Errorf("a retry is printed as %v", line)
	}
}

func TestTemporary(t *testing.T) {
	hash := strings.Repeat("4f", 32)
	for path, want := range map[string]bool{
		"/tmp/go-build3930207189/b001/exe/openai-responses-mcp":                        true,
		"/home/u/.cache/go-build/4f/" + hash + "-d/openai-responses-mcp":               true,
		`C:\Users\u\AppData\Local\Temp\go-build39\b001\exe\openai-responses-mcp.exe`:   true,
		`C:\Users\u\AppData\Local\go-build\4f\` + hash + `-d\openai-responses-mcp.exe`: true,
		"/home/u/go/bin/openai-responses-mcp":                                          false,
		"/home/u/go-build39/openai-responses-mcp":                                      false,
		"/opt/" + hash + "/openai-responses-mcp":                                       false,
		`C:\Users\u\go\bin\openai-responses-mcp.exe`:                                   false,
	} {
		if got := temporary.MatchString(path); got != want {
			t.Errorf("%s: temporary is %v, want %v", path, got, want)
		}
	}
}

// A session fails without its responses, and with one to a cancelled request.
func TestSession(t *testing.T) {
	for want, requests := range map[string][]request{
		"<nil>":                                 firstRequests("test"),
		"the server sent no response to ":       {{}},
		"no/such: method not found (-32601)":    {{method: "no/such"}},
		"call 1 was cancelled and yet answered": {{method: "initialize", cancelled: true}},
	} {
		_, err := session(t.Context(), server.Options{Log: slog.New(slog.DiscardHandler)}, true, requests, func(string, []byte) {})
		if fmt.Sprint(err) != want {
			t.Errorf("%v: %v, want %s", requests, err, want)
		}
	}
}
