package cite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const today = "2025-08-09"

// sources returns citations of these pages and names.
func sources(urls ...string) []Citation {
	var list []Citation
	for _, u := range urls {
		list = append(list, Citation{URL: u})
	}
	return list
}

func TestPage(t *testing.T) {
	got := Page("https://a.example/?utm_source=openai", " A\n"+strings.Repeat("b", 300))
	want := Citation{
		URL:   "https://a.example/",
		Title: "A " + strings.Repeat("b", 297) + "…",
	}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// The cut keeps pages of the text before others, and has places for names and pages.
func TestCitationsLimit(t *testing.T) {
	const (
		a = "https://a.example/"
		b = "https://b.example/"
		c = "https://c.example/"
		d = "https://d.example/"
	)
	for _, tt := range []struct {
		name    string
		text    string
		sources []Citation
		limit   int
		want    []string
	}{
		{"pages", "x", sources(a, b, c, d), 3, []string{a, b, c}},
		{
			"within the limit",
			"See [b](" + b + ").",
			sources(a, b),
			3,
			[]string{a, b},
		},
		{
			"linked",
			"[d](" + d + ") " + c,
			sources(a, b, c, d),
			3,
			[]string{c, d, a},
		},
		{
			"linked, with a name",
			"See " + c,
			sources(a, b, c, "time"),
			2,
			[]string{c, "time"},
		},
		{"name last", "x", sources(a, b, c, "time"), 3, []string{a, b, "time"}},
		{"one place", "x", sources(a, "time"), 1, []string{"time"}},
		{
			"two names",
			"x",
			sources(a, b, c, "one", "two"),
			3,
			[]string{a, "one", "two"},
		},
		{
			"many names",
			"x",
			sources(a, "one", "two", "three"),
			3,
			[]string{a, "one", "two"},
		},
		{
			"names only",
			"x",
			sources("one", "two", "three"),
			2,
			[]string{"one", "two"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			doc := NewDocument(tt.text)

			var got []string
			for _, c := range doc.Citations(tt.sources, tt.limit, today) {
				got = append(got, c.URL)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("citations (-want +got):\n%s", diff)
			}
		})
	}
}
