package cite

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// noDate is what dateOf returns for the date of access.
const noDate = "accessed " + today

// dateOf returns the date of the citation of a page.
func dateOf(text, page string) string {
	var dates []string
	for _, c := range NewDocument(text, "oai-weather").Citations(sources(page), 3, today) {
		if c.Accessed {
			c.PublishedAt = "accessed " + c.PublishedAt
		}

		dates = append(dates, c.PublishedAt)
	}
	return strings.Join(dates, ", ")
}

func TestDates(t *testing.T) {
	const prose = "See ([a](https://a.example/x), 2025-01-01).\n\n"
	check(t, table(t, "dates"), func(text string) string {
		return dateOf(strings.ReplaceAll(text, "PROSE ", prose), "https://a.example/x")
	})
}

// Names and URLs of other forms are the sources that the list means.
func TestDateOfSource(t *testing.T) {
	for source, entry := range map[string]string{
		"oai-weather":                 "- oai-weather (2025-02-10)",
		"https://a.example/?a&b":      "- https://a.example/?a&amp;b (2025-02-10)",
		"https://a.example/%E6%9D%B1": "- https://a.example/東 (2025-02-10)",
		"https://a.example/Go_(it)":   "- [Go](https://a.example/Go_(it)) (2025-02-10)",

		// The date of the path counts if the list has none that has come.
		"https://a.example/2025/01/02/": "- https://a.example/2025/01/02/ (2025-02-10)",
		"https://a.example/2025/02/10/": "- https://a.example/2025/02/10/ (2026-02-10)",
	} {
		t.Run(source, func(t *testing.T) {
			got := dateOf("A.\n\nSources:\n"+entry, source)

			compare.Equal(t, "date in "+entry, got, "2025-02-10")
		})
	}
}

func TestDateBounds(t *testing.T) {
	const entry = "- https://a.example/x (2025-02-10)"

	for text, want := range map[string]string{
		"Sources:\n" + entry + strings.Repeat(" ", 1<<20) + "End.":                    noDate,
		strings.Repeat("https://b.example/ ", 1000) + "\n" + entry:                    noDate,
		"Sources:\n- https://a.example/x " + strings.Repeat("x", 500) + " 2025-02-10": noDate,
	} {
		t.Run(text[len(text)-10:], func(t *testing.T) {
			compare.Equal(t, "date", dateOf(text, "https://a.example/x"), want)
		})
	}
}

func TestDateInURL(t *testing.T) {
	for page, want := range map[string]string{
		"https://a.example/2025/02/10/x":                      "2025-02-10",
		"https://a.example/2025/2/1/":                         "2025-02-01",
		"https://a.example/news/2025-02-10-x":                 "2025-02-10",
		"https://a.example/2025/02/10-x":                      "2025-02-10",
		"https://a.example/2025-02/10/x":                      "2025-02-10",
		"https://a.example/2025年2月10日/":                       "2025-02-10",
		"https://a.example/2025.2.1/2025/02/10/":              "2025-02-10",
		"https://a.example/releases/tag/2025.7.1":             noDate,
		"https://a.example/releases/tag/v2025.07.01":          noDate,
		"https://a.example/idea-2025-1-3/":                    noDate,
		"https://a.example/20250210/k100.html":                noDate,
		"https://a.example/2025_02_10/":                       noDate,
		"https://a.example/2025/0210/":                        noDate,
		"https://a.example/2025/02/x":                         noDate,
		"https://a.example/?d=2025-02-10":                     noDate,
		"https://2025-02-10.example/a#2025-02-10":             noDate,
		"https://a.example/cve-2025-49826/202502101/20259999": noDate,
		"https://a.example/2026/02/10/":                       noDate,
	} {
		t.Run(page, func(t *testing.T) {
			compare.Equal(t, "date", dateOf("A.", page), want)
		})
	}
}
