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
	compare.Pairs(t, "render", func(t *testing.T, body, want string) {
		got := sequences().ReplaceAllString(rendered(body, 40), "")
		compare.Equal(t, "rendered", got, want)
	})
}

func TestStyles(t *testing.T) {
	short := strings.NewReplacer(
		"\x1b[0m", "</>",
		"\x1b[0;", "<",
		"\x1b]8;;\x1b\\", "}",
		"\x1b]8;;", "{",
		"\x1b\\", "|",
	)
	compare.Pairs(t, "styles", func(t *testing.T, in, want string) {
		body, err := strconv.Unquote(`"` + strings.TrimSuffix(in, "\n") + `"`)
		if err != nil {
			t.Fatal(err)
		}
		compare.Equal(t, "painted", short.Replace(rendered(body, 40)), want)
	})
}
