package answer

import (
	"encoding/json"
	"testing"

	"github.com/tidwall/gjson"
)

func TestInput(t *testing.T) {
	const (
		hints = "\n[Hints] recency_days=60, max_results=5. domains: a.example."
		today = " today: 2025-08-09 (Asia/Tokyo)."
	)
	a := New(Options{
		Now:      fixedNow,
		Location: tokyo,
		Defaults: Defaults{RecencyDays: 60, MaxResults: 5, Domains: []string{"a.example"}},
	})

	for _, tt := range []struct {
		name string
		q    Question
		want string
	}{
		{"query", Question{Query: " two\nlines "}, " two\nlines " + hints + today},
		{"empty domains", Question{Query: "q", Domains: []string{}}, "q" + hints + today},
		{"style", Question{Query: "q", Style: "bullets"}, "q" + hints + " style: bullets." + today},
		{"unknown style", Question{Query: "q", Style: "poem"}, "q" + hints + today},
		{
			"domains",
			Question{Query: "q", Domains: []string{"b.example", "c.example"}},
			"q\n[Hints] recency_days=60, max_results=5. domains: b.example, c.example." + today,
		},
		{
			"numbers",
			Question{Query: "q", RecencyDays: new(0.0), MaxResults: new(2.5)},
			"q\n[Hints] recency_days=0, max_results=2.5. domains: a.example." + today,
		},
		{
			"large number",
			Question{Query: "q", RecencyDays: new(1e21)},
			"q\n[Hints] recency_days=1000000000000000000000, max_results=5. domains: a.example." +
				today,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			message := a.request(Profile{}, tt.q).Input[0]
			got := gjson.GetBytes(message, "content.0.text").Str
			if got != tt.want {
				t.Errorf("input %q, want %q", got, tt.want)
			}
		})
	}
}

func TestInputWithoutDomains(t *testing.T) {
	a := New(Options{Now: fixedNow})
	got := a.input(Question{Query: "q"})
	want := "q\n[Hints] recency_days=0, max_results=0. today: 2025-08-08 (UTC)."
	if got != want {
		t.Errorf("input %q, want %q", got, want)
	}
}

func TestTool(t *testing.T) {
	for _, tt := range []struct {
		name    string
		search  Search
		domains []string
		want    string
	}{
		{"hints", Search{}, []string{"a.example"}, `{"type":"web_search"}`},
		{"nothing to enforce", Search{EnforceDomains: true}, nil, `{"type":"web_search"}`},
		{
			"enforced domains",
			Search{EnforceDomains: true},
			[]string{"www.A.example", "b.example"},
			`{"filters":{"allowed_domains":["www.A.example","b.example"]},"type":"web_search"}`,
		},
		{
			"blocked domains",
			Search{BlockedDomains: []string{"Bad.example"}},
			[]string{"a.example"},
			`{"filters":{"blocked_domains":["Bad.example"]},"type":"web_search"}`,
		},
		{
			"no place",
			Search{UserLocation: new(Location)},
			nil,
			`{"type":"web_search","user_location":{"type":"approximate"}}`,
		},
		{
			"place",
			Search{UserLocation: &Location{City: "Kyoto"}},
			nil,
			`{"type":"web_search","user_location":{"city":"Kyoto","type":"approximate"}}`,
		},
		{
			"other members",
			Search{
				ContextSize: "low",
				Extra:       map[string]any{"type": "x", "search_context_size": "y", "budget": 9},
			},
			nil,
			`{"budget":9,"search_context_size":"low","type":"web_search"}`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := json.Marshal(tt.search.tool(tt.domains))
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("tool %s, want %s", got, tt.want)
			}
		})
	}
}
