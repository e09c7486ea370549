package answer

import (
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
	uncited = `{
		"id": "resp_1",
		"status": "completed",
		"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3},
		"output": [
			{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
			{"type": "web_search_call", "id": "ws_1", "status": "completed",
				"action": {"type": "search", "query": "x", "sources": null}},
			{"type": "message", "id": "msg_1", "role": "assistant",
				"content": [{"type": "output_text", "text": "Uncited."}]}
		]
	}`
	cites = `{
		"id": "resp_2",
		"status": "completed",
		"usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30},
		"output": [
			{"type": "message", "id": "msg_2", "role": "assistant",
				"content": [{"type": "output_text", "text": "Cited.", "annotations": [
					{"type": "url_citation", "url": "https://a.example/", "title": "A"}]}]}
		]
	}`
	badParams = `{"error":{"message":"no","type":"invalid_request_error","code":"x"}}`
)

func TestRequery(t *testing.T) {
	const (
		citedText = "Cited.\n\nSources:\n- https://a.example/ (2025-08-09)"
		noText    = "incomplete: max_output_tokens"
	)
	textless := incomplete("max_output_tokens", `{"type":"reasoning","id":"rs_1"}`)

	for _, tt := range []struct {
		name     string
		attempts int
		bodies   []string
		requests int
		want     string // text, or the error
	}{
		{"off", 0, []string{uncited}, 1, "Uncited."},
		{"good at once", 2, []string{cites}, 1, citedText},
		{"not searched", 2, []string{completed(message("", "A."))}, 1, "A."},
		{"nothing to cite", 1, []string{uncited, cites}, 2, citedText},
		{"never anything to cite", 2, []string{uncited}, 3, "Uncited."},
		{"no text", 1, []string{textless, cites}, 2, citedText},
		{"never any text", 1, []string{textless}, 2, noText},
		{"text, then none", 1, []string{uncited, textless}, 2, "Uncited."},
		{"text, then an error", 1, []string{uncited, badParams}, 2, "Uncited."},
		{"text, then too long", 1, []string{uncited, silence}, 2, "Uncited."},
		{"no text, then an error", 1, []string{textless, badParams}, 2, noText},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := WithTimeout(t.Context(), time.Minute)
				defer cancel()
				a, api := newAnswerer(func(o *Options) {
					o.RequeryAttempts = tt.attempts
				}, tt.bodies...)

				ans, err := a.Ask(ctx, "answer", Question{Query: "?"}, nil)
				got := ""
				if err != nil {
					got = err.Error()
				} else {
					got = ans.Text
				}

				if got != tt.want {
					t.Errorf("got %q, want %q", got, tt.want)
				}
				if len(api.sent) != tt.requests {
					t.Errorf("%d requests, want %d", len(api.sent), tt.requests)
				}
			})
		})
	}
}

// The second request has the first one's input, all its output unchanged, and what to do better. It
// refers to no stored response.
func TestRequeryIsStateless(t *testing.T) {
	a, api := newAnswerer(func(o *Options) { o.RequeryAttempts = 1 }, uncited, cites)
	ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}

	first := api.sent[0]["input"].([]any)
	second := api.sent[1]["input"].([]any)
	reads := gjson.Get(uncited, "output").Value().([]any)
	if diff := cmp.Diff(append(first, reads...), second[:len(second)-1]); diff != "" {
		t.Errorf("input sent back (-want +got):\n%s", diff)
	}
	last := second[len(second)-1].(map[string]any)
	if want := gjson.ParseBytes(llm.UserMessage(askForSources)).Value(); !cmp.Equal(last, want) {
		t.Errorf("last item of the input %v, want %v", last, want)
	}
	if id, ok := api.sent[1]["previous_response_id"]; ok {
		t.Errorf("previous_response_id %v, want none", id)
	}
	if store := api.sent[1]["store"]; store != false {
		t.Errorf("store %v, want false", store)
	}

	want := Meta{
		Usage:      llm.Usage{Input: 11, Output: 22, Total: 33},
		ResponseID: "resp_2",
		RequestID:  "req_1",
		Searches:   1,
	}
	if diff := cmp.Diff(want, ans.Meta); diff != "" {
		t.Errorf("Meta (-want +got):\n%s", diff)
	}
	if !ans.UsedSearch {
		t.Error("used_search is false")
	}
}

// The events of two requests are numbered as one run and end once.
func TestRequeryEvents(t *testing.T) {
	a, _ := newAnswerer(func(o *Options) { o.RequeryAttempts = 1 }, uncited, cites)

	var text strings.Builder
	var blocks []int
	var ends []llm.Event
	ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, func(ev llm.Event) {
		switch e := ev.(type) {
		case llm.BlockStart:
			blocks = append(blocks, e.Index)
		case llm.BlockDelta:
			text.WriteString(e.Text)
		case llm.Usage, llm.Done:
			ends = append(ends, ev)
		}
	})
	if err != nil {
		t.Fatal(err)
	}

	if text.String() != "Uncited.Cited." {
		t.Errorf("text %q, want both texts", text.String())
	}
	if want := []int{0, 1, 2, 3}; !cmp.Equal(blocks, want) {
		t.Errorf("blocks %v, want %v", blocks, want)
	}
	if len(ends) != 2 {
		t.Fatalf("%d events at the end, want 2: %v", len(ends), ends)
	}
	if ends[0] != llm.Event(ans.Meta.Usage) {
		t.Errorf("usage %v, want %v", ends[0], ans.Meta.Usage)
	}
	if id := ends[1].(llm.Done).Response.ID; id != "resp_2" {
		t.Errorf("done with %s, want resp_2", id)
	}
}
