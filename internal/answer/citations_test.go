package answer

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

func TestPageURL(t *testing.T) {
	tests := []struct{ raw, want string }{
		{"https://a.example/x", "https://a.example/x"},
		{"https://a.example/x?utm_source=openai", "https://a.example/x"},
		{"https://a.example/?utm_source=openai&b=2", "https://a.example/?b=2"},
		{"https://a.example/?a=1&utm_source=openai&b=2", "https://a.example/?a=1&b=2"},
		{"https://a.example/?a=1&utm_source=openai", "https://a.example/?a=1"},
		{"https://a.example/?utm_source=openai&utm_source=openai#top", "https://a.example/#top"},
		{"https://a.example/?utm_source=openais", "https://a.example/?utm_source=openais"}, // somebody else's
		{"https://a.example/?q=utm_source=openai", "https://a.example/?q=utm_source=openai"},
		{"https://a.example/?a&&b", "https://a.example/?a&&b"}, // odd, but theirs
		{"https://a.example/#:~:text=some%20words", "https://a.example/"},
		{"https://a.example/?utm_source=openai#:~:text=x", "https://a.example/"},
		{"https://a.example/#part:~:text=x,y", "https://a.example/#part"},
		{"https://a.example/#part?utm_source=openai", "https://a.example/#part"},
		{"https://a.example/#/route?", "https://a.example/#/route?"},
		{"https://a.example/100%", "https://a.example/100%"}, // net/url refuses it, servers do not
		{"https://ja.wikipedia.org/wiki/日本", "https://ja.wikipedia.org/wiki/日本"},
		{"HTTP://A.example", "HTTP://A.example"},
		{"  https://a.example/b c\nSources:\t\x00 ", "https://a.example/b%20c%20Sources:"},
		{"https://a.example/\u202egpj.exe", "https://a.example/gpj.exe"}, // reads backwards
		{"https://a.example/x\u2060\u00ad\u061c\U000e0041y", "https://a.example/xy"},
		{"https://a.example\u3164.b.example/\u200d\ufe0f?q=\u2800", "https://a.example%E3%85%A4.b.example/%E2%80%8D%EF%B8%8F?q=%E2%A0%80"}, // show nothing
		{"", ""},
		{"https://", ""},
		{"https:///x", ""},
		{"https:a.example", ""},
		{"a.example/x", ""},
		{"javascript:alert(1)//https://a.example", ""},
		{"data:text/html,x", ""},
		{"ftp://a.example/", ""},
		{"https://a.example/" + strings.Repeat("x", maxURL), ""},
	}
	for _, tt := range tests {
		if got := pageURL(tt.raw); got != tt.want {
			t.Errorf("pageURL(%.60q) = %q, want %q", tt.raw, got, tt.want)
		}
	}
}

func TestPageKey(t *testing.T) {
	same := [][2]string{
		{"https://a.example", "https://a.example/"},
		{"https://a.example/x", "https://a.example/x/"},
		{"https://a.example/x", "https://a.example/x#part"},
		{"http://A.Example/x", "https://a.example/x"},
	}
	for _, s := range same {
		if pageKey(s[0]) != pageKey(s[1]) {
			t.Errorf("pageKey(%q) = %q, pageKey(%q) = %q, want one page", s[0], pageKey(s[0]), s[1], pageKey(s[1]))
		}
	}
	other := [][2]string{
		{"https://a.example/x", "https://a.example/X"},
		{"https://a.example/?id=1", "https://a.example/?id=2"},
		{"https://a.example/#/one", "https://a.example/#/two"},
		{"https://a.example/#!one", "https://a.example/#!two"},
	}
	for _, s := range other {
		if pageKey(s[0]) == pageKey(s[1]) {
			t.Errorf("pageKey(%q) = pageKey(%q), want two pages", s[0], s[1])
		}
	}
}

func TestSourceID(t *testing.T) {
	for raw, want := range map[string]string{
		"oai-weather":           "oai-weather",
		" oai\nweather ":        "oai weather",
		"javascript:alert(1)":   "",
		"file:///etc/passwd":    "",
		"https://a.example/":    "",
		"\u202e":                "",
		"Japan Met. Agency (x)": "Japan Met. Agency (x)",
	} {
		if got := sourceID(raw); got != want {
			t.Errorf("sourceID(%q) = %q, want %q", raw, got, want)
		}
	}
}

