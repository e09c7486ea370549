package answer

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func TestAskMeta(t *testing.T) {
	// The opened page is no search.
	const body = `{
		"id": "resp_1",
		"status": "completed",
		"model": "gpt-5.2-2026-01-15",
		"output": [
			{"type": "web_search_call", "action": {"type": "search"}},
			{"type": "web_search_call", "action": {"type": "open_page"}},
			{"type": "message", "content": [{"type": "output_text", "text": "A."}]}
		],
		"usage": {
			"input_tokens": 10,
			"input_tokens_details": {"cached_tokens": 4},
			"output_tokens": 20,
			"output_tokens_details": {"reasoning_tokens": 8},
			"total_tokens": 30
		}
	}`
	clock := midnight
	a, _ := newAnswerer(func(o *Options) {
		o.Now = func() time.Time {
			clock = clock.Add(time.Second)
			return clock
		}
	}, "", body)

	got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Model != "gpt-5.2" {
		t.Errorf("model %q, want that of the profile", got.Model)
	}
	if got.Meta.Elapsed < time.Second {
		t.Errorf("elapsed %v, want at least a second", got.Meta.Elapsed)
	}

	want := Meta{
		Usage:         llm.Usage{Input: 10, Cached: 4, Output: 20, Reasoning: 8, Total: 30},
		ResolvedModel: "gpt-5.2-2026-01-15",
		ResponseID:    "resp_1",
		RequestID:     "req_1",
		Searches:      1,
		Retries:       1,
		Elapsed:       got.Meta.Elapsed,
	}
	if diff := cmp.Diff(want, got.Meta); diff != "" {
		t.Errorf("Meta (-want +got):\n%s", diff)
	}
}
