package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func TestEventLines(t *testing.T) {
	for _, tt := range []struct {
		event llm.Event
		want  string
	}{
		{llm.BlockStart{Kind: "text", ID: "msg_1"}, `{"type":"block_start","index":0,"kind":"text","id":"msg_1"}`},
		{llm.BlockStart{Index: 1, Kind: "tool_use", ID: "call_1", Name: "f"}, `{"type":"block_start","index":1,"kind":"tool_use","id":"call_1","name":"f"}`},
		{llm.BlockStart{Kind: "tool_use"}, `{"type":"block_start","index":0,"kind":"tool_use","id":"","name":""}`},
		{llm.BlockStart{Kind: "thinking", ID: "rs_1", Name: "no"}, `{"type":"block_start","index":0,"kind":"thinking","id":"rs_1"}`},
		{llm.BlockDelta{Text: "<a> & 天\n"}, `{"type":"block_delta","index":0,"text":"<a> & 天\n"}`},
		{llm.BlockDelta{Index: 2, Thinking: "hm"}, `{"type":"block_delta","index":2,"thinking":"hm"}`},
		{llm.BlockDelta{Index: 3, InputJSON: `{"a":1}`}, `{"type":"block_delta","index":3,"input_json":"{\"a\":1}"}`},
		{llm.BlockDelta{Index: 3}, ""},
		{llm.BlockStop{Index: 3}, `{"type":"block_stop","index":3}`},
		{llm.Searching{Action: "search", Query: "q"}, `{"type":"search","action":"search","query":"q"}`},
		{llm.Searching{Action: "open_page", URL: "https://a.example/?a&b"}, `{"type":"search","action":"open_page","url":"https://a.example/?a&b"}`},
		{llm.Searching{}, `{"type":"search"}`},
		{llm.Usage{Input: 1, Cached: 9, Output: 2, Total: 3}, `{"type":"usage","input_tokens":1,"output_tokens":2,"total_tokens":3}`},
		{llm.Done{Status: "completed", Response: &llm.Response{ID: "x"}}, `{"type":"done","status":"completed"}`},
		{llm.Retrying{Attempt: 2, Err: &llm.Error{}}, ""},
	} {
		var b bytes.Buffer
		newEventPrinter(&b, func() {}).watch(tt.event)
		if got := strings.TrimSuffix(b.String(), "\n"); got != tt.want {
			t.Errorf("line of %#v = %s, want %s", tt.event, got, tt.want)
		}
	}
}

func TestFailureLine(t *testing.T) {
	for _, tt := range []struct {
		err           error
		message, code string
	}{
		{&llm.Error{Kind: llm.KindQuota, Type: "insufficient_quota", Code: "insufficient_quota", Message: "You exceeded your quota."}, "You exceeded your quota.", "insufficient_quota"},
		{&llm.Error{Kind: llm.KindParameter, Status: 400, Type: "invalid_request_error", Message: "No."}, "No.", "invalid_request_error"},
		{&llm.Error{Kind: llm.KindMissingKey, Message: "Missing API key: set X"}, "Missing API key: set X", "missing_key"},
		{&llm.Error{Kind: llm.KindServer, Status: 500}, "the API has an error of its own (500): try again later", "server_error"},
		{&llm.Error{Kind: llm.KindCanceled, Err: context.Canceled}, "cancelled", "canceled"},
		{errors.New("looking up"), "looking up", "error"},
	} {
		want := errorLine{"error", tt.message, tt.code}
		if diff := cmp.Diff(want, failureLine(tt.err, new(answer.Guide).Explain("answer", tt.err))); diff != "" {
			t.Errorf("failureLine(%v) (-want +got):\n%s", tt.err, diff)
		}
	}
	// The API repeats the end of a wrong key.
	wrong := &llm.Error{Kind: llm.KindAuth, Status: 401, Code: "invalid_api_key", Message: "Incorrect API key provided: sk-...abcd."}
	if got := failureLine(wrong, new(answer.Guide).Explain("answer", wrong)); strings.Contains(got.Message, "abcd") || got.Code != "invalid_api_key" {
		t.Errorf("failureLine(401) = %+v, want nothing of the key", got)
	}
}

// events are the lines of a run, decoded; it fails the test when they are no
// proper run: each on a line, blocks in pairs, one end.
func events(t *testing.T, got ran) []map[string]any {
	t.Helper()
	var all []map[string]any
	open := map[any]bool{}
	blocks := 0.0
	for text := range strings.Lines(got.stdout) {
		var e map[string]any
		if err := json.Unmarshal([]byte(text), &e); err != nil || !strings.HasSuffix(text, "\n") {
			t.Fatalf("line %q: %v", text, err)
		}
		if len(all) > 0 && (all[len(all)-1]["type"] == "done" || all[len(all)-1]["type"] == "error") {
			t.Errorf("%s stands behind the end", text)
		}
		switch at := e["index"]; e["type"] {
		case "block_start":
			if at != blocks {
				t.Errorf("%s has another index than %v", text, blocks)
			}
			blocks++
			open[at] = true
		case "block_delta", "block_stop":
			if !open[at] {
				t.Errorf("%s is of no open block", text)
			}
			open[at] = e["type"] == "block_delta"
		}
		all = append(all, e)
	}
	for at, is := range open {
		if is {
			t.Errorf("block %v is never stopped", at)
		}
	}
	if len(all) == 0 {
		t.Fatalf("no events: %+v", got)
	}
	return all
}

