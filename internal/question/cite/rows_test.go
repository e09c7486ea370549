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
		name    string
		table   *string
		instead string // of a row
	}{
		{"markers", &markersTable, "x | before | \\z.\n"},
		{"forms", &formsTable, ""},
		{"months", &monthsTable, ""},
		{"dates", &datesTable, ""},
		{"headings", &headingsTable, ""},
	} {
		whole := *tt.table
		for line := range strings.Lines(whole) {
			if len(rows(line)) == 0 {
				continue
			}
			t.Run(tt.name+", "+line, func(t *testing.T) {
				t.Cleanup(func() {
					*tt.table = whole
					readTables()
				})
				*tt.table = strings.Replace(whole, line, tt.instead, 1)
				readTables()
				if !differs(t) {
					t.Error("no example in testdata needs the row")
				}
			})
		}
	}
}

// readTables makes all tables be read again.
func readTables() {
	marker = sync.OnceValue(readMarker)
	markerLiterals = sync.OnceValue(readMarkerLiterals)
	forms = sync.OnceValue(readForms)
	months = sync.OnceValue(readMonths)
	dateWords = sync.OnceValue(readDateWords)
	betweenDays = sync.OnceValue(readBetweenDays)
	heading = sync.OnceValue(readHeading)
}

// differs reports whether an example has another result than the one in its table.
func differs(t *testing.T) bool {
	for name, f := range map[string]func(string) string{
		"clean":   Clean,
		"dates":   dateIn,
		"paths":   dateOfPath,
		"closing": endsWithDatedList,
	} {
		for _, r := range table(t, name) {
			if f(r.text) != r.want {
				return true
			}
		}
	}
	return false
}
