package cite

import (
	"fmt"
	"runtime"
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

// In quadratic time these texts would exceed the time limit of go test. The bound of memory is for
// all that is allocated, also if it is freed.
func TestHostileTexts(t *testing.T) {
	compare.SkipShort(t, "reads 30 MiB")
	compare.SkipRace(t, "reading 30 MiB would take minutes")
	marks := strings.NewReplacer("BEGIN", "\ue200", "END", "\ue201", "SEP", "\ue202")
	for _, row := range compare.Table(t, "hostile", 2) {
		t.Run(row[0], func(t *testing.T) {
			text := marks.Replace(row[1])
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			doc := NewDocument(Clean(text))
			_ = LinkedPages(text, true)
			got := doc.Citations(sources("https://a.example"), 3, today, today)
			runtime.ReadMemStats(&after)
			compare.Equal(t, "citations", len(got), 1)
			if mib := (after.TotalAlloc - before.TotalAlloc) >> 20; mib > 100 {
				t.Errorf("%d MiB are allocated, want at most 100", mib)
			}
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
