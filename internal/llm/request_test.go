package llm

import (
	"encoding/json"
	"maps"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
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
			"stream_options": {"a": 1}}`,
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
		`{"top_p": 0.5, "store": true, "metadata": {"team.a": "a&b", "1": "one", "none": null},
			"[x]": {"-1": {}, ":*": [1, null]}, "{model}": {"a": {"b": {"c": 1, "d": null}}}}`,
		`{"top_p": 0.5, "store": true, "metadata": {"team.a": "a&b", "1": "one"},
			"[x]": {"-1": {}, ":*": [1, null]}, "{model}": {"a": {"b": {"c": 1}}}}`,
	},
	{
		"include is a union",
		"gpt-5.2",
		`{"include": ["web_search_call.action.sources", "web_search_call.results", 42]}`,
		`{"include": ["web_search_call.action.sources", "reasoning.encrypted_content",
			"web_search_call.results", 42]}`,
	},
	{
		"null removes a member",
		"gpt-5.2",
		`{"parallel_tool_calls": null, "text": {"verbosity": null}, "missing": null,
			"empty": {"none": null}}`,
		`{"parallel_tool_calls": null, "text": null}`,
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
			data, err := New(Options{}).encode(r)
			if err != nil {
				t.Fatal(err)
			}

			want := object(t, base)
			maps.Copy(want, object(t, tt.want))
			maps.DeleteFunc(want, func(_ string, v any) bool { return v == nil })
			if diff := cmp.Diff(want, object(t, string(data))); diff != "" {
				t.Errorf("body (-want +got):\n%s", diff)
			}
		})
	}
}

// What is not set is not sent, but a stream is asked for.
func TestBodyOfAnEmptyRequest(t *testing.T) {
	data, err := New(Options{}).encode(Request{Model: "gpt-4.1"})
	if err != nil {
		t.Fatal(err)
	}

	want := object(t, `{"model": "gpt-4.1", "input": null, "tool_choice": "auto", "store": false,
		"parallel_tool_calls": true, "stream": true}`)
	if diff := cmp.Diff(want, object(t, string(data))); diff != "" {
		t.Errorf("body (-want +got):\n%s", diff)
	}
}

// A parameter that is no JSON is the error of the call, which sends nothing.
func TestBodyWithoutJSON(t *testing.T) {
	c, api, log := newClient(t, 3, answer(200, finished))
	r := question()
	r.Extra = map[string]any{"top_p": math.NaN()}
	_, err := c.Create(t.Context(), r)

	wantKind(t, err, KindParameter)
	api.wantRequests(t, 0)
	const want = "encoding the request: json: unsupported value: NaN"
	if !strings.Contains(log.String(), want) {
		t.Errorf("log = %s, want %q", log, want)
	}
}

func object(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	err := json.Unmarshal([]byte(text), &members)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}

	return members
}
