package answer

import (
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// uncited rests on a search and has nothing to cite. cites has.
const (
	uncited = `{"status":"completed","output":[
		{"type":"web_search_call","action":{"type":"search","query":"x"}},
		{"type":"message","content":[{"type":"output_text","text":"Uncited."}]}]}`

	cites = `{"status":"completed","output":[
		{"type":"message","content":[{"type":"output_text","text":"Cited.","annotations":[
			{"type":"url_citation","url":"https://a.example/","title":"A"}]}]}]}`

	unavailable = "503 "
	badParams   = `400 {"error":{"message":"no","type":"invalid_request_error","code":"x"}}`
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
		{"retried", 2, []string{uncited, unavailable, cites}, 3, citedText},
		{"links", 2, []string{completed(search(), message("", page))}, 1, page + ours},
		{"not searched", 2, []string{completed(message("", "A."))}, 1, "A."},

		{"never anything to cite", 2, []string{uncited}, 3, "Uncited."},

		{"no text", 1, []string{textless, cites}, 2, citedText},
		{"never any text", 1, []string{textless}, 2, noText},
		{"text, then none", 1, []string{uncited, textless}, 2, "Uncited."},
		{"text, then an error", 1, []string{uncited, badParams}, 2, "Uncited."},
		{"no text, then an error", 1, []string{textless, badParams}, 2, noText},
	} {
		bubble(t, tt.name, func(t *testing.T) {
			a, api := newAnswerer(tt.attempts, tt.bodies...)

			ans, err := a.Ask(t.Context(), &call.Call{Tool: "answer"}, Question{Query: "?"})
			got := fmt.Sprint(err)
			if err == nil {
				got = ans.Text
				retried := tt.name == "retried"
				compare.Equal(t, "retries are counted", ans.Meta.Retries > 0, retried)
			}
			compare.Equal(t, "text or error", got, tt.want)
			compare.Equal(t, "requests", api.requests, tt.requests)
		})
	}
}
