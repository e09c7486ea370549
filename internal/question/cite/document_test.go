package cite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestClosing(t *testing.T) {
	check(t, "closing", func(text string) string {
		return fmt.Sprint(NewDocument(text).EndsWithList)
	})
}

// Of a long line the beginning and the end count: what is looked at has a bound.
func TestLongEntries(t *testing.T) {
	for _, row := range compare.Table(t, "long", 3) {
		t.Run(row[0], func(t *testing.T) {
			closing := NewDocument("Sources:\n" + row[2]).EndsWithList
			compare.Equal(t, "closing", fmt.Sprint(closing), row[1])
		})
	}
}

func TestLinked(t *testing.T) {
	check(t, "linked", func(text string) string {
		body, cut := strings.CutSuffix(text, "CUT")
		var pages []string
		for _, c := range LinkedPages(body, cut) {
			pages = append(pages, strings.TrimPrefix(c.URL, "https://"))
		}
		return strings.Join(pages, " ")
	})
}

// In quadratic time these texts would exceed the time limit of go test.
func TestHostileTexts(t *testing.T) {
	compare.SkipShort(t, "reads 18 MiB")
	compare.SkipRace(t, "reading 18 MiB would take minutes")
	marks := strings.NewReplacer("BEGIN", "\ue200", "END", "\ue201", "SEP", "\ue202")
	for _, row := range compare.Table(t, "hostile", 2) {
		t.Run(row[0], func(t *testing.T) {
			text := marks.Replace(row[1])
			doc := NewDocument(Clean(text))
			_ = LinkedPages(text, true)
			got := doc.Citations(sources("https://a.example"), 3, today)
			compare.Equal(t, "citations", len(got), 1)
		})
	}
}

// The title of a page in a list is what the model has written, without Markdown around it.
func TestListTitles(t *testing.T) {
	for entry, want := range map[string]string{
		"- [How to use C#](URL)":          "How to use C#",
		`- [\_\_init\_\_.py](URL)`:        "__init__.py",
		"- [**B**](URL)":                  "B",
		`- [A \[PDF\]](URL)`:              "A [PDF]",
		"- Foo [PDF] — URL":               "Foo [PDF]",
		"- [PDF] Foo: URL":                "[PDF] Foo",
		"- Title [URL]":                   "Title",
		"- [URL](URL)":                    "",
		"- 2025-12-31 URL":                "",
		"- OECD, 2025-12-31, URL":         "",
		"1. Destatis, press release: URL": "Destatis, press release",
	} {
		t.Run(entry, func(t *testing.T) {
			list := "A.\n\nSources:\n" + strings.ReplaceAll(entry, "URL", "https://a.example/x")
			pages := NewDocument(list).DatedListPages()
			if len(pages) == 0 {
				t.Fatal("there is no page")
			}
			compare.Equal(t, "title", pages[0].Title, want)
		})
	}
}
