package answer

import (
	"fmt"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// fetched is a response of which the API says how long it took.
const fetched = `{"id":"resp_1","created_at":100,"completed_at":110,"status":"completed",
	"model":"gpt-5.2-2026-01-15","usage":{"total_tokens":3},"output":[
	{"type":"web_search_call","action":{"sources":[{"type":"url","url":"https://a.example/"}]}},
	{"type":"message","content":[{"type":"output_text","text":"Yes."}]}]}`

// What Fetch returns of a response: the answer of Ask, also on the next day, or an error.
func TestFetch(t *testing.T) {
	const unknown = "the answer is not complete, as far as is known"
	for _, tt := range []struct {
		name, body string
		elapsed    time.Duration
		want       string // the error
	}{
		{"completed", fetched, 10 * time.Second, "<nil>"},
		{"incomplete", incomplete("max_output_tokens", message("", "Yes")), 24 * time.Hour, "<nil>"},
		{"blocked", completed(message("", "A", "http://worse.example")), 24 * time.Hour, "<nil>"},
		{"running", `{"status":"in_progress"}`, 0, "the answer is not complete"},
		{"deleted", `404 {"error":{}}`, 0, "the API does not have the answer any more"},
		{"busy", `429 {"error":{}}`, 0, unknown},
		{"unavailable", unavailable, 0, unknown},
		{"another key", `401 {"error":{}}`, 0, unknown},
		{"a web page", "<html>", 0, unknown},
		{
			"failed", `{"status":"failed","error":{"message":"Oh."}}`, 0,
			"calling the Responses API: response failed (200): Oh.",
		},
		{"no text", completed(), 0, "no output"},
		{
			"cancelled", `{"status":"cancelled"}`, 0,
			"calling the Responses API: canceled (200): the response was cancelled",
		},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			a, _ := newAnswerer(0, tt.body)
			began := time.Now()
			want, _ := a.Ask(t.Context(), &call.Call{Tool: "answer"}, Question{Query: "why"})
			time.Sleep(24*time.Hour - time.Since(began))

			c := &call.Call{Tool: "answer"}
			got, err := a.Fetch(t.Context(), c, Origin{began, "answer", "resp_1", ""})
			compare.Equal(t, "error", fmt.Sprint(err), tt.want)
			if err == nil {
				want.Meta.Elapsed = tt.elapsed
				compare.Equal(t, "answer", got, want)
			}
		})
	}
}
