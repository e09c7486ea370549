package compare

import (
	"os"
	"strings"
	"testing"
)

// Table returns the rows of a table in testdata. " | " separates its columns, and the last one has
// the rest of the line. "#" begins a comment. \r and \n stand for line ends, BOM for a byte order mark,
// and EMPTY for nothing.
func Table(t testing.TB, name string, columns int) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name + ".table")
	if err != nil {
		t.Fatal(err)
	}

	values := strings.NewReplacer(
		`\r`, "\r",
		`\n`, "\n",
		"BOM", "\ufeff",
		"EMPTY", "",
	)
	for line := range strings.SplitSeq(string(text), "\n") {
		line = strings.TrimSuffix(line, "\r") // of a checkout on Windows
		if line != "" && line[0] != '#' {
			rows = append(rows, strings.SplitN(values.Replace(line), " | ", columns))
		}
	}
	return rows
}
