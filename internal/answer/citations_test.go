package answer

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// cited are the URLs of the citations of a response with these items, and the answer.
func cited(t *testing.T, o Options, items ...string) ([]string, *Answer) {
	t.Helper()
	ans, err := compose(t, o, output(items...))
	if err != nil {
		t.Fatal(err)
	}
	urls := []string{}
	for _, c := range ans.Citations {
		urls = append(urls, c.URL)
	}
	return urls, ans
}

func TestCitationsSelection(t *testing.T) {
	const a, b, c, d = "https://a.example/", "https://b.example/", "https://c.example/", "https://d.example/"
	for _, tt := range []struct {
		name  string
		items []string
		limit int
		want  []string
	}{
		{"nothing", []string{message("", "x")}, 3, []string{}},
		{"cited", []string{search(c, d), message("", "x", a, b)}, 3, []string{a, b}},
		{"cited twice", []string{message("", "x", a, b, a+"#part", "http://a.example")}, 3, []string{a, b}},
		{"capped", []string{message("", "x", a, b, c, d)}, 3, []string{a, b, c}},
		{"sources without a citation", []string{search(a, b, c, d), message("", "x")}, 3, []string{a, b, c}},
		{"unusable citation", []string{search(a), message("", "x", "javascript:x", "")}, 3, []string{a}},
		{"name beside citations", []string{search(b, "oai-weather"), message("", "x", a)}, 3, []string{a, "oai-weather"}},
		{"name has the last place", []string{search("oai-weather"), message("", "x", a, b, c, d)}, 3, []string{a, b, "oai-weather"}},
		{"name in its order among sources", []string{search("oai-weather", a), message("", "x")}, 3, []string{"oai-weather", a}},
		{"name at the end of many sources", []string{search(a, b, c, d, "oai-weather"), message("", "x")}, 3, []string{a, b, "oai-weather"}},
		{"one place", []string{search("oai-weather"), message("", "x", a)}, 1, []string{"oai-weather"}},
		{"several names", []string{search("oai-weather", "oai-time", "oai-weather"), message("", "x", a, b, c)}, 3, []string{a, "oai-weather", "oai-time"}},
		{"names leave room for a page", []string{search("one", "two", "three"), message("", "x", a)}, 3, []string{a, "one", "two"}},
		{"names only", []string{search("one", "two", "three"), message("", "x")}, 2, []string{"one", "two"}},
		{"several searches", []string{search(a), search(a, b), message("", "x")}, 3, []string{a, b}},
		{"linked pages first", []string{message("", "See [d]("+d+"?utm_source=openai) and "+c+".", a, b, c, d)}, 3, []string{c, d, a}},
		{"linked sources first", []string{search(a, b, c, "oai-time"), message("", "See "+c)}, 2, []string{c, "oai-time"}},
		{"no cut, no change", []string{message("", "See [b]("+b+").", a, b)}, 3, []string{a, b}},
	} {
		if got, _ := cited(t, Options{MaxCitations: tt.limit}, tt.items...); !cmp.Equal(got, tt.want) {
			t.Errorf("%s: citations %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestCitationsBlocked(t *testing.T) {
	pages := []string{
		"https://bad.example/", "https://BAD.example:443/x", "https://www.bad.example/", "https://bad.example./",
		"https://user@bad.example/", "http://b%61d.example/", "https://a.b.bad.example?x", "https://worse.example/",
		"https://ｂａｄ.example/", "https://bad。example/", "https://日本.example/",
		"https://notbad.example/", "https://bad.example.org/", "https://ok.example/bad.example", "https://my_bad.example/",
	}
	want := pages[11:]
	o := Options{MaxCitations: 10, Search: Search{BlockedDomains: []string{"bad.example", "Worse.example", "xn--wgv71a.example"}}}
	for _, tt := range []struct{ items, want []string }{
		{[]string{message("", "x", pages...)}, want},
		{[]string{search(pages...), message("", "x")}, want},
		{[]string{search("oai-weather"), message("", "x", pages[:11]...)}, []string{"oai-weather"}},
	} {
		if got, _ := cited(t, o, tt.items...); !cmp.Equal(got, tt.want) {
			t.Errorf("citations %v, want %v", got, tt.want)
		}
	}
}

// Only a closing list in the form that the policy asks for stays alone. The
// text is always kept as it is.
func TestSources(t *testing.T) {
	const ours = "\n\nSources:\n- https://a.example/ (2025-08-09)"
	for _, tt := range []struct {
		name, text string
		stays      bool
	}{
		{"no list", "A.", false},
		{"ours", "A.\n\nSources:\n- https://b.example/ (2025-01-02)\n- oai-weather (2025-01-02)", true},
		{"identifiers", "A.\n\nSources:\n- oai-x 2025-01-02\n* `oai-y`: 2025-03-04", true},
		{"Markdown heading", "A.\n\n## Sources\n\n1. [B](https://b.example/) — 2025-01-02", true},
		{"bold", "A.\n**Sources**\n• oai-b (2025-01-02)", true},
		{"bold with colon", "A.\n**Sources:**\n- oai-b (2025-01-02)", true},
		{"colon after bold", "A.\n\n__References__:\n- oai-b (2025-01-02)", true},
		{"bold Markdown heading", "A.\n\n### **出典**\n- oai-b (2025-01-02)", true},
		{"capitals", "A.\n\nSOURCES\n- oai-b (2025-01-02)", true},
		{"Japanese", "A。\n\n出典\n・jma-feed（2025-01-02）", true},
		{"full-width colon", "A。\n\n参考：\n- https://b.example/（2025-01-02）", true},
		{"情報源", "A。\n\n情報源:\n- [B](https://b.example/)（公開日: 2025-01-02）", true},
		{"date in the second line", "A.\n\nSources:\n1. B\n   https://b.example/ (2025-01-02)", false},
		{"bare URLs", "A.\n\nSources:\nhttps://b.example/ (2025-01-02)\nhttps://c.example/ (2025-01-02)", true},
		{"title and URL", "A.\n\nSources:\n- B, a page: https://b.example/ (2025-01-02)", true},
		{"footnotes", "A.[1]\n\nReferences\n[1] https://b.example/ (2025-01-02)", true},
		{"CRLF", "A.\r\n\r\nSources:\r\n- oai-b (2025-01-02)", true},
		{"date in the URL too", "A.\n\nSources:\n- https://b.example/2025-03-04/x — 2025-03-04", true},
		{"full stop", "A.\n\nSources:\n- https://b.example/ (2025-01-02).", true},
		{"two lists", "A.\n\nSources:\n- b\n\n出典:\n- oai-c (2025-01-02)", true},
		{"only a list", "Sources:\n- https://b.example/ (2025-01-02)", true},

		{"one entry without a date", "A.\n\nSources:\n- oai-b (2025-01-02)\n- c", false},
		{"date only in the URL", "A.\n\nSources:\n- https://b.example/2025-01-02", false},
		{"no such day", "A.\n\nSources:\n- b (2025-13-45)", false},
		{"date in words", "A.\n\n出典:\n- b (2025年1月2日)", false},
		{"heading alone", "A.\n\nSources:", false},
		{"a word", "A.\n\nSources:\n- JMA (2025-01-02)", false},
		{"a title without spaces", "A。\n\n出典：\n・気象庁「予報」（2025-01-02）", false},
		{"a host", "A.\n\nSources:\n- b.example/p (2025-01-02)", false},
		{"a footnote without a page", "A.\n\nSources:\n- [1] (2025-01-02)", false},
		{"time zone", "A.\n\nSources:\n- https://b.example/ (2025-01-02 JST)", true},
		{"names", "A.\n\nSources:\n- The agency, a report (2025-01-02)", false},
		{"dated heading", "A.\n\nSources (retrieved 2025-08-09):\n- https://b.example/", false},
		{"on one line", "A.\n\nSources: https://b.example/ (2025-01-02)", false},
		{"another heading", "A.\n\nSources used:\n- https://b.example/ (2025-01-02)", false},
		{"a remark below", "A.\n\nSources:\n- https://b.example/ (2025-01-02)\n\nLet me know if you need more.", false},
		{"a table", "A.\n\nSources:\n| B | https://b.example/ | 2025-01-02 |", false},
		{"a long line", "A.\n\nSources:\n- " + strings.Repeat("x", 4<<10) + " https://b.example/ (2025-01-02)", false},
		{"in the middle", "## Sources\n- of error\n\nThere are three.", false},
		{"an item", "Kinds:\n- sinks\n- sources", false},
		{"in prose", "A。\n参考: 値は概算です。", false},
	} {
		want := tt.text
		if !tt.stays {
			want += ours
		}
		ans, err := compose(t, Options{}, output(message("", tt.text, "https://a.example/")))
		if err != nil || ans.Text != want {
			t.Errorf("%s: %q (%v), want %q", tt.name, ans.Text, err, want)
		}
	}
}

func TestPublishedAt(t *testing.T) {
	const page = "https://a.example/x"
	for _, tt := range []struct{ name, text, page, want string }{
		{"no date", "A.", page, "2025-08-09"},
		{"our list", "A.\n\nSources:\n- https://a.example/x (2025-02-10)", page, "2025-02-10"},
		{"link", "A.\n\n## Sources\n1. [A 2024-01-01](https://a.example/x) (2025-02-10)", page, "2025-02-10"},
		{"dash", "A.\n\n**Sources**\n* https://a.example/x — 2025-02-10", page, "2025-02-10"},
		{"Japanese", "A。\n\n出典：\n・https://a.example/x（2025-02-10）", page, "2025-02-10"},
		{"Japanese date", "A。\n\n参考\n- [A](https://a.example/x)（2025年2月10日）", page, "2025-02-10"},
		{"slashes", "A。\n\n情報源:\n- https://a.example/x (2025/2/10)", page, "2025-02-10"},
		{"tracker", "A.\n\nReferences\n- https://a.example/x?utm_source=openai (2025-02-10)", page, "2025-02-10"},
		{"http and slash", "A.\n\nSources:\n- http://A.example/x/ (2025-02-10)", page, "2025-02-10"},
		{"words between", "A.\n\nSources:\n- https://a.example/x, published 2025-02-10, accessed 2025-08-09", page, "2025-02-10"},
		{"one line", "A.\n\nSources: https://b.example/ (2025-01-01), https://a.example/x (2025-02-10)", page, "2025-02-10"},
		{"other heading", "A.\n\nSources used:\n- https://a.example/x (2025-02-10)", page, "2025-02-10"},
		{"remark below", "A.\n\nSources:\n- https://a.example/x (2025-02-10)\n\nAsk for more.", page, "2025-02-10"},
		{"the URL as link text", "A.\n\nSources:\n- [https://a.example/x](https://a.example/x) (2025-02-10)", page, "2025-02-10"},
		{"list before text", "See ([a](https://a.example/x), 2025-01-01).\n\nSources:\n- https://a.example/x (2025-02-10)", page, "2025-02-10"},
		{"list before path", "A.\n\nSources:\n- https://a.example/2025/01/02/x (2025-02-10)", "https://a.example/2025/01/02/x", "2025-02-10"},
		{"parentheses in the URL", "A.\n\nSources:\n- [Go](https://a.example/Go_(language)) (2025-02-10)", "https://a.example/Go_(language)", "2025-02-10"},
		{"today", "A.\n\nSources:\n- https://a.example/x (2025-08-09)", page, "2025-08-09"},

		{"no space", "A.\n\nSources:\n- https://a.example/x(2025-02-10)", page, "2025-02-10"},
		{"time zone", "A.\n\nSources:\n- https://a.example/x (2025-02-10 JST)", page, "2025-02-10"},
		{"words after", "A.\n\n参考\n- https://a.example/x（2025年2月10日公開）公式", page, "2025-02-10"},
		{"date first", "A.\n\nSources:\n- Title, 2025-02-10, https://a.example/x", page, "2025-02-10"},
		{"date in the link's text", "A.\n\nSources:\n- [Title (2025-02-10)](https://a.example/x)", page, "2025-02-10"},
		{"two lines", "A.\n\nSources:\n- Title (2025-02-10)\n  https://a.example/x", page, "2025-02-10"},
		{"English", "A.\n\nSources:\n- https://a.example/x (February 10, 2025)", page, "2025-02-10"},
		{"English, day first", "A.\n\nSources:\n- https://a.example/x (10 Feb 2025)", page, "2025-02-10"},
		{"other hyphens", "A.\n\nSources:\n- https://a.example/x (2025‑02‑10)", page, "2025-02-10"},
		{"dots", "A.\n\nSources:\n- https://a.example/x (2025.02.10)", page, "2025-02-10"},
		{"www and entity", "A.\n\nSources:\n- https://www.a.example/x?a=1&amp;b=2 (2025-02-10)", "https://a.example/x?a=1&b=2", "2025-02-10"},
		{"escapes", "A。\n\n出典:\n- https://a.example/東京 (2025-02-10)", "https://a.example/%E6%9D%B1%E4%BA%AC", "2025-02-10"},
		{"the line below", "A.\n\nSources:\n- https://a.example/x\n  Published: 2025-02-10\n- https://b.example/\n  2025-03-11", page, "2025-02-10"},
		{"dates first", "A.\n\nSources:\n- 2025-02-10 https://a.example/x, 2025-03-11 https://b.example/", page, "2025-02-10"},
		{"ordinal", "A.\n\nSources:\n- https://a.example/x (February 10th, 2025)", page, "2025-02-10"},
		{"no comma", "A.\n\nSources:\n- https://a.example/x (Feb 10 2025)", page, "2025-02-10"},
		{"list before a note", "A.\n\nSources:\n- https://a.example/x (2025-02-10)\n\nNote: the 2025-05-05 vote ([a](https://a.example/x)) is open.", page, "2025-02-10"},
		{"Japanese prose", "公開済み（[a](https://a.example/x)、公開（2025-02-10））。", page, "2025-02-10"},
		{"prose with a date", "Released ([a](https://a.example/x), updated 2025-02-10).", page, "2025-02-10"},

		{"future", "A.\n\nSources:\n- https://a.example/x (2025-08-10)", page, "2025-08-09"},
		{"future in the list only", "A.\n\nSources:\n- https://a.example/2025/01/02/ (2026-02-10)", "https://a.example/2025/01/02/", "2025-01-02"},
		{"no such day", "A.\n\nSources:\n- https://a.example/x (2025-02-30)", page, "2025-08-09"},
		{"another page", "A.\n\nSources:\n- https://a.example/xy (2025-02-10)", page, "2025-08-09"},
		{"next entry's date", "A.\n\nSources:\n- https://a.example/x\n- https://b.example/ (2025-02-10)", page, "2025-08-09"},
		{"prose", "See https://a.example/x. 2025-02-10 was wet.", page, "2025-08-09"},

		{"another entry's date above", "A.\n\nSources:\n- A report (2025-02-10)\n- https://a.example/x", page, "2025-08-09"},
		{"another entry's date below", "A.\n\nSources:\n- https://b.example/\n  2025-02-10\n- https://a.example/x", page, "2025-08-09"},
		{"prose about a date", "It ended ([a](https://a.example/x)) on 2025-02-10.", page, "2025-08-09"},
		{"prose about a span", "Supported ([a](https://a.example/x)) from 2021-08-14 to 2025-02-10.", page, "2025-08-09"},
		{"a table", "| 11 | [a](https://a.example/x) | 2025-02-10 |", page, "2025-08-09"},

		// Each bound of the search for dates and lists.
		{"text before the last MiB", "Sources:\n- https://a.example/x (2025-02-10)" + strings.Repeat(" ", (1<<20)) + "End.", page, "2025-08-09"},
		{"lines of a list", "Sources:" + strings.Repeat("\n", 1000) + "\n- https://a.example/x x\n2025-02-10\n\nEnd.", page, "2025-08-09"},
		{"links", strings.Repeat("https://b.example/ ", 10_000) + "\n- https://a.example/x (2025-02-10)", page, "2025-08-09"},
		{"far from its link", "Sources:\n- https://a.example/x " + strings.Repeat("x", 500) + " 2025-02-10", page, "2025-08-09"},
		{"within all of them", "Sources:" + strings.Repeat("\n", 1000-10) + "\n- https://a.example/x (2025-02-10)\n\nEnd.", page, "2025-02-10"},

		{"path", "A.", "https://a.example/2025/02/10/x", "2025-02-10"},
		{"path, one digit", "A.", "https://a.example/2025/2/1/", "2025-02-01"},
		{"path with hyphens", "A.", "https://a.example/news/2025-02-10-x", "2025-02-10"},
		{"path without", "A.", "https://a.example/20250210/k100.html", "2025-02-10"},
		{"month only", "A.", "https://a.example/2025/02/x", "2025-08-09"},
		{"query", "A.", "https://a.example/?d=2025-02-10", "2025-08-09"},
		{"anchor and host", "A.", "https://2025-02-10.example/a#2025-02-10", "2025-08-09"},
		{"id", "A.", "https://a.example/cve-2025-49826/202502101/11862701/20259999", "2025-08-09"},
		{"future path", "A.", "https://a.example/2026/02/10/", "2025-08-09"},
	} {
		ans, err := compose(t, Options{}, output(message("", tt.text, tt.page)))
		if err != nil || len(ans.Citations) != 1 {
			t.Fatalf("%s: %+v, %v", tt.name, ans, err)
		}
		if got := ans.Citations[0].PublishedAt; got != tt.want {
			t.Errorf("%s: published_at of %.200q is %s, want %s", tt.name, tt.text, got, tt.want)
		}
	}
	ans, err := compose(t, Options{}, output(search("oai-weather"), message("", "A.\n\nSources:\n- oai-weather (2025-08-08)")))
	if err != nil || ans.Citations[0].PublishedAt != "2025-08-08" {
		t.Errorf("oai-weather: %+v, %v, want 2025-08-08", ans, err)
	}
}
