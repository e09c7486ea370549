package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/config"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Each tool of the server has its profile, and ask has a flag for it: answer_quick has --quick.
func TestTools(t *testing.T) {
	o := server.Options{Log: slog.New(slog.DiscardHandler)}
	requests := firstRequests()
	err := session(t.Context(), o, true, requests, shown(io.Discard))
	if err != nil {
		t.Fatal(err)
	}
	tools := requests[1].response.Get("result.tools.#.name").Array()

	byTool := profiles(new(config.Config))

	compare.Equal(t, "tools, one for each profile", len(tools), len(byTool))

	for _, tool := range tools {
		t.Run(tool.Str, func(t *testing.T) {
			if _, ok := byTool[tool.Str]; !ok {
				t.Errorf("the configuration has no profile for the tool %s", tool)
			}

			args := []string{"?"}
			if name, ok := strings.CutPrefix(tool.Str, "answer_"); ok {
				args = []string{"--" + name, "?"}
			}
			f, err := new(app).parseAsk(t.Context(), args)
			if err != nil {
				t.Fatalf("ask has no flag for the tool %s: %v", tool, err)
			}
			if f.config.Profile != tool.Str {
				t.Errorf("ask %s uses the profile %s, want %s", args, f.config.Profile, tool)
			}
		})
	}
}

// events are those that --events prints.
var events = []struct {
	event llm.Event
	want  string
}{
	{
		llm.BlockStart{Kind: "text", ID: "msg_1"},
		`{"type":"block_start","index":0,"kind":"text","id":"msg_1"}`,
	},
	{
		llm.BlockStart{Index: 1, Kind: "tool_use", ID: "call_1", Name: "f"},
		`{"type":"block_start","index":1,"kind":"tool_use","id":"call_1","name":"f"}`,
	},
	{
		llm.BlockStart{Kind: "thinking"},
		`{"type":"block_start","index":0,"kind":"thinking","id":""}`,
	},
	{
		llm.BlockDelta{Text: "<a> & 天\n"},
		`{"type":"block_delta","index":0,"text":"<a> & 天\n"}`,
	},
	{
		llm.BlockDelta{Text: "\x7f\u009b\u202e\u2028\U000e0041\U0001f600\t"},
		`{"type":"block_delta","index":0,"text":"\u007f\u009b\u202e\u2028\udb40\udc41😀\t"}`,
	},
	{
		llm.BlockDelta{Index: 2, Thinking: "hm"},
		`{"type":"block_delta","index":2,"thinking":"hm"}`,
	},
	{
		llm.BlockDelta{Index: 3, InputJSON: `{"a":1}`},
		`{"type":"block_delta","index":3,"input_json":"{\"a\":1}"}`,
	},
	{llm.BlockStop{Index: 3}, `{"type":"block_stop","index":3}`},
	{
		llm.Search{Action: "search", Query: "q"},
		`{"type":"search","action":"search","query":"q"}`,
	},
	{
		llm.Search{Action: "open_page", URL: "https://a.example/?a&b"},
		`{"type":"search","action":"open_page","url":"https://a.example/?a&b"}`,
	},
	{
		llm.Usage{Input: 1, Cached: 9, Total: 3},
		`{"type":"usage","input_tokens":1,"output_tokens":0,"total_tokens":3}`,
	},
}

func TestEvents(t *testing.T) {
	for _, tt := range events {
		t.Run(tt.want, func(t *testing.T) {
			var got strings.Builder
			err := printJSON(&got, line(eventType(tt.event), tt.event))
			if err != nil {
				t.Fatal(err)
			}

			if got.String() != tt.want+"\n" {
				t.Errorf("printed %s, want %s", &got, tt.want)
			}
		})
	}
}

// The line of an error has the API's message and code, unless the message repeats a part of the key.
func TestErrorLine(t *testing.T) {
	for _, tt := range []struct {
		name string
		err  error
		want string // message and code
	}{
		{"code", &llm.Error{Type: "t", Code: "no_quota", Message: "Too much."}, "Too much. no_quota"},
		{"type", &llm.Error{Type: "invalid_request_error"}, "explained invalid_request_error"},
		{"kind", &llm.Error{Kind: llm.KindMissingKey}, "explained: hint missing_key"},
		{"key", &llm.Error{Kind: llm.KindAuth, Message: "Incorrect: sk-...abcd."}, "explained not_authenticated"},
		{"no text", llm.KindNoText.Errorf("no output"), "explained no_text"},
		{"other", errors.New("looking up"), "explained error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := gjson.ParseBytes(new(app).errorLine(tt.err, "explained", "hint"))

			compare.Equal(t, "the line", fmt.Sprint(got.Get("message"), " ", got.Get("code")), tt.want)
		})
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
			compare.Equal(t, "temporary", temporary.MatchString(path), want)
		})
	}
}

// shown returns a function for session that writes to w.
func shown(w io.Writer) func(request) error {
	return func(r request) error {
		_, err := io.WriteString(w, r.response.Raw)
		return err
	}
}

// A session fails without its responses, and with one to a cancelled request. It shows nothing after
// an interrupt.
func TestSession(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	o := server.Options{
		Log:     slog.New(slog.DiscardHandler),
		Timeout: time.Minute,
		Ask: func(context.Context, *llm.Call, answer.Question) (*answer.Answer, error) {
			interrupt()
			return nil, ctx.Err()
		},
		Explain: func(_ string, err error) string { return err.Error() },
	}
	const params = `{"name":"answer","arguments":{"query":"?"}}`
	call := request{method: "tools/call", params: params}
	initialize := request{method: "initialize", params: "{}", cancelled: true}
	for _, tt := range []struct {
		name     string
		requests []request
		want     string // the error
	}{
		{"no response", []request{{}}, ": cancelled is false, answered is false"},
		{"cancelled", []request{initialize}, "initialize: cancelled is true, answered is true"},
		{"interrupted", append(firstRequests(), call), "context canceled"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			err := session(ctx, o, true, tt.requests, shown(&out))

			compare.Equal(t, "the error", fmt.Sprint(err), tt.want)
			if strings.Contains(out.String(), `"error"`) {
				t.Errorf("shown: %s", &out)
			}
		})
	}
}
