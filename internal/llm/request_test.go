package llm

import (
	"encoding/json"
	"maps"
	"testing"
)

// bodyRows have the members that differ from those of TestBody, null for a missing one.
var bodyRows = []struct{ name, model, extra, want string }{
	{
		"model without verbosity",
		"o3",
		`{}`,
		`{"model": "o3", "text": null}`,
	},

	{
		"members that cannot be replaced",
		"gpt-5.2",
		`{"model": "gpt-4", "instructions": "x", "input": "x", "tools": [], "stream": true,
			"background": true}`,
		`{}`,
	},

	{
		"objects are merged",
		"gpt-5.2",
		`{"text": {"format": {"type": "text"}}, "reasoning": {"effort": "high", "mode": "pro"}}`,
		`{"text": {"verbosity": "low", "format": {"type": "text"}},
			"reasoning": {"effort": "high", "mode": "pro"}}`,
	},

	{
		"other members",
		"gpt-5.2",
		`{"top_p": 0.5, "store": true, "max_output_tokens": null, "tool_choice": {"type": "web_search"},
			"metadata": {"team.a": "a&b", "1": "one", "none": null}, "-1": [1, null],
			"a.b*": {"c": {"none": null}}}`,
		`{"top_p": 0.5, "store": true, "tool_choice": {"type": "web_search"},
			"metadata": {"team.a": "a&b", "1": "one"}, "-1": [1, null], "a.b*": {"c": {}}}`,
	},

	{
		"include is a union",
		"gpt-5.2",
		`{"include": ["web_search_call.action.sources", "web_search_call.results"]}`,
		`{"include": ["web_search_call.action.sources", "reasoning.encrypted_content",
			"web_search_call.results"]}`,
	},

	{
		"null removes a member",
		"gpt-5.2",
		`{"parallel_tool_calls": null, "text": {"verbosity": null}, "include": null, "missing": null}`,
		`{"parallel_tool_calls": null, "text": null, "include": null}`,
	},

	{
		"a model without reasoning gets what was asked for",
		"gpt-4.1",
		`{"reasoning": {"effort": "low"}, "include": "all"}`,
		`{"model": "gpt-4.1", "text": null, "reasoning": {"effort": "low"}, "include": "all"}`,
	},
}

// TestBody compares request bodies with base.
func TestBody(t *testing.T) {
	const base = `{
		"model": "gpt-5.2",
		"instructions": "Answer.",
		"input": [{"role": "user", "content": "Hello?"}],
		"tools": [{"type": "web_search"}],
		"tool_choice": "auto",
		"parallel_tool_calls": true,
		"store": false,
		"include": ["web_search_call.action.sources", "reasoning.encrypted_content"],
		"reasoning": {"effort": "medium"},
		"text": {"verbosity": "low"}
	}`
	for _, tt := range bodyRows {
		t.Run(tt.name, func(t *testing.T) {
			r := question()
			r.Model = tt.model
			r.Plain = true
			r.Extra = object(t, tt.extra)

			want := object(t, base)
			maps.Copy(want, object(t, tt.want))
			maps.DeleteFunc(want, func(_ string, v any) bool { return v == nil })
			wantBody(t, r, want)
		})
	}

	// What is not set is not sent, but a stream is asked for.
	t.Run("empty", func(t *testing.T) {
		wantBody(t, Request{Model: "gpt-4.1"}, object(t, `{"model": "gpt-4.1", "input": null,
			"tool_choice": "auto", "store": false, "parallel_tool_calls": true, "stream": true}`))
	})
}

func wantBody(t *testing.T, r Request, want map[string]any) {
	t.Helper()
	data, err := New(Options{}).newBody(Person{}, r).encode(r.Instructions)
	if err != nil {
		t.Fatal(err)
	}

	wantEqual(t, "body", object(t, string(data)), want)
}

func object(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	err := json.Unmarshal([]byte(text), &members)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}

	return members
}
