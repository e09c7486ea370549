package terminal

import (
	"strconv"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// rendered returns the rows of Markdown.
func rendered(body string, width int) string {
	var out strings.Builder
	newTestScreen(&out, nil, width).showMarkdown(body)
	return out.String()
}

func TestRender(t *testing.T) {
	forEach(t, "testdata/render.txtar", func(t *testing.T, body, want string) {
		got := sequences.ReplaceAllString(rendered(body, 40), "")
		compare.Equal(t, "rendered", got, want)
	})
}

// What the parser would drop is shown as it is.
func TestAsIs(t *testing.T) {
	for _, block := range []string{
		"|a|b|\n|-|-|",
		"| a | b |\n|---|---|\n| x || y | z |",
		"a\n-||", // the parser panics
		"<details>\n<summary>More</summary>\n</details>\n\nH<sub>2</sub>O and 1 < 2.",
		"See [the page][1].\n\n1. a\n\n[1]: https://a.example/x",
		"a[^1] b\n\n[^1]: c [^2",
	} {
		t.Run(block, func(t *testing.T) {
			compare.Equal(t, "rendered", rendered(block, 40), block+"\n")
		})
	}
}

func TestStyles(t *testing.T) {
	short := strings.NewReplacer(
		"\x1b[0m", "</>",
		"\x1b[0;", "<",
		"\x1b]8;;\x1b\\", "}",
		"\x1b]8;;", "{",
		"\x1b\\", "|",
	)
	forEach(t, "testdata/styles.txtar", func(t *testing.T, in, want string) {
		body, err := strconv.Unquote(`"` + strings.TrimSuffix(in, "\n") + `"`)
		if err != nil {
			t.Fatal(err)
		}
		compare.Equal(t, "painted", short.Replace(rendered(body, 40)), want)
	})
}
