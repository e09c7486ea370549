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

// dates checks that texts give a page this date. Each text begins with start.
func dates(t *testing.T, want, start string, texts map[string]string) {
	checkAll(t, want, texts, func(text string) string {
		return dateOf(start+text, "https://a.example/x")
	})
}

// The list has the date, and the prose above it another one.
func TestDateInList(t *testing.T) {
	dates(t, "2025-02-10", "See ([a](https://a.example/x), 2025-01-01).\n\n", map[string]string{
		"ours":          "Sources:\n- https://a.example/x (2025-02-10)",
		"link":          "## Sources\n1. [A 2024-01-01](https://a.example/x) (2025-02-10)",
		"URL as text":   "Sources:\n- [https://a.example/x](https://a.example/x) (2025-02-10)",
		"dash":          "**Sources**\n* https://a.example/x — 2025-02-10",
		"Japanese":      "出典：\n・https://a.example/x（2025-02-10）",
		"words between": "Sources:\n- https://a.example/x, of 2025-02-10, read 2025-08-09",
		"words after":   "参考\n- https://a.example/x（2025年2月10日公開）公式",
		"no space":      "Sources:\n- https://a.example/x(2025-02-10)",
		"time zone":     "Sources:\n- https://a.example/x (2025-02-10 JST)",
		"two entries":   "Sources:\n- https://a.example/x 2025-01-10\n- https://a.example/x 2025-02-10",
		"remark below":  "Sources:\n- https://a.example/x (2025-02-10)\n\nAsk for more.",

		// Forms of dates.
		"Japanese date":      "参考\n- [A](https://a.example/x)（2025年2月10日）",
		"slashes":            "情報源:\n- https://a.example/x (2025/2/10)",
		"dots":               "Sources:\n- https://a.example/x (2025.02.10)",
		"other hyphens":      "Sources:\n- https://a.example/x (2025‑02‑10)",
		"English":            "Sources:\n- https://a.example/x (February 10, 2025)",
		"English, day first": "Sources:\n- https://a.example/x (10 Feb 2025)",
		"ordinal":            "Sources:\n- https://a.example/x (February 10th, 2025)",
		"no comma":           "Sources:\n- https://a.example/x (Feb 10 2025)",

		// Forms of the URL.
		"tracker":        "References\n- https://a.example/x?utm_source=openai (2025-02-10)",
		"http and slash": "Sources:\n- http://A.example/x/ (2025-02-10)",

		// Places of the date.
		"date first":         "Sources:\n- Title, 2025-02-10, https://a.example/x",
		"dates first":        "Sources:\n- 2025-02-10 https://a.example/x 2025-03-11 https://b/",
		"date in the link":   "Sources:\n- [Title (2025-02-10)](https://a.example/x)",
		"below a blank line": "Sources:\n\nTitle (2025-02-10)\nhttps://a.example/x",
		"line above":         "Sources:\n- Title (2025-02-10)\n  https://a.example/x",
		"line below": "Sources:\n- https://a.example/x\n  Published: 2025-02-10\n" +
			"- https://b.example/\n  2025-03-11",
		"before a note": "Sources:\n- https://a.example/x (2025-02-10)\n\n" +
			"Note: the 2025-05-05 vote ([a](https://a.example/x)) is open.",
	})
}

func TestDateInProse(t *testing.T) {
	dates(t, "2025-02-10", "", map[string]string{
		"another list": "Sources used:\n- https://a.example/x (2025-02-10)",
		"on one line":  "Sources: https://b/ (2025-01-01), https://a.example/x (2025-02-10)",
		"updated":      "Released ([a](https://a.example/x), updated 2025-02-10).",
		"Japanese":     "公開済み（[a](https://a.example/x)、公開（2025-02-10））。",
	})

	dates(t, today, "", map[string]string{
		"today": "https://a.example/x (" + today + ")",
	})

	dates(t, noDate, "", map[string]string{
		"next sentence": "See https://a.example/x. 2025-02-10 was wet.",
		"of the text":   "It ended ([a](https://a.example/x)) on 2025-02-10.",
		"period":        "Used ([a](https://a.example/x)) from 2021-08-14 to 2025-02-10.",
		"table":         "| 11 | [a](https://a.example/x) | 2025-02-10 |",
	})
}

func TestNoDateInList(t *testing.T) {
	dates(t, noDate, "A.\n\nSources:\n", map[string]string{
		"none":                       "- https://a.example/x",
		"future":                     "- https://a.example/x (2025-08-10)",
		"no such day":                "- https://a.example/x (2025-02-30)",
		"another page":               "- https://a.example/xy (2025-02-10)",
		"next entry's date":          "- https://a.example/x\n- https://b.example/ (2025-02-10)",
		"another entry's date above": "- A report (2025-02-10)\n- https://a.example/x",
		"date of the page above":     "- https://b.example/ (2025-02-10)\n  https://a.example/x",
		"date of the page before":    "- 2025-02-10 https://b.example/ and https://a.example/x",
		"date of the page after":     "- https://a.example/x and https://b.example/ (2025-02-10)",
		"another entry's date below": "- https://b.example/\n  2025-02-10\n- https://a.example/x",
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
	blankLines := strings.Repeat("\n", 1000-10)

	dates(t, noDate, "", map[string]string{
		"text":  "Sources:\n" + entry + strings.Repeat(" ", 1<<20) + "End.",
		"links": strings.Repeat("https://b.example/ ", 1000) + "\n" + entry,
		"far":   "Sources:\n- https://a.example/x " + strings.Repeat("x", 500) + " 2025-02-10",
		"lines of a list": "Sources:" + blankLines + strings.Repeat("\n", 11) +
			"- https://a.example/x x\n2025-02-10\n\nEnd.",
	})

	dates(t, "2025-02-10", "Sources:", map[string]string{
		"within the lines": blankLines + "\n" + entry + "\n\nEnd.",
	})
}

func dateInURL(page string) string { return dateOf("A.", page) }

func TestDateInURL(t *testing.T) {
	check(t, dateInURL, map[string]string{
		"https://a.example/2025/02/10/x":                      "2025-02-10",
		"https://a.example/2025/2/1/":                         "2025-02-01",
		"https://a.example/news/2025-02-10-x":                 "2025-02-10",
		"https://a.example/20250210/k100.html":                "2025-02-10",
		"https://a.example/2025/02/x":                         noDate,
		"https://a.example/?d=2025-02-10":                     noDate,
		"https://2025-02-10.example/a#2025-02-10":             noDate,
		"https://a.example/cve-2025-49826/202502101/20259999": noDate,
		"https://a.example/2026/02/10/":                       noDate,
	})
}
