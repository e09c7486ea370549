package main_test

import (
	"encoding/json"
	"strings"
	"testing"
)

// Arguments that cannot be used are -32001 with a reason, and cost no request;
// what nobody knows is ignored.
func TestArguments(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t)})
	requests := 0
	for _, tt := range []struct {
		tool, arguments string
		reason          string // what it speaks of; "" when the call is answered
	}{
		{"answer", `{}`, "query"},
		{"answer", `null`, "query"},
		{"answer", `[]`, "arguments"},
		{"answer", `"query"`, "arguments"},
		{"answer", `42`, "arguments"},
		{"answer", `{"query":null}`, "query"},
		{"answer", `{"query":""}`, "query"},
		{"answer", `{"query":" \n\t　"}`, "query"},
		{"answer", `{"query":42}`, "query"},
		{"answer", `{"query":["x"]}`, "query"},
		{"answer", `{"Query":"x"}`, "query"}, // names are exact
		{"answer_detailed", `{}`, "query"},
		{"answer_quick", `{"query":{}}`, "query"},
		{"answer", `{"query":"x","recency_days":-1}`, "recency_days"},
		{"answer", `{"query":"x","recency_days":"60"}`, "recency_days"},
		{"answer", `{"query":"x","recency_days":true}`, "recency_days"},
		{"answer", `{"query":"x","recency_days":1e999}`, "recency_days"},
		{"answer", `{"query":"x","max_results":0}`, "max_results"},
		{"answer", `{"query":"x","max_results":0.5}`, "max_results"},
		{"answer", `{"query":"x","max_results":-3}`, "max_results"},
		{"answer", `{"query":"x","max_results":[]}`, "max_results"},
		{"answer_detailed", `{"query":"x","max_results":"5"}`, "max_results"},
		{"answer", `{"query":"x","domains":"example.com"}`, "domains"},
		{"answer", `{"query":"x","domains":[1]}`, "domains"},
		{"answer", `{"query":"x","domains":{"a":"b"}}`, "domains"},
		{"answer", `{"query":"x","domains":["example.com",["a"]]}`, "domains"},

		{"answer", `{"query":"x","recency_days":0,"max_results":1,"domains":[]}`, ""},
		{"answer", `{"query":"x","recency_days":0.5,"max_results":1000,"domains":["a.example"]}`, ""},
		{"answer", `{"query":"x","recency_days":null,"max_results":null,"domains":null,"style":null}`, ""},
		{"answer", `{"query":"x","unknown":[1,2],"verbosity":"high"}`, ""},
		{"answer", `{"query":"x","style":"summary"}`, ""},
		{"answer", `{"query":"x","style":42}`, ""},
		// The quick tool knows one argument; others are unknown to it.
		{"answer_quick", `{"query":"x","max_results":-1,"domains":"a"}`, ""},
	} {
		c.line(callTool("1", tt.tool, json.RawMessage(tt.arguments)))
		m := c.want("1")
		if tt.reason == "" {
			m.answered(t)
			requests++
			continue
		}
		got := m.fault(t)
		reason, _ := got.Data["reason"].(string)
		message, _ := got.Data["message"].(string)
		if got.Code != -32001 || got.Message != tt.tool+": invalid arguments" ||
			!strings.Contains(reason, tt.reason) || message == "" {
			t.Errorf("%s %s: %+v, want -32001 and a reason that speaks of %s", tt.tool, tt.arguments, got, tt.reason)
		}
	}
	c.count(requests)
	c.done()
}

// The hints of a question (spec §6): as asked, else as configured.
func TestHints(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t), config: "search: { defaults: { recency_days: 7, domains: [b.example] } }\n"})
	for i, tt := range []struct{ tool, arguments, want string }{
		{"answer", `{"query":"x"}`, "x\n[Hints] recency_days=7, max_results=5. domains: b.example"},
		{"answer", `{"query":"x","domains":[]}`, "x\n[Hints] recency_days=7, max_results=5."},
		{"answer", `{"query":" x\ny ","recency_days":0.5,"max_results":2,"domains":["a.example","c.example"]}`,
			" x\ny \n[Hints] recency_days=0.5, max_results=2. domains: a.example, c.example"},
		{"answer", `{"query":"x","style":"bullets"}`, "x\n[Hints] recency_days=7, max_results=5. domains: b.example style: bullets"},
		{"answer", `{"query":"x","style":"loud"}`, "x\n[Hints] recency_days=7, max_results=5. domains: b.example"},
		{"answer_quick", `{"query":"x","recency_days":1}`, "x\n[Hints] recency_days=7, max_results=5. domains: b.example"},
	} {
		c.line(callTool("1", tt.tool, json.RawMessage(tt.arguments)))
		c.want("1").answered(t)
		var body struct {
			Input []struct {
				Role    string
				Content []struct{ Type, Text string }
			}
		}
		if err := json.Unmarshal(c.api.Requests()[i].Body, &body); err != nil {
			t.Fatal(err)
		}
		if len(body.Input) != 1 || body.Input[0].Role != "user" || len(body.Input[0].Content) != 1 {
			t.Fatalf("input %+v, want one user message of one part", body.Input)
		}
		if got := body.Input[0].Content[0]; got.Type != "input_text" || got.Text != tt.want {
			t.Errorf("%s %s: %s %q, want %q", tt.tool, tt.arguments, got.Type, got.Text, tt.want)
		}
	}
	c.done()
}
