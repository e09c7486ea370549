package cite

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// closing checks whether texts end with a list of sources.
func closing(t *testing.T, want bool, texts map[string]string) {
	checkAll(t, want, texts, func(text string) bool { return NewDocument(text).Closing })
}

func TestClosing(t *testing.T) {
	closing(t, true, map[string]string{
		"ours":        "A.\n\nSources:\n- https://b.example/ (2025-01-02)\n- oai-b (2025-01-02)",
		"only a list": "Sources:\n- https://b.example/ (2025-01-02)",
		"two lists":   "A.\n\nSources:\n- b\n\n出典:\n- oai-c (2025-01-02)",
		"CRLF":        "A.\r\n\r\nSources:\r\n- oai-b (2025-01-02)",

		"Markdown heading": "A.\n\n## Sources\n\n1. [B](https://b.example/) — 2025-01-02",
		"bold":             "A.\n**Sources**\n• oai-b (2025-01-02)",
		"bold with colon":  "A.\n**Sources:**\n- oai-b (2025-01-02)",
		"colon after bold": "A.\n\n__References__:\n- oai-b (2025-01-02)",
		"bold heading":     "A.\n\n### **出典**\n- oai-b (2025-01-02)",
		"capitals":         "A.\n\nSOURCES\n- oai-b (2025-01-02)",
		"Japanese":         "A。\n\n出典\n・jma-feed（2025-01-02）",
		"full-width colon": "A。\n\n参考：\n- https://b.example/（2025-01-02）",
		"情報源":              "A。\n\n情報源:\n- [B](https://b.example/)（公開日: 2025-01-02）",

		"identifiers":     "A.\n\nSources:\n- oai-x 2025-01-02\n* `oai-y`: 2025-03-04",
		"no bullets":      "A.\n\nSources:\nhttps://b.example/ (2025-01-02)\noai-c (2025-01-02)",
		"title and URL":   "A.\n\nSources:\n- B, a page: https://b.example/ (2025-01-02)",
		"footnotes":       "A.[1]\n\nReferences\n[1] https://b.example/ (2025-01-02)",
		"date in the URL": "A.\n\nSources:\n- https://b.example/2025-03-04/x — 2025-03-04",
		"full stop":       "A.\n\nSources:\n- https://b.example/ (2025-01-02).",
		"name, no date":   "A.\n\nSources:\n- https://b.example/ (2025-01-02)\n- oai-weather",
		"URL, no date":    "A.\n\nSources:\n- https://b.example/\n- oai-c (2025-01-02)",
		"link, no date":   "A.\n\nSources\n1. [B](https://b.example/)\n2. oai-c (2025-01-02)",
		"title, no date":  "A.\n\nSources:\n- B: https://b.example/, a page\n- oai-c (2025-01-02)",
		"no date, said":   "A.\n\n出典:\nhttps://b.example/（日付なし）\noai-c (2025-01-02)",

		"time zone": "A.\n\nSources:\n- https://b.example/ (2025-01-02 JST)",
	})
}

func TestNotClosing(t *testing.T) {
	closing(t, false, map[string]string{
		"no list":         "A.",
		"heading alone":   "A.\n\nSources:",
		"another heading": "A.\n\nSources used:\n- https://b.example/ (2025-01-02)",
		"dated heading":   "A.\n\nSources (retrieved 2025-08-09):\n- https://b.example/",
		"on one line":     "A.\n\nSources: https://b.example/ (2025-01-02)",

		"in the middle": "## Sources\n- of error\n\nThere are three.",
		"an item":       "Kinds:\n- sinks\n- sources",
		"in prose":      "A。\n参考: 値は概算です。",
		"link below": "A.\n\nSources:\n- https://b.example/ (2025-01-02)\n\n" +
			"See https://c.example/ for more.",
		"remark below": "A.\n\nSources:\n- https://b.example/ (2025-01-02)\n\nAsk for more.",

		"entries without date":    "A.\n\nSources:\n- https://b.example/\n- oai-c",
		"one entry is a word":     "A.\n\nSources:\n- oai-b (2025-01-02)\n- c",
		"date in the second line": "A.\n\nSources:\n1. B\n   https://b.example/ (2025-01-02)",
		"date only in the URL":    "A.\n\nSources:\n- https://b.example/2025-01-02",
		"no such day":             "A.\n\nSources:\n- oai-b (2025-13-45)",
		"date in words":           "A.\n\n出典:\n- oai-b (2025年1月2日)",
		"a word":                  "A.\n\nSources:\n- JMA (2025-01-02)",
		"title without spaces":    "A。\n\n出典：\n・気象庁「予報」（2025-01-02）",
		"names":                   "A.\n\nSources:\n- The agency, a report (2025-01-02)",
		"a host":                  "A.\n\nSources:\n- b.example/p (2025-01-02)",
		"footnote without page":   "A.\n\nSources:\n- [1] (2025-01-02)",
		"table":                   "A.\n\nSources:\n| B | https://b.example/ | 2025-01-02 |",
		"long line": "A.\n\nSources:\n- " + strings.Repeat("x", 4<<10) +
			" https://b.example/ (2025-01-02)",
	})
}

// hostile returns texts of about n bytes that web pages could make a model write:
// each repeats what has to be looked at.
func hostile(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	half := func(s string) string { return strings.Repeat(s, n/2/len(s)) }
	const two = "https://x.example 2025-01-01 https://a.example "

	return map[string]string{
		"mentions":  "Sources:\n" + half(two) + half("word ") + " 2025-01-02",
		"links":     "Sources:\n" + repeat("https://a.example/x "),
		"lines":     "Sources:\n" + repeat("https://a.example\n"),
		"headings":  repeat("Sources:\n"),
		"entries":   "Sources:\n" + repeat("- https://b.example/ (2025-01-01)\n\n"),
		"dates":     "Sources:\n" + repeat("https://a.example dec 20x "),
		"brackets":  repeat("https://x("),
		"line ends": repeat("a\n"),
		"markers":   repeat("\ue200cite\ue202"),
		"stars":     repeat("*"),
	}
}

// In quadratic time these texts would exceed the time limit of go test, at 1 MB each.
func TestHostileTexts(t *testing.T) {
	for name, text := range hostile(1 << 20) {
		t.Run(name, func(t *testing.T) {
			doc := NewDocument(Clean(text))
			got := doc.Citations(sources("https://a.example"), 3, today)
			compare.Equal(t, "citations", len(got), 1)
		})
	}
}
