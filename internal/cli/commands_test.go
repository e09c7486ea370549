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
	for _, tt := range []struct {
		name  string
		event llm.Event
		want  string
	}{
		{
			"text block",
			llm.BlockStart{Kind: "text", ID: "msg_1"},
			`{"type":"block_start","index":0,"kind":"text","id":"msg_1"}`,
		},
		{
			"tool block",
			llm.BlockStart{Index: 1, Kind: "tool_use", ID: "call_1", Name: "f"},
			`{"type":"block_start","index":1,"kind":"tool_use","id":"call_1","name":"f"}`,
		},
		{
			"no id",
			llm.BlockStart{Kind: "thinking"},
			`{"type":"block_start","index":0,"kind":"thinking","id":""}`,
		},
		{
			"text",
			llm.BlockDelta{Text: "<a> & 天\n"},
			`{"type":"block_delta","index":0,"text":"<a> & 天\n"}`,
		},
		{
			"unsafe text",
			llm.BlockDelta{Text: "\x7f\u009b\u202e\u2028\U000e0041\U0001f600\t"},
			`{"type":"block_delta","index":0,"text":"\u007f\u009b\u202e\u2028\udb40\udc41😀\t"}`,
		},
		{
			"thinking",
			llm.BlockDelta{Index: 2, Thinking: "hm"},
			`{"type":"block_delta","index":2,"thinking":"hm"}`,
		},
		{
			"input",
			llm.BlockDelta{Index: 3, InputJSON: `{"a":1}`},
			`{"type":"block_delta","index":3,"input_json":"{\"a\":1}"}`,
		},
		{"stop", llm.BlockStop{Index: 3}, `{"type":"block_stop","index":3}`},
		{
			"search",
			llm.Search{Action: "search", Query: "q"},
			`{"type":"search","action":"search","query":"q"}`,
		},
		{
			"page",
			llm.Search{Action: "open_page", URL: "https://a.example/?a&b"},
			`{"type":"search","action":"open_page","url":"https://a.example/?a&b"}`,
		},
		{"unknown search", llm.Search{}, `{"type":"search"}`},
		{
			"usage",
			llm.Usage{Input: 1, Cached: 9, Total: 3},
			`{"type":"usage","input_tokens":1,"output_tokens":0,"total_tokens":3}`,
		},
		{"done", llm.Done{Status: "completed"}, `{"type":"done","status":"completed"}`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			checkLine(t, eventOf(tt.event), tt.want)
		})
	}

	if line := eventOf(llm.Retrying{Attempt: 2, Err: &llm.Error{}}); line != nil {
		t.Errorf("a retry is printed as %v", line)
	}
}

// The line of an error has the API's message, unless that repeats a part of the key.
func TestErrorEvent(t *testing.T) {
	for _, tt := range []struct {
		name    string
		err     error
		message string
		code    string
	}{
		{
			"code",
			&llm.Error{Kind: llm.KindQuota, Type: "t", Code: "insufficient_quota", Message: "Too much."},
			"Too much.",
			"insufficient_quota",
		},
		{
			"type",
			&llm.Error{Kind: llm.KindParameter, Type: "invalid_request_error", Message: "No."},
			"No.",
			"invalid_request_error",
		},
		{
			"kind",
			&llm.Error{Kind: llm.KindMissingKey, Message: "Set X"},
			"Set X",
			"missing_key",
		},
		{
			"no message",
			&llm.Error{Kind: llm.KindServer, Status: 500},
			"explained",
			"server_error",
		},
		{
			"canceled",
			&llm.Error{Kind: llm.KindCanceled, Err: context.Canceled},
			"explained",
			"canceled",
		},
		{"other", errors.New("looking up"), "explained", "error"},
		{
			"key",
			&llm.Error{Kind: llm.KindAuth, Code: "invalid_api_key", Message: "Incorrect API key provided: sk-...abcd."},
			"explained",
			"invalid_api_key",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line := new(app).failed(tt.err, "explained")

			want := fmt.Sprintf(`{"type":"error","message":%q,"code":%q}`, tt.message, tt.code)
			checkLine(t, line, want)
		})
	}
}

func checkLine(t *testing.T, line event, want string) {
	t.Helper()
	var got strings.Builder
	err := printJSON(&got, line)
	if err != nil {
		t.Fatal(err)
	}
	if got.String() != want+"\n" {
		t.Errorf("printed %s, want %s", &got, want)
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
		t.Run(path, func(t *testing.T) {
			if got := temporary.MatchString(path); got != want {
				t.Errorf("temporary is %v, want %v", got, want)
			}
		})
	}
}

// A session fails without its responses, and with one to a cancelled request.
func TestSession(t *testing.T) {
	for _, tt := range []struct {
		name     string
		requests []request
		want     string // the error
	}{
		{"complete", firstRequests("test"), "<nil>"},
		{"no response", []request{{}}, "the server sent no response to "},
		{"refused", []request{{method: "no/such"}}, "no/such: method not found (-32601)"},
		{
			"cancelled",
			[]request{{method: "initialize", cancelled: true}},
			"call 1 was cancelled and yet answered",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := server.Options{Log: slog.New(slog.DiscardHandler)}
			ignore := func(string, []byte) {}
			err := session(t.Context(), o, true, tt.requests, ignore)

			if got := fmt.Sprint(err); got != tt.want {
				t.Errorf("the error is %s, want %s", got, tt.want)
			}
		})
	}
}
