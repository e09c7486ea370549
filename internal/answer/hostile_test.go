package answer

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
)

// hostile returns texts of about n bytes that web pages could make a model write:
// each repeats what has to be looked at.
func hostile(n int) map[string]string {
	repeat := func(s string) string { return strings.Repeat(s, n/len(s)) }
	half := func(s string) string { return strings.Repeat(s, n/2/len(s)) }
	return map[string]string{
		"mentions":  "Sources:\n" + half("https://x.example 2025-01-01 https://a.example ") + half("word ") + " 2025-01-02",
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

// The text of a hostile answer is returned as it is.
func TestHostileTexts(t *testing.T) {
	for name, text := range hostile(1 << 20) {
		ans, err := compose(t, Options{}, output(message("", text+"x", "https://a.example")))
		if err != nil || !strings.HasPrefix(ans.Text, strings.TrimSpace(cite.Clean(text+"x"))) || len(ans.Citations) != 1 {
			t.Errorf("%s: %v, or another text", name, err)
		}
	}
}

// BenchmarkSources shows that the time for a text is linear: the ns/byte of one
// text stay the same from 1 KB to 1 MB.
func BenchmarkSources(b *testing.B) {
	for _, n := range []int{1 << 10, 1 << 15, 1 << 20} {
		for name, text := range hostile(n) {
			b.Run(fmt.Sprintf("%s/%dKB", strings.ReplaceAll(name, " ", "-"), n>>10), func(b *testing.B) {
				for b.Loop() {
					r := &reading{content: content{cite.Clean(text), []cite.Citation{{URL: "https://a.example"}}}, searched: true}
					if _, err := New(Options{Now: fixedNow}).compose(r); err != nil {
						b.Fatal(err)
					}
				}
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
			})
		}
	}
}
