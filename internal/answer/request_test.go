package answer

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"
)

func TestInput(t *testing.T) {
	const today = " today: 2025-08-09 (Asia/Tokyo)."
	a := New(Options{Now: fixedNow, Location: tokyo, Defaults: Defaults{RecencyDays: 60, MaxResults: 5, Domains: []string{"a.example"}}})
	for _, tt := range []struct {
		q    Question
		want string
	}{
		{Question{Query: "q"}, "q\n[Hints] recency_days=60, max_results=5. domains: a.example." + today},
		{Question{Query: "q", Domains: []string{}}, "q\n[Hints] recency_days=60, max_results=5. domains: a.example." + today},
		{Question{Query: "q", Domains: []string{"b.example", "c.example"}}, "q\n[Hints] recency_days=60, max_results=5. domains: b.example, c.example." + today},
		{Question{Query: "q", RecencyDays: new(0.0), MaxResults: new(2.5)}, "q\n[Hints] recency_days=0, max_results=2.5. domains: a.example." + today},
		{Question{Query: "q", RecencyDays: new(1e21)}, "q\n[Hints] recency_days=1000000000000000000000, max_results=5. domains: a.example." + today},
		{Question{Query: " two\nlines ", Style: "summary"}, " two\nlines \n[Hints] recency_days=60, max_results=5. domains: a.example. style: summary." + today},
		{Question{Query: "q", Style: "poem"}, "q\n[Hints] recency_days=60, max_results=5. domains: a.example." + today},
	} {
		message := a.request(Profile{}, tt.q).Input[0]
		if got := gjson.GetBytes(message, "content.0.text").Str; got != tt.want {
			t.Errorf("input of %+v = %q, want %q", tt.q, got, tt.want)
		}
	}
	if got := New(Options{Now: fixedNow, Location: tokyo}).input(Question{Query: "q"}); got != "q\n[Hints] recency_days=0, max_results=0."+today {
		t.Errorf("input without domains = %q", got)
	}
}

func TestTool(t *testing.T) {
	for _, tt := range []struct {
		search  Search
		domains []string
		want    string
	}{
		{Search{}, []string{"a.example"}, `{"type":"web_search"}`},
		{Search{EnforceDomains: true}, nil, `{"type":"web_search"}`},
		{Search{EnforceDomains: true}, []string{"www.A.example", "b.example"}, `{"filters":{"allowed_domains":["www.A.example","b.example"]},"type":"web_search"}`},
		{Search{BlockedDomains: []string{"Bad.example"}}, []string{"a.example"}, `{"filters":{"blocked_domains":["Bad.example"]},"type":"web_search"}`},
		{Search{UserLocation: map[string]string{}}, nil, `{"type":"web_search","user_location":{"type":"approximate"}}`},
		{Search{UserLocation: map[string]string{"city": "Kyoto", "type": "exact"}}, nil, `{"type":"web_search","user_location":{"city":"Kyoto","type":"approximate"}}`},
		{Search{ContextSize: "low", Extra: map[string]any{"type": "x", "search_context_size": "high", "return_token_budget": 9}}, nil, `{"return_token_budget":9,"search_context_size":"low","type":"web_search"}`},
	} {
		if got, err := json.Marshal(tt.search.tool(tt.domains)); err != nil || string(got) != tt.want {
			t.Errorf("tool(%+v, %q) = %s, %v, want %s", tt.search, tt.domains, got, err, tt.want)
		}
	}
}