func TestOneLine(t *testing.T) {
	for raw, want := range map[string]string{
		"":                                    "",
		" a\r\n\tb\u2028c\u00a0d ":            "a b c d",
		"a\x00\x1b[31mb":                      "a[31mb",
		"\ue200cite\ue202turn0\ue201 x":       "x",
		strings.Repeat("x", maxTitle):         strings.Repeat("x", maxTitle),
		strings.Repeat("日", 1<<20):            strings.Repeat("日", maxTitle-1) + "…",
		strings.Repeat(" ", 1<<20) + "unseen": "",
	} {
		got := OneLine(raw)
		if got != want || !utf8.ValidString(got) {
			t.Errorf("OneLine(%.40q) = %.40q, want %.40q", raw, got, want)
		}
	}
}

func TestISODate(t *testing.T) {
	for s, want := range map[string]string{
		"2025-08-09":                    "2025-08-09",
		" 2025-08-09 ":                  "2025-08-09",
		"2025-08-09T23:30:00-08:00":     "2025-08-09", // the day that the page shows
		"2025-08-09 10:00":              "2025-08-09",
		"2025/8/9":                      "2025-08-09",
		"2025年8月9日":                     "2025-08-09",
		"2025年8月9日(土)":                  "2025-08-09",
		"2025年8月9日（土） 10時":              "2025-08-09",
		"Aug 9, 2025 10:00 AM":          "2025-08-09",
		"Aug 9, 2025 22:00":             "2025-08-09",
		"August 9, 2025 22:00":          "2025-08-09",
		"August 9, 2025":                "2025-08-09",
		"9 Aug 2025":                    "2025-08-09",
		"Sat, 09 Aug 2025 10:00:00 GMT": "2025-08-09",
		"20250809":                      "2025-08-09",
		"2025-02-30":                    "",
		"2025-08-091":                   "",
		"0001-01-01T00:00:00Z":          "",
		"yesterday":                     "",
		"":                              "",
	} {
		if got := isoDate(s); got != want {
			t.Errorf("isoDate(%q) = %q, want %q", s, got, want)
		}
	}
}

// cite makes a message that cites these URLs.
func cite(urls ...string) []*llm.Message {
	p := llm.Part{Type: "output_text", Text: "x"}
	for _, u := range urls {
		p.Annotations = append(p.Annotations, llm.Annotation{Type: "url_citation", URL: u})
	}
	return []*llm.Message{{Content: []llm.Part{p}}}
}

// found makes a search with these sources; a word without a dot is a name.
func found(sources ...string) []*llm.Search {
	s := &llm.Search{Action: "search"}
	for _, src := range sources {
		if strings.Contains(src, ".") {
			s.Sources = append(s.Sources, llm.Source{Type: "url", URL: src})
		} else {
			s.Sources = append(s.Sources, llm.Source{Type: "api", Name: src})
		}
	}
	return []*llm.Search{s}
}

