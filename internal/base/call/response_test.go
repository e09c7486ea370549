package call

import (
	"fmt"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Each type of searchItems has an example, which is read as the same search.
func TestSearchItems(t *testing.T) {
	const (
		ofOpenAI = `"action":{"type":"search","queries":["q"],"sources":[{"url":"https://a.example/"}]}`
		search   = "search [q] https://a.example/"
	)
	examples := map[string]struct{ members, want string }{
		"web_search_call":       {ofOpenAI, search},
		"openrouter:web_search": {ofOpenAI, search},
		"search_results":        {`"queries":["q"],"results":[{"url":"https://a.example/"}]`, search},
		"fetch_url_results":     {`"contents":[{"url":"https://a.example/"}]`, "open_page [] https://a.example/"},
	}

	for kind := range searchItems {
		if examples[kind].members == "" {
			t.Errorf("no example of %s", kind)
		}
	}
	for kind, example := range examples {
		t.Run(kind, func(t *testing.T) {
			var i Item
			err := DecodeLenient(fmt.Appendf(nil, `{"type":%q,%s}`, kind, example.members), &i)
			if err != nil || !i.IsSearch() {
				t.Fatalf("not a search: %v", err)
			}
			got := fmt.Sprint(i.Action.Type, " ", i.Action.Queries, " ", i.Action.Sources[0].URL)
			compare.Equal(t, "action", got, example.want)
		})
	}
}
