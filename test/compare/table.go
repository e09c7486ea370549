package compare

import (
	"fmt"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

var repeated = regexp.MustCompile(`(?s)«(\d+) (.*?)»`)

// Repeat replaces each «3 x» of a text by xxx.
func Repeat(text string) string {
	return repeated.ReplaceAllStringFunc(text, func(s string) string {
		parts := repeated.FindStringSubmatch(s)
		n, _ := strconv.Atoi(parts[1])
		return strings.Repeat(parts[2], n)
	})
}

// Table returns the rows of a table in testdata. " | " separates its columns, and the last one has
// the rest of the line. "#" begins a comment. \r and \n stand for line ends, BOM for a byte order
// mark, EMPTY for nothing, and «3 x» for xxx.
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
			rows = append(rows, strings.SplitN(Repeat(values.Replace(line)), " | ", columns))
		}
	}
	return rows
}

// Pairs runs a subtest for each two files of an archive: an input, whose name it has, and what
// becomes of it.
func Pairs(t *testing.T, archive string, test func(t *testing.T, in, want string)) {
	t.Helper()
	a, err := txtar.ParseFile("testdata/" + archive + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for pair := range slices.Chunk(a.Files, 2) {
		t.Run(pair[0].Name, func(t *testing.T) {
			test(t, string(pair[0].Data), string(pair[1].Data))
		})
	}
}

// Rows returns the rows of a table as values of T: a struct whose fields, in the order of the
// columns, are texts, numbers, booleans and durations.
func Rows[T any](t testing.TB, name string) (rows []T) {
	t.Helper()
	var row T
	fields := reflect.ValueOf(&row).Elem()
	for _, words := range Table(t, name, fields.NumField()) {
		if len(words) != fields.NumField() {
			t.Fatalf("%s.table: want %d columns: %q", name, fields.NumField(), words)
		}
		for i, word := range words {
			var err error
			switch field := fields.Field(i).Addr().Interface().(type) {
			case *string:
				*field = word
			case *time.Duration:
				*field, err = time.ParseDuration(word)
			default:
				_, err = fmt.Sscan(word, field)
			}
			if err != nil {
				t.Fatalf("%s.table: reading %q: %v", name, word, err)
			}
		}
		rows = append(rows, row)
	}
	return rows
}

// Each runs a subtest for each row of a table, with the name in the first column.
func Each(t *testing.T, table string, columns int, test func(t *testing.T, row []string)) {
	t.Helper()
	for _, row := range Table(t, table, columns) {
		t.Run(row[0], func(t *testing.T) { test(t, row) })
	}
}
