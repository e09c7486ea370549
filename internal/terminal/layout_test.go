package terminal

import (
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

// styles compares Markdown, and how it is painted at a width of 40, with control sequences in short
// forms.
func styles(t *testing.T, rows map[string]string) {
	t.Helper()
	short := strings.NewReplacer(
		"\x1b[0m", "</>",
		"\x1b[0;", "<",
		"\x1b]8;;\x1b\\", "}",
		"\x1b]8;;", "{",
		"\x1b\\", "|",
	)

	for in, want := range rows {
		t.Run(in, func(t *testing.T) {
			got := short.Replace(rendered(in, 40))

			compare.Equal(t, "rendered", got, want+"\n")
		})
	}
}

func TestStyles(t *testing.T) {
	styles(t, map[string]string{
		"**b** *i* ~~s~~ `c`":     "<1mb</> <3mi</> <9ms</> <36mc</>",
		"***a** b*":               "<3;1ma<3m b</>",
		"**「強調」**は**（x）**y":       "<1m「強調」</>は<1m（x）</>y",
		"# A\n## B *c*\n":         "<1;4mA</>\n<1mB <1;3mc</>",
		"### D\n#### E":           "<4mD</>\n<4mE</>",
		"|a|b|\n|-|-|\n|c|**d**|": "<1ma</>  <1mb</>\n<2m─  ─</>\nc  <1md</>",

		"```go\n  a &lt; **b**\n\n\tc\n```": "    <36m  a &lt; **b**</>\n\n    <36m\tc</>",

		// Over two rows.
		"**" + strings.Repeat("漢", 21) + "**": "<1m" + strings.Repeat("漢", 20) + "</>\n<1m漢</>",
	})
}

func TestLinks(t *testing.T) {
	styles(t, map[string]string{
		"([Go](https://go.dev?utm_source=openai)).": "({https://go.dev|<4;94mGo<2m[1]}</>).",
		"https://go.dev/x.":                         "{https://go.dev/x|<4;94mhttps://go.dev/x<2m[1]}</>.",

		"[https://b.example](https://a.example)": "{https://a.example|<4;94mhttps://b.example<2m[1]}</>",
		"[**a** b](https://a.example)":           "{https://a.example|<4;94;1ma<4;94m b<2m[1]}</>",

		// One page.
		"[a](https://a.example/#b) [c](https://www.a.example)": "{https://a.example/#b|" +
			"<4;94ma<2m[1]}</> {https://www.a.example|<4;94mc<2m[1]}</>",

		// Other characters and scripts.
		"[a](<https://a.example/日 \u202ex>)": "{https://a.example/%E6%97%A5%20x|" +
			"<4;94ma<2m[1]}</>",
		"[a](https://аррӏе.com/ф) https://日本語.jp:8443/x": "{https://xn--80ak6aa92e.com/%D1%84|" +
			"<4;94ma<2m[1]}</> {https://xn--wgv71a119e.jp:8443/x|" +
			"<4;94mhttps://日本語.jp:8443/x<2m[2]}</>",

		// Over two rows.
		"> [" + strings.Repeat("漢", 20) + "](https://a.example/)": "│ {https://a.example/|<4;94m" +
			strings.Repeat("漢", 19) + "}</>\n│ {https://a.example/|<4;94m漢<2m[1]}</>",

		"a\x1b[2J&#27;[2J&#x202e;b `\x1b[2J` [x](https://a.example/\x1b[2J)": "a[2J[2Jb " +
			"<36m[2J</> {https://a.example/[2J|<4;94mx<2m[1]}</>",
	})
}