// joined is what the deltas of one member add up to.
func joined(all []map[string]any, member string) string {
	var b strings.Builder
	for _, e := range all {
		s, _ := e[member].(string)
		if e["type"] == "block_delta" {
			b.WriteString(s)
		}
	}
	return b.String()
}

func TestAskEvents(t *testing.T) {
	p := newProgram(t, "weather+slow=1ms")
	got := p.run(t, t.Context(), nil, "ask", "--events", "Weather in Tokyo?")
	all := events(t, got)
	if got.code != 0 || got.stderr != "" {
		t.Errorf("ask --events = %+v", got)
	}
	kinds := map[any]bool{}
	for _, e := range all {
		kinds[e["kind"]] = true
	}
	if !kinds["search"] || !kinds["text"] || !strings.Contains(joined(all, "text"), "Weather in Tokyo?") {
		t.Errorf("the events lack a search or the text:\n%s", got.stdout)
	}
	if n := len(all); all[n-2]["type"] != "usage" || all[n-1]["type"] != "done" || all[n-1]["status"] != "completed" {
		t.Errorf("the events end with %v, want usage and done", all[n-2:])
	}
	if p.sent(t)["stream"] != true {
		t.Error("the request has no stream")
	}
}

// What the stream holds besides an answer is shown too, and its end is a
// success even if there is no text in it.
func TestAskEventsWithoutText(t *testing.T) {
	for _, step := range []string{"tools:unknown", "empty", "incomplete:empty"} {
		p := newProgram(t, step)
		got := p.run(t, t.Context(), nil, "ask", "--events", "?")
		all := events(t, got)
		if got.code != 0 || all[len(all)-1]["type"] != "done" {
			t.Errorf("ask --events on %s = %d, ends with %v", step, got.code, all[len(all)-1])
		}
	}
}

func TestAskEventsFails(t *testing.T) {
	for _, tt := range []struct{ step, code string }{
		{"401", "invalid_api_key"},
		{"quota", "insufficient_quota"},
		{"error:insufficient_quota", "insufficient_quota"},
		{"failed:content_policy_violation", "content_policy_violation"},
	} {
		p := newProgram(t, tt.step)
		got := p.run(t, t.Context(), nil, "ask", "--events", "?")
		all := events(t, got)
		last := all[len(all)-1]
		if got.code != 1 || got.stderr != "" || last["type"] != "error" || last["code"] != tt.code || last["message"] == "" {
			t.Errorf("ask --events on %s = %d, %q, ends with %v", tt.step, got.code, got.stderr, last)
		}
	}
}

func TestAskEventsInterrupted(t *testing.T) {
	p := newProgram(t, "ok+hang-after=6")
	got := p.run(t, p.interrupted(t), nil, "ask", "--events", "?")
	all := events(t, got)
	if last := all[len(all)-1]; got.code != 130 || last["type"] != "error" || last["code"] != "canceled" {
		t.Errorf("ask --events = %d, ends with %v", got.code, last)
	}
}

// closedPipe takes one line and then none.
type closedPipe struct{ lines int }

func (c *closedPipe) Write(b []byte) (int, error) {
	if c.lines++; c.lines > 1 {
		return 0, errors.New("closed")
	}
	return len(b), nil
}

// Nobody reads the events any more: the request ends, too.
func TestAskEventsUnread(t *testing.T) {
	p := newProgram(t, "ok+hang-after=12")
	var out closedPipe
	var stderr bytes.Buffer
	code := Run(t.Context(), []string{"ask", "--events", "?"}, p.env, nil, &out, &stderr)
	if want := "openai-responses-mcp: error: writing the answer to stdout: closed\n"; code != 1 || stderr.String() != want || out.lines != 2 {
		t.Errorf("ask --events = %d, %q after %d lines, want 1, %q after 2", code, stderr.String(), out.lines, want)
	}
}

// Whatever the API streams comes out as a proper run, with the usage of its
// last event, and ends with done or error as the stream does.
func TestAskEventsRecordings(t *testing.T) {
	files, _ := filepath.Glob(filepath.Join("..", "..", "..", "shared", "recordings", "*.chunks.txt"))
	if len(files) == 0 {
		t.Skip("no recordings beside the repository")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			p := newProgram(t, "file="+file)
			got := p.run(t, t.Context(), nil, "ask", "--events", "?")
			all := events(t, got)
			var end struct {
				Type     string
				Response struct {
					Usage struct {
						Total float64 `json:"total_tokens"`
					}
				}
			}
			for line := range strings.Lines(string(data)) { // a recording may hold more turns
				if err := json.Unmarshal([]byte(line), &end); err != nil {
					t.Fatal(err)
				}
				if end.Type == "response.completed" || end.Type == "response.failed" {
					break
				}
			}
			n := len(all)
			if end.Type == "response.failed" {
				if got.code != 1 || all[n-1]["type"] != "error" || all[n-1]["code"] == "" {
					t.Errorf("exit %d, ends with %v", got.code, all[n-1])
				}
				return
			}
			if got.code != 0 || all[n-1]["type"] != "done" || n < 2 || all[n-2]["total_tokens"] != end.Response.Usage.Total {
				t.Errorf("exit %d, ends with %v, want %v tokens", got.code, all[max(0, n-2):], end.Response.Usage.Total)
			}
		})
	}
}
