package answer

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestText(t *testing.T) {
	compare.Each(t, "text", 4, func(t *testing.T, row []string) {
		body := completed(items(row[2])...)
		if row[1] != "" {
			body = incomplete(strings.Trim(row[1], "-"), items(row[2])...)
		}
		compare.Equal(t, "text", ask(t, body).Text, pages.Replace(row[3]))
	})
}

// The URL of a page makes no link in the list. The citation has it as it is, and a list of the
// model gives its date in both forms.
func TestListedURL(t *testing.T) {
	compare.Each(t, "listed", 3, func(t *testing.T, row []string) {
		text := "x\n\nSources:\n- " + row[2] + " (2025-01-02)\n- and others"
		ans := ask(t, completed(search(), message("", text, row[1])))

		want := text + "\n\nSources:\n- " + row[2] + " (2025-01-02)"
		compare.Equal(t, "text", ans.Text, want)
		compare.Equal(t, "citation", ans.Citations[0].URL, row[1])
	})
}
