package config

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestBadFile(t *testing.T) {
	words := strings.NewReplacer("LATIN1", "\xf6", "BELL", "\a")
	compare.Pairs(t, "bad", func(t *testing.T, in, want string) {
		_, _, err := Load(write(t, words.Replace(in)), nil)

		compare.Equal(t, "Load()", fmt.Sprintln(err), want)
	})
}

// A file with many problems ends the start at once, with the first of them and how many more there
// are. The reference page says how many are listed.
func TestManyProblems(t *testing.T) {
	page := read(t, referenceFile)
	const many = 50_000
	var content strings.Builder
	for i := range many {
		fmt.Fprintf(&content, "unknown_%d: 1\n", i)
	}

	_, _, err := Load(write(t, content.String()), nil)
	lines := strings.Split(fmt.Sprint(err), "\n")

	compare.Equal(t, "the first problem", lines[0], "c/config.yaml:1: unknown_0: unknown key")
	compare.Equal(t, "the number of lines", len(lines), maxProblems+1)
	want := fmt.Sprintf("c/config.yaml: and %d more problems", many-maxProblems)
	compare.Equal(t, "the last line", lines[len(lines)-1], want)

	compare.Contains(t, "the page", page, fmt.Sprintf("at most %d problems", maxProblems))
}

// Package env names only the Go field of a value that it cannot parse. Other variables are not
// blamed.
func TestEachVariable(t *testing.T) {
	numbers := []string{"OPENAI_API_TIMEOUT=5", "OPENAI_MAX_RETRIES=5", "MAX_CITATIONS=5",
		"REQUERY_ATTEMPTS=5", "SEARCH_RECENCY_DAYS=5", "SEARCH_MAX_RESULTS=5",
		"ANSWER_WITHIN_MS=5000"}

	for _, f := range newLoader(nil).fields {
		if f.variable == "" || f.key == "server.debug" { // a bad value of DEBUG is a warning
			continue
		}
		t.Run(f.variable, func(t *testing.T) {
			_, _, err := Load(Flags{}, append(numbers, f.variable+`='a b'`))

			want := f.variable + ": " + f.key + `: "'a b'" is not ` + describeAllowed(f)
			compare.Equal(t, "Load()", fmt.Sprint(err), want)
		})
	}
}
