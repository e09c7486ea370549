package llm

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBody compares request bodies with base; want has the members that differ,
// null for a missing one.
func TestBody(t *testing.T) {
	const base = `{"model":"gpt-5.2","instructions":"Answer.","input":[{"role":"user","content":"Hello?"}],"tools":[{"type":"web_search"}],
		"tool_choice":"auto","parallel_tool_calls":true,"store":false,"include":["web_search_call.action.sources","reasoning.encrypted_content"],
		"reasoning":{"effort":"medium"},"text":{"verbosity":"low"}}`
	tests := []struct {
		name    string
		options Options
		change  func(*Request)
		want    string
	}{
		{"gpt-5", Options{}, func(r *Request) { r.ReasoningSummary = "auto" }, `{"reasoning":{"effort":"medium","summary":"auto"}}`},
		{"o3", Options{}, func(r *Request) { r.Model = "o3" }, `{"model":"o3","text":null}`},
		{"gpt-4.1", Options{}, func(r *Request) { r.Model = "gpt-4.1" },
			`{"model":"gpt-4.1","text":null,"reasoning":null,"include":["web_search_call.action.sources"]}`},
		{"store", Options{Store: true}, func(*Request) {}, `{"store":true}`},
		{"extra", Options{}, func(r *Request) {
			r.Extra = map[string]any{
				"model": "gpt-4", "instructions": "x", "input": "x", "tools": []any{}, "stream": true,
				"text":              map[string]any{"format": map[string]any{"type": "text"}},
				"reasoning":         map[string]any{"effort": "high", "mode": "pro"},
				"include":           []any{"web_search_call.action.sources", "web_search_call.results"},
				"max_output_tokens": 4000,
				"store":             true,
				"metadata":          map[string]any{"team.a": "a&b", "1": "one", "none": nil},
				"top_p":             0.5,
			}
		}, `{"text":{"verbosity":"low","format":{"type":"text"}},"reasoning":{"effort":"high","mode":"pro"},"max_output_tokens":4000,"store":true,
			"include":["web_search_call.action.sources","reasoning.encrypted_content","web_search_call.results"],"metadata":{"team.a":"a&b","1":"one"},"top_p":0.5}`},
		{"null removes", Options{}, func(r *Request) {
			r.Extra = map[string]any{"parallel_tool_calls": nil, "text": map[string]any{"verbosity": nil}, "missing": nil}
		}, `{"parallel_tool_calls":null,"text":null}`},
		// A model that takes no reasoning parameter gets the one that was asked for.
		{"extra for gpt-4.1", Options{}, func(r *Request) {
			r.Model = "gpt-4.1"
			r.Extra = map[string]any{"reasoning": map[string]any{"effort": "low"}, "include": "all"}
		}, `{"model":"gpt-4.1","text":null,"reasoning":{"effort":"low"},"include":"all"}`},
		{"stream options", Options{}, func(r *Request) { r.Extra = map[string]any{"stream_options": map[string]any{"a": 1}} }, `{}`},
	}
	for _, tt := range tests {
		r := question()
		tt.change(&r)
		r.Plain = true
		body, err := New(tt.options).body(r)
		data, _ := json.Marshal(body)
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
			continue
		}
		var got, want, change map[string]any
		for v, text := range map[*map[string]any]string{&got: string(data), &want: base, &change: tt.want} {
			if err := json.Unmarshal([]byte(text), v); err != nil {
				t.Fatalf("%s: %s: %v", tt.name, text, err)
			}
		}
		for key, value := range change {
			if want[key] = value; value == nil {
				delete(want, key)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("body of %s (-want +got):\n%s", tt.name, diff)
		}
	}
}
