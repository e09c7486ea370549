package terminal

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// The rows of Markdown at a width of 40, without control sequences.
func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name string
		in   string
		want string
	}{
		{
			"prose",
			"A **bold statement**, *some italics*, ~~a mistake~~ and `go test` &amp; more.\nThe next line has 2 * 3 * 4 snake_case_words.",
			`A bold statement, some italics, a
mistake and go test & more.
The next line has 2 * 3 * 4
snake_case_words.`,
		},
		{
			"Japanese",
			"# 天気の見通し\n\n東京の天気は、**晴れ時々「曇り」**です（気温は25℃）。Go 1.26は[リリースノート](https://go.dev/doc/go1.26)によると、ガベージコレクターが改善されました。",
			`天気の見通し

東京の天気は、晴れ時々「曇り」です（気温
は25℃）。Go 1.26はリリースノート[1]によ
ると、ガベージコレクターが改善されまし
た。`,
		},
		{
			"marks that begin and end no row",
			strings.Repeat("漢", 18) + "、「字」。",
			strings.Repeat("漢", 18) + "、\n「字」。",
		},
		{
			"nested lists",
			"1. Install the program with the package manager of your system\n   - on Linux, 設定を確認して、再起動します。それから次に\n     - as root\n2. Configure it\n\n   A second paragraph of the second step.\n\n10. End",
			`1. Install the program with the package
   manager of your system
   • on Linux, 設定を確認して、再起動し
     ます。それから次に
     • as root

2. Configure it

   A second paragraph of the second
   step.

10. End`,
		},
		{
			"loose list",
			"- a\n\n- b\n\n  c",
			"• a\n\n• b\n\n  c",
		},
		{
			"list in a quote",
			"> 1. a\n>\n>    b",
			"│ 1. a\n│\n│    b",
		},
		{
			"no indentation beyond half of the terminal",
			"1. one\n   1. two\n      1. three\n         1. four\n            1. five\n               1. six\n                  1. seven\n                     1. eight and some more words to wrap",
			`1. one
   1. two
      1. three
         1. four
            1. five
               1. six
                  1. seven
                  1. eight and some more
                  words to wrap`,
		},
		{
			"quotes",
			"> A quote with **bold** words that goes on for more than forty columns.\n> > 引用の中の引用です。とても長いので折り返されます。\n\nAfter it.\n\n---\n\nThe end.",
			`│ A quote with bold words that goes on
│ for more than forty columns.
│ │ 引用の中の引用です。とても長いので折
│ │ り返されます。

After it.

────────────────────────────────────────

The end.`,
		},
		{
			"code is not wrapped",
			"Run `a code span that is longer than the forty columns`:\n\n```sh\ncurl -sS https://example.com/a/very/long/path | grep '**x**'\n\n# not a heading\n```",
			`Run
a code span that is longer than the forty columns:

curl -sS https://example.com/a/very/long/path | grep '**x**'

# not a heading`,
		},
		{
			"a long URL",
			"See https://a.example/" + strings.Repeat("path/", 10) + " and <https://b.example/x>.",
			`See
https://a.example/path/path/path/path/path/path/path/path/path/path/[1]
and https://b.example/x[2].`,
		},
		{
			"no links",
			"a[1] [x] f[i](x) [y](z.html) www.example.com",
			"a[1] [x] f[i](x) [y](z.html)\nwww.example.com",
		},
		{
			"alignment",
			"|a|bb|ccc|\n|:-|-:|:-:|\n|日本|c|d|",
			"a     bb  ccc\n────  ──  ───\n日本   c   d",
		},
		{
			"a table that is too wide",
			"| Code | 意味 |\n|-----:|:----:|\n| 404 | 見つからない、とても長い説明なので折り返されます |\n| 410 | もう存在しない<br>恒久的に |\n| 500 | |",
			`Code: 404
意味: 見つからない、とても長い説明なので
  折り返されます

Code: 410
意味: もう存在しない 恒久的に

Code: 500
意味:`,
		},
		{
			"a column without a header",
			"||b|\n|-|-|\n|1|" + strings.Repeat("漢", 20) + "|",
			"1\nb: " + strings.Repeat("漢", 18) + "\n  漢漢",
		},
		{
			"a table without rows",
			"|a|b|\n|-|-|",
			"|a|b|\n|-|-|",
		},
		{
			"rows with more cells than the header",
			"| a | b |\n|---|---|\n| x || y | z |",
			"| a | b |\n|---|---|\n| x || y | z |",
		},
		{
			"a table for which the parser panics",
			"a\n-||",
			"a\n-||",
		},
		{
			"HTML",
			"<details>\n<summary>More</summary>\n</details>\n\nH<sub>2</sub>O and 1 < 2.",
			"<details>\n<summary>More</summary>\n</details>\n\nH<sub>2</sub>O and 1 < 2.",
		},
		{
			"definitions",
			"See [the page][1].\n\n- a\n\n[1]: https://a.example/x",
			"See [the page][1].\n\n• a\n\n[1]: https://a.example/x",
		},
		{
			"footnotes",
			"a[^1] b\n\n[^1]: c [^2",
			"a[^1] b\n\n[^1]: c [^2",
		},
		{
			"spaces",
			"a\u00a0b c<BR>d<br  />e",
			"a\u00a0b c d e",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r renderer
			got := sequence.ReplaceAllString(r.render(tt.in, 40), "")
			if diff := cmp.Diff(tt.want+"\n", got); diff != "" {
				t.Errorf("rendered (-want +got):\n%s\n%s", diff, got)
			}
		})
	}
}

