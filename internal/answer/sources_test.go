package answer

import (
	"strings"
	"testing"
)

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
		{"a long line", "A.\n\nSources:\n- " + strings.Repeat("x", maxEntry) + " https://b.example/ (2025-01-02)", false},
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
