package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// example is a request of spec §2 and transports.md §1, with the length that
// they declare. Three of the four are wrong.
type example struct {
	id     string
	length int
	body   string
}

var (
	exampleInitialize = example{"1", 118, `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{}}}`}
	exampleList       = example{"2", 52, `{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}`}
	exampleCall       = example{"3", 156, `{"jsonrpc":"2.0","id":3,"method":"tools/call","params":{"name":"answer","arguments":{"query":"HTTP 404 の意味は？"}}}`}
	examplePing       = example{"99", 36, `{"jsonrpc":"2.0","id":99,"method":"ping"}`}

	examples = []example{exampleInitialize, exampleList, exampleCall, examplePing}
)

// ways are how an example may be sent.
var ways = []struct {
	name    string
	framing string // of the answers
	send    func(example) string
}{
	{"as printed", "framed", func(e example) string { return fmt.Sprintf("Content-Length: %d\n\n%s\n", e.length, e.body) }},
	{"as printed, header by the rule", "framed", func(e example) string { return fmt.Sprintf("Content-Length: %d\r\n\r\n%s", e.length, e.body) }},
	{"right length", "framed", func(e example) string { return frame(e.body) }},
	{"line", "line", func(e example) string { return e.body + "\n" }},
}

// The answers to the examples, in the words of the spec.
func checkExamples(t *testing.T, answers map[string]message) {
	t.Helper()
	answers["1"].equal(t, `{"jsonrpc":"2.0","id":1,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},`+
		`"serverInfo":{"name":"openai-responses-mcp","version":"`+version.Version+`"}}}`)
	checkTools(t, answers["2"])
	got := answers["3"].answered(t)
	if got.Answer == "" || got.UsedSearch || len(got.Citations) != 0 || got.Model != "gpt-5.2" {
		t.Errorf("answer to the example = %+v, want an answer of gpt-5.2 without search", got)
	}
	answers["99"].equal(t, `{"jsonrpc":"2.0","id":99,"result":{}}`)
}

// specTools is what spec §3.1 says of the tools.
const specTools = `[{"name":"answer","description":"Search the web when needed and provide balanced, well-sourced answers. This is the standard general-purpose tool.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"recency_days":{"type":"number"},"max_results":{"type":"number"},"domains":{"type":"array","items":{"type":"string"}}},"required":["query"]}},{"name":"answer_detailed","description":"Perform comprehensive analysis with thorough research and detailed explanations. Best for complex questions requiring deep investigation.","inputSchema":{"type":"object","properties":{"query":{"type":"string"},"recency_days":{"type":"number"},"max_results":{"type":"number"},"domains":{"type":"array","items":{"type":"string"}}},"required":["query"]}},{"name":"answer_quick","description":"Provide fast, concise answers optimized for speed. Best for simple lookups or urgent questions.","inputSchema":{"type":"object","properties":{"query":{"type":"string"}},"required":["query"]}}]`

// checkTools compares a tools/list answer with the spec, what is beside it
// left out: title and annotations.
func checkTools(t *testing.T, m message) {
	t.Helper()
	var want []any
	decode(t, specTools, &want)
	tools, _ := m.result(t)["tools"].([]any)
	var got []any
	for _, tool := range tools {
		all, _ := tool.(map[string]any)
		got = append(got, map[string]any{
			"name": all["name"], "description": all["description"], "inputSchema": all["inputSchema"],
		})
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("tools (-want +got):\n%s", diff)
	}
}

// Each example is answered while stdin stays open: no byte behind it is waited
// for, whatever length it declares.
func TestExamples(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, setup{api: newAPI(t)})
			answers := map[string]message{}
			for _, e := range examples {
				c.put(way.send(e))
				m := c.want(e.id)
				if m.framing != way.framing {
					t.Errorf("the answer to %s is %s, want %s", e.body, m.framing, way.framing)
				}
				if strings.TrimSpace(m.raw) != m.raw {
					t.Errorf("blanks around %q", m.raw)
				}
				answers[e.id] = m
			}
			checkExamples(t, answers)
			c.silent()
		})
	}
}

