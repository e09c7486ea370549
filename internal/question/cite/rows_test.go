package cite

import (
	"strings"
	"sync"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Each row of a table has an example in testdata, which has another result without the row. One row
// of each side has to be there: instead of a marker is one that no text has.
func TestEachRow(t *testing.T) {
	compare.SkipRace(t, "reads the examples once for each row")
	for _, tt := range []struct {
		name     string
		table    *string
		instead  string // of a row
		read     func()
		examples map[string]func(string) string // by the name of their table
	}{
		{"markers", &markersTable, "x | before | \\z.\n", func() {
			marker = sync.OnceValue(readMarker)
			markerHints = sync.OnceValue(readMarkerHints)
		}, map[string]func(string) string{"clean": Clean}},
		{"forms", &formsTable, "", func() { forms = sync.OnceValue(readForms) },
			map[string]func(string) string{"dates": dateIn, "paths": dateOfPath}},
		{"months", &monthsTable, "", func() { months = sync.OnceValue(readMonths) },
			map[string]func(string) string{"dates": dateIn}},
		{"dates", &datesTable, "", func() { dateWords = sync.OnceValue(readDateWords) },
			map[string]func(string) string{"dates": dateIn}},
	} {
		whole := *tt.table
		for line := range strings.Lines(whole) {
			if len(rows(line)) == 0 {
				continue
			}
			t.Run(tt.name+", "+line, func(t *testing.T) {
				t.Cleanup(func() {
					*tt.table = whole
					tt.read()
				})
				*tt.table = strings.Replace(whole, line, tt.instead, 1)
				tt.read()
				if !differs(t, tt.examples) {
					t.Error("no example in testdata needs the row")
				}
			})
		}
	}
}

// differs reports whether an example has another result than the one in its table.
func differs(t *testing.T, examples map[string]func(string) string) bool {
	for name, f := range examples {
		for _, r := range table(t, name) {
			if f(r.text) != r.want {
				return true
			}
		}
	}
	return false
}
