package cite

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestEndsWithDatedList(t *testing.T) { check(t, "closing", endsWithDatedList) }

func endsWithDatedList(text string) string {
	return fmt.Sprint(NewDocument(text).EndsWithDatedList)
}

func TestLinkedPages(t *testing.T) {
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
	check(t, "titles", func(entry string) string {
		pages := NewDocument("A.\n\nSources:\n" + entry).DatedListPages()
		return pages[0].Title
	})
}
