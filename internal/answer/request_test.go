package answer

import (
	"encoding/json"
	"testing"
	"testing/synctest"

	"github.com/tidwall/gjson"
)

func TestInput(t *testing.T) {
	const (
		hints = "\n[Hints] recency_days=60, max_results=5. domains: a.example."
		today = " today: 2025-08-09 (Asia/Tokyo)."
	)

	for _, tt := range []struct {
		name string
		q    Question
		want string
	}{
		{"query", Question{Query: " two\nlines "}, " two\nlines " + hints + today},
		{"empty domains", Question{Domains: []string{}}, hints + today},

		{"style", Question{Style: "bullets"}, hints + " style: bullets." + today},
		{"unknown style", Question{Style: "poem"}, hints + today},

		{
			"domains",
			Question{Domains: []string{"b.example", "c.example"}},
			"\n[Hints] recency_days=60, max_results=5. domains: b.example, c.example." + today,
		},

		{
			"numbers",
			Question{RecencyDays: new(0.0), MaxResults: new(2.5)},
			"\n[Hints] recency_days=0, max_results=2.5. domains: a.example." + today,
		},
		{
			"large number",
			Question{RecencyDays: new(1e21)},
			"\n[Hints] recency_days=1000000000000000000000, max_results=5. domains: a.example." +
				today,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a, _ := newAnswerer(func(o *Options) {
					o.Defaults = Defaults{RecencyDays: 60, MaxResults: 5, Domains: []string{"a.example"}}
				})

				message := a.request(t.Context(), "answer", tt.q).Input[0]
				got := gjson.GetBytes(message, "content.0.text").Str

				if got != tt.want {
					t.Errorf("input %q, want %q", got, tt.want)
				}
			})
		})
	}
}

func TestTool(t *testing.T) {
	extra := map[string]any{"type": "x", "search_context_size": "y", "budget": 9}

	for _, tt := range []struct {
		name   string
		search Search
		want   string
	}{
		{"nothing to enforce", Search{EnforceDomains: true}, `{"type":"web_search"}`},

		{
			"place",
			Search{UserLocation: &Location{City: "Kyoto"}},
			`{"type":"web_search","user_location":{"city":"Kyoto","type":"approximate"}}`,
		},
		{
			"other members",
			Search{ContextSize: "low", Extra: extra},
			`{"budget":9,"search_context_size":"low","type":"web_search"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.search.tool(Question{}))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("tool %s, want %s", got, tt.want)
			}
		})
	}
}
