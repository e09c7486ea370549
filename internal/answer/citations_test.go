package answer

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	pageA   = "https://a.example/"
	pageB   = "https://b.example/"
	pageC   = "https://c.example/"
	pageD   = "https://d.example/"
	blocked = "https://www.bad.example/x" // by newAnswerer
)

var commentary = message("commentary", "c", pageA)

var citationTests = []struct {
	name string
	body string
	want []string
}{
	{"no search", completed(message("", "x")), nil},
	{"none", completed(search(), message("", "x")), nil},

	{
		"cited",
		completed(search(pageC, pageD), message("", "x", pageA, pageB)),
		[]string{pageA, pageB},
	},
	{
		"twice",
		completed(message("", "x", pageA, pageA+"#part", "http://a.example", pageB)),
		[]string{pageA, pageB},
	},
	{
		"at most three",
		completed(message("", "See "+pageD, pageA, pageB, pageC, pageD)),
		[]string{pageD, pageA, pageB},
	},

	{
		"found",
		completed(search(pageA, pageB), search(pageB, pageC), message("", "x")),
		[]string{pageA, pageB, pageC},
	},
	{
		"cited, no page",
		completed(search(pageA), message("", "x", "javascript:x", "")),
		[]string{pageA},
	},

	{
		"name",
		completed(search(pageB, "weather"), message("", "x", pageA)),
		[]string{pageA, "weather"},
	},
	{
		"name found",
		completed(search("one", pageA, "one"), message("", "x")),
		[]string{"one", pageA},
	},

	{
		"names that are none",
		completed(search("javascript:alert(1)", "data:text/html,x", "https:/bad.example/a",
			"[a](javascript:x)", "a b", "//bad.example", strings.Repeat("a", 65), "a-b_c.9"),
			message("", "x")),
		[]string{"a-b_c.9"},
	},

	{"blocked", completed(message("", "x", blocked, pageA)), []string{pageA}},
	{
		"blocked, with a backslash",
		completed(message("", "x", `https://bad.example\x`, pageA)),
		[]string{pageA},
	},
	{
		"blocked, as a name",
		completed(search("https://bad%2eexample/", "one"), message("", "x")),
		[]string{"one"},
	},
	{"blocked, found", completed(search(blocked, pageA), message("", "x")), []string{pageA}},
	{"blocked, all", completed(search("one"), message("", "x", blocked)), []string{"one"}},

	// A commentary that cites a page proves a search. Its pages count if the answer cites none.
	{"commentary", completed(commentary, message("final_answer", "f")), []string{pageA}},
	{"commentary too", completed(commentary, message("final_answer", "f", pageB)), []string{pageB}},
	{
		"commentary, no page",
		completed(commentary, message("final_answer", "f", "javascript:x")),
		[]string{pageA},
	},
	{
		"commentary and search",
		completed(commentary, search(pageB), message("final_answer", "f")),
		[]string{pageA},
	},
}

func TestCitations(t *testing.T) {
	for _, tt := range citationTests {
		t.Run(tt.name, func(t *testing.T) {
			ans, err := ask(t, tt.body)
			if err != nil {
				t.Fatal(err)
			}

			if ans.Citations == nil {
				t.Error("citations are nil, which is null in JSON")
			}
			compare.Equal(t, "used_search", ans.UsedSearch, tt.name != "no search")

			var got []string
			for _, c := range ans.Citations {
				got = append(got, c.URL)
			}
			compare.Equal(t, "citations", got, tt.want)
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
	compare.Equal(t, "citations", ans.Citations, want)
}