func TestCitationsSelection(t *testing.T) {
	const a, b, c, d = "https://a.example/", "https://b.example/", "https://c.example/", "https://d.example/"
	tests := []struct {
		name     string
		messages []*llm.Message
		searches []*llm.Search
		limit    int
		want     []string
	}{
		{"nothing", nil, nil, 3, []string{}},
		{"cited alone", cite(a, b), found(c, d), 3, []string{a, b}},
		{"cited twice", cite(a, b, a+"#part", "http://a.example"), nil, 3, []string{a, b}},
		{"capped", cite(a, b, c, d), nil, 3, []string{a, b, c}},
		{"sources where nothing is cited", nil, found(a, b, c, d), 3, []string{a, b, c}},
		{"cited, but unusable", cite("javascript:x", ""), found(a), 3, []string{a}},
		{"name beside citations", cite(a), found(b, "oai-weather"), 3, []string{a, "oai-weather"}},
		{"name has the last place", cite(a, b, c, d), found("oai-weather"), 3, []string{a, b, "oai-weather"}},
		{"name keeps its order among sources", nil, found("oai-weather", a), 3, []string{"oai-weather", a}},
		{"name at the end of long sources", nil, found(a, b, c, d, "oai-weather"), 3, []string{a, b, "oai-weather"}},
		{"one place", cite(a), found("oai-weather"), 1, []string{"oai-weather"}},
		{"several names", cite(a, b, c), found("oai-weather", "oai-time", "oai-weather"), 3, []string{a, "oai-weather", "oai-time"}},
		{"names leave room for a page", cite(a), found("one", "two", "three"), 3, []string{a, "one", "two"}},
		{"names alone", nil, found("one", "two", "three"), 2, []string{"one", "two"}},
		{"several searches", nil, append(found(a), found(a, b)...), 3, []string{a, b}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := []string{}
			for _, c := range citations(tt.messages, tt.searches, tt.limit, "2025-08-09") {
				got = append(got, c.URL)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("citations (-want +got):\n%s", diff)
			}
		})
	}
}

// A date or a title that comes with the second mention is not lost.
func TestCitationsMerge(t *testing.T) {
	messages := cite("https://a.example/x?utm_source=openai", "https://a.example/x")
	messages[0].Content[0].Annotations[1].Title = "A"
	searches := found("https://a.example/x/", "https://a.example/x", "oai-weather")
	searches[0].Sources[1].PublishedAt = "January 2, 2025"
	want := []Citation{
		{URL: "https://a.example/x", Title: "A", PublishedAt: "2025-01-02"},
		{URL: "oai-weather", Title: "api", PublishedAt: "2025-08-09"},
	}
	if diff := cmp.Diff(want, citations(messages, searches, 3, "2025-08-09")); diff != "" {
		t.Errorf("citations (-want +got):\n%s", diff)
	}
}

// A commentary that cites a page proves a search; its pages are the sources when
// the answer cites none.
func TestComposeCommentary(t *testing.T) {
	message := func(phase, text string, urls ...string) *llm.Message {
		m := cite(urls...)[0]
		m.Phase, m.Content[0].Text = phase, text
		return m
	}
	const a, b = "https://a.example/", "https://b.example/"
	tests := []struct {
		name   string
		output []llm.Item
		used   bool
		want   []string
	}{
		{"only the commentary cites", []llm.Item{message("commentary", "c", a), message(finalAnswer, "f")}, true, []string{a}},
		{"the answer cites too", []llm.Item{message("commentary", "c", a), message(finalAnswer, "f", b)}, true, []string{b}},
		{"cited, but unusable", []llm.Item{message("commentary", "c", a), message(finalAnswer, "f", "javascript:x")}, true, []string{a}},
		{"before the sources", []llm.Item{message("commentary", "c", a), found(b)[0], message(finalAnswer, "f")}, true, []string{a}},
		{"nobody cites", []llm.Item{message("commentary", "c"), message(finalAnswer, "f")}, false, []string{}},
	}
	for _, tt := range tests {
		got, err := compose([]*llm.Response{{Output: tt.output}}, 3, "2025-08-09")
		if err != nil {
			t.Fatalf("%s: %v", tt.name, err)
		}
		urls := []string{}
		for _, c := range got.Citations {
			urls = append(urls, c.URL)
		}
		if got.UsedSearch != tt.used || !cmp.Equal(urls, tt.want) {
			t.Errorf("%s: used_search %t, citations %v, want %t, %v", tt.name, got.UsedSearch, urls, tt.used, tt.want)
		}
		if !strings.HasPrefix(got.Text, "f") || strings.Contains(got.Text, "Sources:") != tt.used {
			t.Errorf("%s: text %q", tt.name, got.Text)
		}
	}
}

func TestCitationsMany(t *testing.T) {
	var urls []string
	for i := range 20_000 {
		urls = append(urls, fmt.Sprintf("https://a.example/%d", i))
	}
	if got := citations(cite(urls...), found(urls...), 10, "2025-08-09"); len(got) != 10 {
		t.Errorf("citations keeps %d of 20,000, want 10", len(got))
	}
}
