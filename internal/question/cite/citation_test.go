package cite

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const today = "2025-08-09"

// sources returns citations of these pages and names.
func sources(urls ...string) []Citation {
	var list []Citation
	for _, u := range urls {
		list = append(list, Citation{URL: u})
	}
	return list
}

// row is a text, its name, and what a function returns for it.
type row struct{ name, want, text string }

// table returns the rows of a table in testdata. A row without a text has it as its name. «3 x»
// stands for xxx.
func table(t *testing.T, name string) (rows []row) {
	t.Helper()
	data, err := os.ReadFile("testdata/" + name + ".table")
	if err != nil {
		t.Fatal(err)
	}

	for line := range strings.SplitSeq(string(data), "\n") {
		line, err := strconv.Unquote(`"` + compare.Repeat(line) + `"`)
		if err != nil {
			t.Fatal(err)
		}

		columns := strings.SplitN(line, " | ", 3)
		if len(columns) > 1 {
			columns = append(columns, columns[0]) // the text of a row without one
			rows = append(rows, row{columns[0], columns[1], columns[2]})
		}
	}
	return rows
}

// check checks what a function returns for the rows of a table.
func check(t *testing.T, name string, f func(string) string) {
	t.Helper()
	for _, r := range table(t, name) {
		t.Run(r.name, func(t *testing.T) {
			compare.Equal(t, r.text, f(r.text), r.want)
		})
	}
}

// The cut keeps pages of the text before others, and has places for names and pages.
func TestCitationsLimit(t *testing.T) {
	check(t, "limit", func(row string) string {
		parts := strings.Split(row, "; ")
		most, _ := strconv.Atoi(parts[0])
		list := sources(strings.Fields(parts[1])...)
		var got []string
		for _, c := range NewDocument(parts[2]).Citations(list, most, today, today) {
			got = append(got, c.URL)
		}
		return strings.Join(got, " ")
	})
}
