package answer

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
)

// The Answerer of the tests blocks bad.example.
func TestCitations(t *testing.T) {
	const (
		a       = "https://a.example/"
		b       = "https://b.example/"
		c       = "https://c.example/"
		d       = "https://d.example/"
		blocked = "https://www.bad.example/x"
	)
	commentary := message("commentary", "c", a)

	for _, tt := range []struct {
		name string
		body string
		want []string
	}{
		{"no search", completed(message("", "x")), nil},
		{"none", completed(search(), message("", "x")), nil},
		{"cited", completed(search(c, d), message("", "x", a, b)), []string{a, b}},
		{
			"twice",
			completed(message("", "x", a, a+"#part", "http://a.example", b)),
			[]string{a, b},
		},
		{
			"at most three",
			completed(message("", "See "+d, a, b, c, d)),
			[]string{d, a, b},
		},
		{
			"found",
			completed(search(a, b), search(b, c), message("", "x")),
			[]string{a, b, c},
		},
		{
			"cited, no page",
			completed(search(a), message("", "x", "javascript:x", "")),
			[]string{a},
		},

		{
			"name",
			completed(search(b, "weather"), message("", "x", a)),
			[]string{a, "weather"},
		},
		{
			"name found",
			completed(search("weather", a), message("", "x")),
			[]string{"weather", a},
		},
		{
			"name twice",
			completed(search("one", "two", "one"), message("", "x")),
			[]string{"one", "two"},
		},

		{"blocked", completed(message("", "x", blocked, a)), []string{a}},
		{
			"blocked, with a backslash",
			completed(message("", "x", `https://bad.example\x`, a)),
			[]string{a},
		},
		{
			"blocked, as a name",
			completed(search("https://bad%2eexample/", "one"), message("", "x")),
			[]string{"one"},
		},
		{
			"entity in the host",
			completed(message("", "x", "https://a.example&num;.b.example/", a)),
			[]string{"https://a.example&num;.b.example/", a},
		},
		{
			"blocked, found",
			completed(search(blocked, a), message("", "x")),
			[]string{a},
		},
		{
			"blocked, all",
			completed(search("one"), message("", "x", blocked)),
			[]string{"one"},
		},

		// A commentary that cites a page proves a search. Its pages count if the answer cites none.
		{
			"commentary",
			completed(commentary, message("final_answer", "f")),
			[]string{a},
		},
		{
			"commentary too",
			completed(commentary, message("final_answer", "f", b)),
			[]string{b},
		},
		{
			"commentary, no page",
			completed(commentary, message("final_answer", "f", "javascript:x")),
			[]string{a},
		},
		{
			"commentary and search",
			completed(commentary, search(b), message("final_answer", "f")),
			[]string{a},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ans, err := ask(t, tt.body)
			if err != nil {
				t.Fatal(err)
			}

			if ans.Citations == nil {
				t.Error("citations are nil, which is null in JSON")
			}
			if want := tt.name != "no search"; ans.UsedSearch != want {
				t.Errorf("used_search %t, want %t", ans.UsedSearch, want)
			}
			var got []string
			for _, c := range ans.Citations {
				got = append(got, c.URL)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("citations (-want +got):\n%s", diff)
			}
		})
	}
}

func TestCitationFields(t *testing.T) {
	const text = "A.\n\nSources:\n- https://a.example/ (2025-02-10)\n- oai-weather (2025-02-11)"
	ans, err := ask(t, completed(
		search("oai-weather"),
		message("", text, "https://a.example/", "https://b.example/?utm_source=openai"),
	))
	if err != nil {
		t.Fatal(err)
	}

	want := []cite.Citation{
		{URL: "https://a.example/", Title: "T", PublishedAt: "2025-02-10"},
		{URL: "https://b.example/", Title: "T", PublishedAt: "2025-08-09", Accessed: true},
		{URL: "oai-weather", Title: "api", PublishedAt: "2025-02-11"},
	}
	if diff := cmp.Diff(want, ans.Citations); diff != "" {
		t.Errorf("citations (-want +got):\n%s", diff)
	}
}