// All examples in one write, as a client's script sends them.
func TestExamplesAtOnce(t *testing.T) {
	t.Parallel()
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			t.Parallel()
			c := serve(t, setup{api: newAPI(t)})
			var all strings.Builder
			for _, e := range examples {
				all.WriteString(way.send(e))
			}
			c.put(all.String())
			answers := map[string]message{}
			for _, m := range c.done() {
				answers[m.id] = m
			}
			checkExamples(t, answers)
		})
	}
}

// Appendix A.1, word for word, and the shape of A.2.
func TestAppendixA(t *testing.T) {
	t.Parallel()
	const arguments = `{
  "query": "本日 2025-08-09 の東京の天気は？",
  "recency_days": 60,
  "max_results": 5,
  "domains": ["jma.go.jp","tenki.jp"]
}`
	c := begin(t, setup{api: newAPI(t)})
	c.put(frame(callTool("1", "answer", json.RawMessage(arguments))))
	got := c.want("1").answered(t)
	if len(got.Citations) == 0 {
		t.Fatalf("no citations in %+v", got)
	}
	date := today(t, got.Citations[0].PublishedAt)
	want := []citation{
		{"https://example.org/weather/forecast", "Example weather forecast", date},
		{"oai-weather", "api", date},
	}
	if diff := cmp.Diff(want, got.Citations); diff != "" {
		t.Errorf("citations (-want +got):\n%s", diff)
	}
	if !got.UsedSearch || got.Model != "gpt-5.2" {
		t.Errorf("answer = %+v, want a searched one of gpt-5.2", got)
	}
	sources := "\n\nSources:\n- https://example.org/weather/forecast (" + date + ")\n- oai-weather (" + date + ")"
	if !strings.HasSuffix(got.Answer, sources) {
		t.Errorf("the answer ends in %q, want %q", got.Answer[max(0, len(got.Answer)-len(sources)):], sources)
	}
	input := []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{
		"type": "input_text",
		"text": "本日 2025-08-09 の東京の天気は？\n[Hints] recency_days=60, max_results=5. domains: jma.go.jp, tenki.jp",
	}}}}
	if diff := cmp.Diff(any(input), c.api.body(t, 1)["input"]); diff != "" {
		t.Errorf("input (-want +got):\n%s", diff)
	}
}

// What the spec calls done (§10), with the real wire and with --offline.
func TestDefinitionOfDone(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, model string
		setup       func(*testing.T) setup
	}{
		{"online", "gpt-5.2", func(t *testing.T) setup { return setup{api: newAPI(t)} }},
		{"offline", "offline", func(*testing.T) setup { return setup{args: []string{"--offline"}} }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := begin(t, tt.setup(t))
			c.line(ask("1", "HTTP 404 の意味"), ask("2", "本日 "+tokyo(time.Now())+" の東京の天気"))
			known := c.want("1").answered(t)
			if known.Answer == "" || known.UsedSearch || len(known.Citations) != 0 || known.Model != tt.model {
				t.Errorf("404: %+v, want an answer of %s without search", known, tt.model)
			}
			if strings.Contains(known.Answer, "Sources:") {
				t.Errorf("404: sources below an answer without search: %q", known.Answer)
			}
			weather := c.want("2").answered(t)
			if !weather.UsedSearch || len(weather.Citations) == 0 || weather.Model != tt.model {
				t.Errorf("weather: %+v, want a searched answer of %s", weather, tt.model)
			}
			for _, s := range weather.Citations {
				if line := "\n- " + s.URL + " (" + s.PublishedAt + ")"; !strings.Contains(weather.Answer, line) {
					t.Errorf("weather: no line %q in %q", line, weather.Answer)
				}
			}
			c.done()
		})
	}
}