// The control sequences of styles and links, in short forms.
func TestStyles(t *testing.T) {
	short := strings.NewReplacer(
		"\x1b[0m", "</>",
		"\x1b[0;", "<",
		"\x1b]8;;\x1b\\", "}",
		"\x1b]8;;", "{",
		"\x1b\\", "|",
	)
	longLink := "[a](https://a.example/" + strings.Repeat("x", maxPage) + ")"

	for _, tt := range []struct {
		name string
		in   string
		want string
	}{
		{"styles", "**b** *i* ~~s~~ `c`", "<1mb</> <3mi</> <9ms</> <36mc</>"},
		{"nested styles", "***a** b*", "<3;1ma</><3m b</>"},
		{"strong before a letter", "**「強調」**は**（x）**y", "<1m「強調」</>は<1m（x）</>y"},
		{"heading", "## A *b*", "<1mA </><1;3mb</>"},
		{"block of code", "```go\n  a &lt; **b**\n\n\tc\n```", "<36m  a &lt; **b**</>\n\n<36m\tc</>"},
		{"table", "|a|b|\n|-|-|\n|c|**d**|", "<1ma</>  <1mb</>\n<2m─</>  <2m─</>\nc  <1md</>"},
		{"link", "([Go](https://go.dev/a?utm_source=openai)).", "({https://go.dev/a|<4;94mGo</><2m[1]</>})."},
		{"link of several styles", "[**a** b](https://a.example)", "{https://a.example|<4;94;1ma</><4;94m b</><2m[1]</>}"},
		{"link with a long URL", longLink, longLink},
		{"URL", "https://go.dev/x.", "{https://go.dev/x|<4;94mhttps://go.dev/x</><2m[1]</>}."},
		{
			"one page",
			"[a](https://a.example/#b) [c](https://www.a.example)",
			"{https://a.example/#b|<4;94ma</><2m[1]</>} {https://www.a.example|<4;94mc</><2m[1]</>}",
		},
		{
			"URL with other characters",
			"[a](<https://a.example/日 \u202ex>)",
			"{https://a.example/%E6%97%A5%20x|<4;94ma</><2m[1]</>}",
		},
		{
			"a link over two rows",
			"> [" + strings.Repeat("漢", 20) + "](https://a.example/)",
			"│ {https://a.example/|<4;94m" + strings.Repeat("漢", 19) + "</>}\n│ {https://a.example/|<4;94m漢</><2m[1]</>}",
		},
		{
			"a style over two rows",
			"**" + strings.Repeat("漢", 21) + "**",
			"<1m" + strings.Repeat("漢", 20) + "</>\n<1m漢</>",
		},
		{
			"control characters",
			"a\x1b[2J&#27;[2J&#x202e;b `\x1b[2J` [x](https://a.example/\x1b[2J)",
			"a[2J[2Jb <36m[2J</> {https://a.example/[2J|<4;94mx</><2m[1]</>}",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r renderer
			got := short.Replace(r.render(tt.in, 40))
			if got != tt.want+"\n" {
				t.Errorf("rendered as\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}
