package cite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestClosing(t *testing.T) {
	check(t, table(t, "closing"), func(text string) string {
		return fmt.Sprint(NewDocument(text).Closing)
	})
}

// Of a long line the beginning and the end count: what is looked at has a bound.
func TestLongEntries(t *testing.T) {
	long := strings.Repeat("x", maxEntry)
	for _, tt := range []struct {
		name, entry string
		want        bool
	}{
		{"URL", "- https://a.example/" + long + " (2025-01-02)", true},
		{"title", "- " + long + " https://a.example/ (2025-01-02)", true},
		{"both", "- " + long + " https://a.example/" + long + " (2025-01-02)", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := NewDocument("Sources:\n" + tt.entry).Closing
			compare.Equal(t, "closing", got, tt.want)
		})
	}
}

func TestLinked(t *testing.T) {
	check(t, table(t, "linked"), func(text string) string {
		body, cut := strings.CutSuffix(text, "CUT")
		var pages []string
		for _, c := range Linked(body, cut) {
			pages = append(pages, strings.TrimPrefix(c.URL, "https://"))
		}
		return strings.Join(pages, " ")
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
		"words":     repeat("x citeturn0search0turn1 "),
		"letters":   "citeturn1" + repeat("a"),
		"images":    repeat("!["),
		"spans":     repeat("`citeturn0search0 "),
		"bracketed": repeat("[citeturn0search0,"),
		"separated": "[" + repeat("\ue200[\ue201,"),
		"emoji":     repeat("📚") + "x",
		"code":      repeat("![`a` "),
	}
}

// In quadratic time these texts would exceed the time limit of go test, at 1 MB each.
func TestHostileTexts(t *testing.T) {
	compare.SkipShort(t, "reads 18 MiB")
	for name, text := range hostile(1 << 20) {
		t.Run(name, func(t *testing.T) {
			doc := NewDocument(Clean(text))
			_ = Linked(text, true)
			got := doc.Citations(sources("https://a.example"), 3, today)
			compare.Equal(t, "citations", len(got), 1)
		})
	}
}
