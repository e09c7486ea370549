package llm

import (
	"encoding/json"
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestBody compares request bodies with base; want has the members that differ, null for a missing
// one.
func TestBody(t *testing.T) {
	const base = `{"model":"gpt-5.2","instructions":"Answer.","input":[{"role":"user","content":"Hello?"}],"tools":[{"type":"web_search"}],
		"tool_choice":"auto","parallel_tool_calls":true,"store":false,"include":["web_search_call.action.sources","reasoning.encrypted_content"],
		"reasoning":{"effort":"medium"},"text":{"verbosity":"low"}}`
	for _, tt := range []struct{ model, extra, want string }{
		{"o3", `{}`, `{"model":"o3","text":null}`},
		{"gpt-5.2", `{"model":"gpt-4","instructions":"x","input":"x","tools":[],"stream":true,"stream_options":{"a":1},
			"text":{"format":{"type":"text"}},"reasoning":{"effort":"high","mode":"pro"},"top_p":0.5,
			"include":["web_search_call.action.sources","web_search_call.results",42],"metadata":{"team.a":"a&b","1":"one","none":null}}`,
			`{"text":{"verbosity":"low","format":{"type":"text"}},"reasoning":{"effort":"high","mode":"pro"},"top_p":0.5,
			"include":["web_search_call.action.sources","reasoning.encrypted_content","web_search_call.results",42],"metadata":{"team.a":"a&b","1":"one"}}`},
		{"gpt-5.2", `{"parallel_tool_calls":null,"text":{"verbosity":null},"missing":null}`, `{"parallel_tool_calls":null,"text":null}`},
		// A model that takes no reasoning parameter gets the one that was asked for.
		{"gpt-4.1", `{"reasoning":{"effort":"low"},"include":"all"}`,
			`{"model":"gpt-4.1","text":null,"reasoning":{"effort":"low"},"include":"all"}`},
	} {
		r := question()
		r.Model, r.Plain, r.Extra = tt.model, true, object(t, tt.extra)
		data, err := New(Options{}).encode(r)
		if err != nil {
			t.Fatal(err)
		}
		got, want := object(t, string(data)), object(t, base)
		maps.Copy(want, object(t, tt.want))
		maps.DeleteFunc(want, func(_ string, v any) bool { return v == nil })
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("body of %s with %s (-want +got):\n%s", tt.model, tt.extra, diff)
		}
	}
}

func object(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return members
}
