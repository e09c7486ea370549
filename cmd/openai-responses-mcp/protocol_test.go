package main_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// initialize answers 2025-06-18 whatever is asked for (spec §2.3).
func TestProtocolVersion(t *testing.T) {
	t.Parallel()
	for _, params := range []string{
		`{"protocolVersion":"2025-06-18","capabilities":{}}`,
		`{"protocolVersion":"2024-11-05","capabilities":{},"clientInfo":{"name":"old","version":"0"}}`,
		`{"protocolVersion":"2025-03-26","capabilities":{"roots":{"listChanged":true},"sampling":{}}}`,
		`{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}}}`,
		`{"protocolVersion":"2026-07-28","capabilities":{}}`,
		`{"protocolVersion":"1999-12-31","capabilities":{}}`,
		`{"protocolVersion":"tomorrow","capabilities":{}}`,
		`{"protocolVersion":"","capabilities":{}}`,
		`{"capabilities":{}}`,
		`{"protocolVersion":"2025-06-18"}`,
		`{"protocolVersion":"2025-06-18","capabilities":{},"unknown":1,"_meta":{"x":1}}`,
		`{}`,
	} {
		t.Run(params, func(t *testing.T) {
			t.Parallel()
			c := serve(t, setup{})
			c.line(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":` + params + `}`)
			r := c.want("1").result(t)
			if r["protocolVersion"] != "2025-06-18" {
				t.Errorf("protocolVersion = %v, want 2025-06-18", r["protocolVersion"])
			}
			if diff := cmp.Diff(any(map[string]any{"tools": map[string]any{}}), r["capabilities"]); diff != "" {
				t.Errorf("capabilities (-want +got):\n%s", diff)
			}
			// Clients differ in whether they say that they are ready.
			c.line(`{"jsonrpc":"2.0","id":2,"method":"tools/list"}`)
			checkTools(t, c.want("2"))
			c.done()
		})
	}
}

// Before initialize only it and ping are answered; the rest is an error with a
// code, and the session goes on.
func TestBeforeInitialize(t *testing.T) {
	t.Parallel()
	c := serve(t, setup{api: newAPI(t)})
	for _, request := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"x"}}}`,
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none"}}`,
	} {
		c.line(request)
		if got := c.want("1").fault(t); got.Code != -32600 || got.Message == "" {
			t.Errorf("%s: %+v, want -32600", request, got)
		}
	}
	c.line(pinging("1"))
	c.want("1").equal(t, `{"jsonrpc":"2.0","id":1,"result":{}}`)
	c.line(initialize, initialized, ask("1", "HTTP 404"))
	c.want("1").answered(t)
	c.count(1)
	c.done()
}

// A second initialize is an error, and changes nothing.
func TestInitializeTwice(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{})
	c.line(initialize)
	m := c.want(`"init"`)
	if strings.Contains(m.raw, `"error"`) {
		if got := m.fault(t); got.Code != -32600 {
			t.Errorf("second initialize: %+v, want -32600", got)
		}
	}
	c.line(`{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	checkTools(t, c.want("1"))
	c.done()
}

// Who asks for what there is not gets -32601 (spec appendix B).
func TestUnknown(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	for _, tool := range []string{"no_such_tool", "", "Answer", "answer ", "answer_"} {
		c.line(callTool("1", tool, map[string]any{"query": "x"}))
		c.want("1").equal(t, `{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"Unknown tool"}}`)
	}
	for _, method := range []string{
		"no/such/method", "resources/list", "prompts/list", "completion/complete", "logging/setLevel",
		"Ping", "tools/List", "notifications/initialized", "resources/read", "sampling/createMessage", "",
	} {
		c.line(fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{}}`, method))
		if method == "" {
			c.want("null") // no request at all
			continue
		}
		if got := c.want("1").fault(t); got.Code != -32601 {
			t.Errorf("%s: %+v, want -32601", method, got)
		}
	}
	c.count(0)
	c.done()
}

