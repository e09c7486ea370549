package llm

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
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
		{"gpt-5", Options{}, func(r *Request) { r.Params.Reasoning.Summary = "auto" }, `{"reasoning":{"effort":"medium","summary":"auto"}}`},
		{"o3", Options{}, func(r *Request) { r.Params.Model = "o3" }, `{"model":"o3","text":null}`},
		{"gpt-4.1", Options{}, func(r *Request) { r.Params.Model = "gpt-4.1" },
			`{"model":"gpt-4.1","text":null,"reasoning":null,"include":["web_search_call.action.sources"]}`},
		{"store", Options{Store: true, OmitEncryptedReasoning: true}, func(*Request) {}, `{"store":true,"include":["web_search_call.action.sources"]}`},
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
			r.Params.Model = "gpt-4.1"
			r.Extra = map[string]any{"reasoning": map[string]any{"effort": "low"}, "include": "all"}
		}, `{"model":"gpt-4.1","text":null,"reasoning":{"effort":"low"},"include":"all"}`},
		{"stream options", Options{}, func(r *Request) { r.Extra = map[string]any{"stream_options": map[string]any{"a": 1}} }, `{}`},
	}
	for _, tt := range tests {
		r := question()
		tt.change(&r)
		data, err := New(tt.options).body(r, false)
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
	r := question()
	r.Extra = map[string]any{"temperature": math.NaN()}
	c, api, _ := newClient(t, 3, answer(200, finished))
	if _, err := c.Create(t.Context(), r); asError(t, err).Kind != KindParameter || api.requests() != 0 {
		t.Errorf("Create(NaN) = %v after %d requests, want %v after none", err, api.requests(), KindParameter)
	}
}

// Without storage, only encrypted reasoning goes back, and only before output of
// the model. Everything else is sent as it was received.
func TestCarriedReasoning(t *testing.T) {
	const (
		user   = `{"role":"user","content":"q"}`
		sealed = `{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA","later":1.50}`
		open   = `{"type":"reasoning","id":"rs_2","summary":[]}`
		said   = `{"type":"message","role":"assistant","content":[{"type":"output_text","text":"a"}]}`
		call   = `{"type":"function_call","call_id":"c"}`
		output = `{"type":"function_call_output","call_id":"c","output":"1"}`
		search = `{"type":"web_search_call","id":"ws"}`
	)
	for _, tt := range []struct {
		name  string
		items []string
		want  []int // indexes of items
	}{
		{"before an answer", []string{user, sealed, said, user}, []int{0, 1, 2, 3}},
		{"before a call", []string{sealed, call, output}, []int{0, 1, 2}},
		{"before a search", []string{sealed, sealed, search}, []int{0, 1, 2}},
		{"without encrypted content", []string{user, open, said}, []int{0, 2}},
		{"at the end of a turn", []string{user, said, sealed, sealed, user}, []int{0, 1, 4}},
		{"at the end of all", []string{user, sealed}, []int{0}},
		{"before an output", []string{sealed, output}, []int{1}},
	} {
		r := question()
		r.Params.Input = responses.ResponseNewParamsInputUnion{}
		for _, item := range tt.items {
			r.Params.Input.OfInputItemList = append(r.Params.Input.OfInputItemList, param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(item)))
		}
		for stored, want := range map[bool][]int{false: tt.want, true: nil} {
			data, err := New(Options{Store: stored}).body(r, false)
			if err != nil {
				t.Fatal(err)
			}
			var got, items []string
			for _, item := range gjson.GetBytes(data, "input").Array() {
				got = append(got, item.Raw)
			}
			for _, i := range want {
				items = append(items, tt.items[i])
			}
			if stored {
				items = tt.items
			}
			if diff := cmp.Diff(items, got); diff != "" {
				t.Errorf("%s, stored %v (-want +sent):\n%s", tt.name, stored, diff)
			}
		}
	}
}
