package server

import (
	"flag"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

var update = flag.Bool("update", false, "write the arguments of the tools into the READMEs")

// The READMEs list the arguments of each tool.
func TestReadme(t *testing.T) {
	for _, file := range []string{"../../README.md", "../../README.ja.md"} {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		text := string(b)

		for _, tool := range append(slices.Clone(Table.Tools), Table.Late) {
			t.Run(file+" "+tool.Name, func(t *testing.T) {
				var names []string
				for _, a := range Table.Arguments {
					if slices.Contains(a.Tools, tool.Name) {
						names = append(names, "`"+a.Name+"`")
					}
				}
				row := regexp.MustCompile(`(?m)^(\| .` + tool.Name + `. \| .* \| ).*( \|)$`)
				want := "${1}" + strings.Join(names, ", ") + "${2}"
				if !row.MatchString(text) {
					t.Fatal("there is no row")
				}
				if *update {
					text = row.ReplaceAllString(text, want)
				}
				got := row.FindString(text)
				compare.Equal(t, "row", got, row.ReplaceAllString(got, want))
			})
		}
		if *update {
			err = os.WriteFile(file, []byte(text), 0o644)
			if err != nil {
				t.Fatal(err)
			}
		}
	}
}
