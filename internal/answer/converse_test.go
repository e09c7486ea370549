package answer

import (
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	// uncited rests on a search and has nothing to cite.
	uncited = `{
		"id": "resp_1",
		"status": "completed",
		"usage": {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3,
			"input_tokens_details": {"cache_write_tokens": 1}},
		"output": [
			{"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
			{"type": "web_search_call", "id": "ws_1", "status": "completed",
				"action": {"type": "search", "query": "x", "sources": null}},
			{"type": "web_search_call", "action": {"type": "open_page"}},
			{"type": "message", "id": "msg_1", "role": "assistant",
				"content": [{"type": "output_text", "text": "Uncited."}]}
		]
	}`

	cites = `{
		"id": "resp_2",
		"status": "completed",
		"model": "gpt-5.2-2026-01-15",
		"service_tier": "flex",
		"usage": {"input_tokens": 10, "output_tokens": 20, "total_tokens": 30,
			"input_tokens_details": {"cached_tokens": 4, "cache_write_tokens": 2},
			"output_tokens_details": {"reasoning_tokens": 8}},
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

		{"never anything to cite", 2, []string{uncited}, 3, "Uncited."},

		{"no text", 1, []string{textless, cites}, 2, citedText},
		{"never any text", 1, []string{textless}, 2, noText},
		{"text, then none", 1, []string{uncited, textless}, 2, "Uncited."},
		{"text, then an error", 1, []string{uncited, badParams}, 2, "Uncited."},
		{"text, then too long", 1, []string{uncited, silence}, 2, "Uncited."},
		{"no text, then an error", 1, []string{textless, badParams}, 2, noText},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			a, api := newAnswerer(func(o *Options) {
				o.RequeryAttempts = tt.attempts
			}, tt.bodies...)
			ctx, cancel := WithTimeout(t.Context(), time.Minute)
			defer cancel()

			ans, err := a.Ask(ctx, &llm.Call{Tool: "answer"}, Question{Query: "?"})
			got := fmt.Sprint(err)
			if err == nil {
				got = ans.Text
			}
			compare.Equal(t, "text or error", got, tt.want)
			compare.Equal(t, "requests", len(api.sent), tt.requests)
		})
	}
}

// The second request has the first one's input, all its output unchanged, and what to do better. It
// refers to no stored response. The figures are those of both, and of a retry. An opened page is no
// search.
func TestRequeryIsStateless(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		again := func(o *Options) { o.RequeryAttempts = 1 }
		a, api := newAnswerer(again, uncited, "", cites)
		ans, err := a.Ask(t.Context(), &llm.Call{Tool: "answer"}, Question{Query: "?"})
		if err != nil {
			t.Fatal(err)
		}

		want := api.sent[0]
		better := gjson.ParseBytes(llm.UserMessage(askForSources)).Value()
		input := append(want["input"].([]any), gjson.Get(uncited, "output").Value().([]any)...)
		want["input"] = append(input, better)

		compare.Equal(t, "second request", api.sent[2], want)

		meta := Meta{
			Usage: llm.Usage{
				Input:      11,
				Cached:     4,
				CacheWrite: 3,
				Output:     22,
				Reasoning:  8,
				Total:      33,
			},
			ServiceTier:   "flex",
			ResolvedModel: "gpt-5.2-2026-01-15",
			ResponseID:    "resp_2",
			RequestID:     "req_1",
			Searches:      1,
			Retries:       1,
			Elapsed:       ans.Meta.Elapsed,
		}
		compare.Equal(t, "Meta", ans.Meta, meta)
		if ans.Meta.Elapsed < time.Millisecond {
			t.Errorf("elapsed %v, want the time of the retry", ans.Meta.Elapsed)
		}
	})
}

// The events of two requests are numbered as one run and end once.
func TestRequeryEvents(t *testing.T) {
	a, _ := newAnswerer(func(o *Options) { o.RequeryAttempts = 1 }, uncited, cites)

	var got []string
	sink := func(ev llm.Event) {
		switch e := ev.(type) {
		case llm.BlockStart:
			got = append(got, fmt.Sprint(e.Index))
		case llm.BlockDelta:
			got = append(got, e.Text)
		case llm.Usage:
			got = append(got, fmt.Sprint(e))
		case llm.Done:
			got = append(got, e.Response.ID)
		}
	}
	ans, err := a.Ask(t.Context(), &llm.Call{Tool: "answer", Sink: sink}, Question{Query: "?"})
	if err != nil {
		t.Fatal(err)
	}

	want := []string{"0", "1", "2", "3", "Uncited.", "4", "Cited.", fmt.Sprint(ans.Meta.Usage), "resp_2"}
	compare.Equal(t, "events", got, want)
}