// Params that are no params have a proper code, too.
func TestBadParams(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	for _, params := range []string{`[]`, `42`, `"answer"`, `{"name":1}`, `{"name":["answer"]}`, `null`, `{}`, `{"arguments":{"query":"x"}}`} {
		c.line(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":` + params + `}`)
		got := c.want("1").fault(t)
		if !slices.Contains([]int{-32600, -32601, -32602}, got.Code) || got.Message == "" {
			t.Errorf("params %s: %+v, want -32602, or -32601 for no tool", params, got)
		}
	}
	c.line(`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`)
	c.want("1").fault(t)
	c.count(0)
	c.line(pinging("1"))
	c.want("1")
	c.done()
}

// What an error says of params that cannot be read is short, and repeats
// nothing of them.
func TestParamsAreNotRepeated(t *testing.T) {
	t.Parallel()
	const secret = "my secret question"
	arguments := `"arguments":{"query":"` + secret + strings.Repeat(" and more", 10000) + `"}`
	for _, request := range []string{
		`"tools/call","params":{"name":1,` + arguments + `}`,
		`"tools/call","params":{"name":"answer","_meta":5,` + arguments + `}`,
		`"tools/call","params":[{` + arguments + `}]`,
		`"tools/call","params":{"name":"answer",` + arguments + `,"x":` + strings.Repeat("[", 9990) + strings.Repeat("]", 9990) + `}`,
		`"tools/list","params":{"cursor":5,` + arguments + `}`,
		`"ping","params":[{` + arguments + `}]`,
		`"initialize","params":{"capabilities":5,` + arguments + `}`,
		`"tools/call","params":{"name":"answer","arguments":"` + secret + `"}`,
		`"tools/call","params":{"name":"answer","arguments":{"query":["` + secret + `"]}}`,
	} {
		c := serve(t, setup{api: newAPI(t)})
		if !strings.HasPrefix(request, `"initialize"`) {
			c.line(initialize, initialized)
			c.want(`"init"`)
		}
		c.line(`{"jsonrpc":"2.0","id":1,"method":` + request + `}`)
		m := c.want("1")
		e := m.fault(t)
		if strings.Contains(m.raw, secret) || len(m.raw) > 500 {
			t.Errorf("%.80s: the error repeats the request: %.300s", request, m.raw)
		}
		if strings.Contains(m.raw, "mcp.") {
			t.Errorf("%.80s: the error speaks of Go: %.300s", request, m.raw)
		}
		if e.Code != -32602 && e.Code != -32001 {
			t.Errorf("%.80s: code %d, want -32602", request, e.Code)
		}
		c.done()
	}
}

// A request without an id is a notification: it has no effect and no answer.
func TestRequestsWithoutID(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	for _, method := range []string{"tools/call", "tools/list", "ping", "initialize", "no/such/method"} {
		c.line(`{"jsonrpc":"2.0","method":"` + method + `","params":{"name":"answer","arguments":{"query":"HTTP 404"}}}`)
	}
	c.line(pinging("1"))
	c.want("1")
	c.silent()
	c.count(0)
}

// Each tool asks with its profile, each profile with its settings.
func TestProfiles(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t), config: `
model_profiles:
  answer: { model: gpt-5.2, reasoning_effort: medium, verbosity: medium }
  answer_detailed: { reasoning_effort: high }
  answer_quick: { model: gpt-4.1, verbosity: low }
`})
	for i, tt := range []struct {
		tool, model    string
		text, thinking any
	}{
		{"answer", "gpt-5.2", map[string]any{"verbosity": "medium"}, map[string]any{"effort": "medium"}},
		{"answer_detailed", "gpt-5.2", map[string]any{"verbosity": "medium"}, map[string]any{"effort": "high"}},
		{"answer_quick", "gpt-4.1", nil, nil}, // takes neither (spec §5.6)
	} {
		c.line(callTool("1", tt.tool, map[string]any{"query": "HTTP 404"}))
		if got := c.want("1").answered(t); got.Model != tt.model {
			t.Errorf("%s: model %s, want %s", tt.tool, got.Model, tt.model)
		}
		body := c.api.body(t, i+1)
		want := map[string]any{"model": tt.model, "text": tt.text, "reasoning": tt.thinking}
		got := map[string]any{"model": body["model"], "text": body["text"], "reasoning": body["reasoning"]}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: request (-want +got):\n%s", tt.tool, diff)
		}
	}
	c.done()
}
