package answer

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	// uncited rests on a search and has nothing to cite.
	uncited = `{"id":"resp_1","status":"completed","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"output":[` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` +
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x","sources":null}},` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Uncited."}]}]}`
	cites = `{"id":"resp_2","status":"completed","usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30},"output":[` +
		`{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"Cited.",` +
		`"annotations":[{"type":"url_citation","url":"https://a.example/","title":"A"}]}]}]}`
	textless  = `{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"}]}`
	badParams = `{"error":{"message":"no","type":"invalid_request_error","code":"x"}}`
)

func TestRequery(t *testing.T) {
	const (
		citedText = "Cited.\n\nSources:\n- https://a.example/ (2025-08-09)"
		noText    = "incomplete: max_output_tokens"
	)
	for _, tt := range []struct {
		name     string
		attempts int
		bodies   []string
		requests int
		want     string // text, or the error
	}{
		{"off", 0, []string{uncited}, 1, "Uncited."},
		{"good at once", 2, []string{cites}, 1, citedText},
		{"nothing to cite", 1, []string{uncited, cites}, 2, citedText},
		{"never anything to cite", 2, []string{uncited}, 3, "Uncited."},
		{"no text", 1, []string{textless, cites}, 2, citedText},
		{"never any text", 1, []string{textless}, 2, noText},
		{"text, then none", 1, []string{uncited, textless}, 2, "Uncited."},
		{"text, then an error", 1, []string{uncited, badParams}, 2, "Uncited."},
		{"text, then too long", 1, []string{uncited, silence}, 2, "Uncited."},
		{"no text, then an error", 1, []string{textless, badParams}, 2, noText},
	} {
		synctest.Test(t, func(t *testing.T) {
			ctx, cancel := WithTimeout(t.Context(), time.Minute)
			defer cancel()
			a, api := newAnswerer(func(o *Options) { o.RequeryAttempts = tt.attempts }, tt.bodies...)
			ans, err := a.Ask(ctx, "answer", Question{Query: "?"}, nil)
			if err != nil {
				ans = &Answer{Text: err.Error()}
			}
			if ans.Text != tt.want || len(api.sent) != tt.requests {
				t.Errorf("%s: %q after %d requests, want %q after %d", tt.name, ans.Text, len(api.sent), tt.want, tt.requests)
			}
		})
	}
}

// The second request has the first one's input, all its output unchanged, and what to do better. It
// refers to no stored response. The events of both are numbered as one run and end once.
func TestRequeryIsStateless(t *testing.T) {
	a, api := newAnswerer(func(o *Options) { o.RequeryAttempts = 1 }, uncited, cites)
	text, blocks := "", 0
	var ends []llm.Event
	ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, func(ev llm.Event) {
		switch e := ev.(type) {
		case llm.BlockStart:
			if e.Index != blocks {
				t.Errorf("%+v starts as block %d", e, blocks)
			}
			blocks++
		case llm.BlockDelta:
			text += e.Text
		case llm.Usage, llm.Done:
			ends = append(ends, ev)
		}
	})
	if err != nil || text != "Uncited.Cited." || blocks != 4 {
		t.Fatalf("text %q in %d blocks, %v", text, blocks, err)
	}
	if len(ends) != 2 || ends[0] != llm.Event(ans.Meta.Usage) || ends[1].(llm.Done).Response.ID != "resp_2" {
		t.Errorf("events end with %v, want usage %v and the last response", ends, ans.Meta.Usage)
	}
	first, second := api.sent[0], api.sent[1]
	if _, ok := second["previous_response_id"]; ok || second["store"] != false {
		t.Errorf("the second request keeps state: %v", second)
	}
	want := append(first["input"].([]any), gjson.Get(uncited, "output").Value().([]any)...)
	input := second["input"].([]any)
	if diff := cmp.Diff(want, input[:len(input)-1]); diff != "" {
		t.Errorf("input sent back (-want +got):\n%s", diff)
	}
	if last, _ := json.Marshal(input[len(input)-1]); !strings.Contains(string(last), askForSources) {
		t.Errorf("last input item = %s, want %q", last, askForSources)
	}
	if m := ans.Meta; m.Usage.Total != 33 || m.ResponseID != "resp_2" || m.Searches != 1 || !ans.UsedSearch {
		t.Errorf("Meta = %+v, used_search %t: want the sum of both requests, one search and the last id", m, ans.UsedSearch)
	}
}
