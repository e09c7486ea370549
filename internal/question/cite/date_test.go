package cite

import (
	"strings"
	"testing"
)

// dateOf returns the date of the citation of a page.
func dateOf(text, page string) string {
	return NewDocument(text, "oai-weather").Citations(sources(page), 3, today, today)[0].Date()
}

// dateIn returns the date that a text of dates.table gives.
func dateIn(text string) string {
	const prose = "See ([a](https://a.example/x), 2025-01-01).\n\n"
	return dateOf(strings.ReplaceAll(text, "PROSE ", prose), "https://a.example/x")
}

func TestDates(t *testing.T) {
	check(t, "dates", dateIn)
}

// Names and URLs of other forms are the sources that the list means.
func TestDateOfSource(t *testing.T) {
	check(t, "forms", func(text string) string {
		source, entry, _ := strings.Cut(text, " ")
		return dateOf("A.\n\nSources:\n"+entry, source)
	})
}

// What is looked at for a date has bounds.
func TestDateBounds(t *testing.T) {
	check(t, "date-bounds", dateIn)
}

// dateOfPath returns the date of a page that no list names.
func dateOfPath(page string) string { return dateOf("A.", page) }

func TestDateInURL(t *testing.T) {
	check(t, "paths", dateOfPath)
}

// An answer with links in its text and a dated list, and the dates of its sources.
func BenchmarkCitations(b *testing.B) {
	const text = "Go 1.26 came in February 2026 ([notes](https://go.dev/doc/go1.26)). Fixes come monthly " +
		"([policy](https://go.dev/security), 2025-02-10).\n\nSources:\n" +
		"- https://go.dev/doc/go1.26 (2025-02-10)\n- https://go.dev/security (accessed 2025-08-09)\n"
	list := sources("https://go.dev/doc/go1.26", "https://go.dev/security")
	for b.Loop() {
		NewDocument(text).Citations(list, 3, today, today)
	}
}

// The name of a month in two languages is the same month: no text says which language it is in.
func TestMonthNames(t *testing.T) {
	numbers := map[string]int{}
	for _, row := range rows(monthsTable) {
		for i, names := range row[1:] {
			for name := range strings.FieldsSeq(strings.ToLower(names)) {
				if n, known := numbers[name]; known && n != i+1 {
					t.Errorf("%s: %s is month %d, and %d of another row: leave it out", row[0], name, i+1, n)
				}
				numbers[name] = i + 1
			}
		}
	}
}
