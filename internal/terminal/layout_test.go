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

// renders compares Markdown, and its rows at a width of 40 without control sequences.
func renders(t *testing.T, rows map[string][2]string) {
	t.Helper()

	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			got := sequences.ReplaceAllString(rendered(row[0], 40), "")

			compare.Equal(t, "rendered", got, row[1]+"\n")
		})
	}
}

func TestProse(t *testing.T) {
	renders(t, map[string][2]string{
		"prose": {
			"A **bold statement**, *some italics*, ~~a mistake~~ and `go test` &amp; more.\nThe next line has 2 * 3 * 4 snake_case_words.",
			`A bold statement, some italics, a
mistake and go test & more.
The next line has 2 * 3 * 4
snake_case_words.`,
		},

		"Japanese": {
			"# 天気の見通し\n\n東京の天気は、**晴れ時々「曇り」**です（気温は25℃）。Go 1.26は[リリースノート](https://go.dev/doc/go1.26)によると、ガベージコレクターが改善されました。",
			`天気の見通し

東京の天気は、晴れ時々「曇り」です（気温
は25℃）。Go 1.26はリリースノート[1]によ
ると、ガベージコレクターが改善されまし
た。`,
		},

		"marks that begin and end no row": {
			strings.Repeat("漢", 18) + "、「字」。",
			strings.Repeat("漢", 18) + "、\n「字」。",
		},

		"a long URL": {
			"See https://a.example/" + strings.Repeat("path/", 10) + " and <https://b.example/x>.",
			`See
https://a.example/path/path/path/path/path/path/path/path/path/path/[1]
and https://b.example/x[2].`,
		},

		"no links": {
			"a[1] [x] f[i](x) [y](z.html) www.example.com",
			"a[1] [x] f[i](x) [y](z.html)\nwww.example.com",
		},

		"spaces": {
			"a\u00a0b c<BR>d<br  />e",
			"a\u00a0b c d e",
		},

		"code is not wrapped": {
			"Run `a code span that is longer than the forty columns`:\n\n```sh\ncurl -sS https://example.com/a/very/long/path | grep '**x**'\n\n# not a heading\n```",
			`Run
a code span that is longer than the forty columns:

    curl -sS https://example.com/a/very/long/path | grep '**x**'

    # not a heading`,
		},
	})
}

func TestBlocks(t *testing.T) {
	renders(t, map[string][2]string{
		"nested lists": {
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

		"loose list": {
			"- a\n\n- b\n\n  c",
			"• a\n\n• b\n\n  c",
		},

		"list in a quote": {
			"> 1. a\n>\n>    b",
			"│ 1. a\n│\n│    b",
		},

		"no indentation beyond half of the terminal": {
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

		"quotes": {
			"> A quote with **bold** words that goes on for more than forty columns.\n> > 引用の中の引用です。とても長いので折り返されます。\n\nAfter it.\n\n---\n\nThe end.",
			`│ A quote with bold words that goes on
│ for more than forty columns.
│ │ 引用の中の引用です。とても長いので折
│ │ り返されます。

After it.

────────────────────────────────────────

The end.`,
		},
	})
}

func TestTable(t *testing.T) {
	renders(t, map[string][2]string{
		"alignment": {
			"|a|bb|ccc|\n|:-|-:|:-:|\n|日本|c|d|",
			"a     bb  ccc\n────  ──  ───\n日本   c   d",
		},

		"a table that is too wide": {
			"| Code | 意味 |\n|-----:|:----:|\n| 404 | 見つからない、とても長い説明なので折り返されます |\n| 410 | もう存在しない<br>恒久的に |\n| 500 | |",
			`Code                 意味
────  ──────────────────────────────────
 404  見つからない、とても長い説明なので
                折り返されます

 410       もう存在しない 恒久的に
 500`,
		},

		"three columns that share the room": {
			"| Feature | Ubuntu 24.04 LTS | Debian 13 |\n|---|---|---|\n| Support | five years of security updates | [three years](https://www.debian.org/releases/), then LTS |\n| Init | systemd | systemd |",
			`Feature  Ubuntu 24.04    Debian 13
         LTS
───────  ──────────────  ──────────────
Support  five years of   three
         security        years[1], then
         updates         LTS

Init     systemd         systemd`,
		},

		"a word that is wider than its column": {
			"|a|b|\n|-|-|\n|" + strings.Repeat("c", 19) + " d|" + strings.Repeat("e", 21) + " " + strings.Repeat("漢", 9) + "|",
			"a                    b\n" +
				"───────────────────  ───────────────────\n" +
				"ccccccccccccccccccc  eeeeeeeeeeeeeeeeeee\n" +
				"d                    ee\n" +
				"                     漢漢漢漢漢漢漢漢漢",
		},

		"a column without a header": {
			"||b|\n|-|-|\n|1|" + strings.Repeat("漢", 20) + "|",
			"   b\n─  " + strings.Repeat("─", 37) + "\n1  " + strings.Repeat("漢", 18) + "\n   漢漢",
		},
	})
}

// A column has at least 8 cells, else the table becomes records.
func TestNarrowTable(t *testing.T) {
	renders(t, map[string][2]string{
		"columns of 8 cells": {
			strings.Repeat("|a bbbbbbbb", 4) + "\n" + strings.Repeat("|-", 4) + "\n|c|d|e|f",
			`a         a         a         a
bbbbbbbb  bbbbbbbb  bbbbbbbb  bbbbbbbb
────────  ────────  ────────  ────────
c         d         e         f`,
		},

		"records in place of columns of 7 cells": {
			strings.Repeat("|a bbbbbbb", 4) + "|b|\n" + strings.Repeat("|-", 5) + "\n|c|d e f|**g**|" + strings.Repeat("漢", 20) + "\n|h|i|j|k|l",
			`a bbbbbbb: c
a bbbbbbb: d e f
a bbbbbbb: g
a bbbbbbb: 漢漢漢漢漢漢漢漢漢漢漢漢漢漢
  漢漢漢漢漢漢
b:

a bbbbbbb: h
a bbbbbbb: i
a bbbbbbb: j
a bbbbbbb: k
b: l`,
		},
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
		"***a** b*":               "<3;1ma</><3m b</>",
		"**「強調」**は**（x）**y":       "<1m「強調」</>は<1m（x）</>y",
		"# A\n## B *c*\n":         "<1;4mA</>\n<1mB </><1;3mc</>",
		"### D\n#### E":           "<4mD</>\n<4mE</>",
		"|a|b|\n|-|-|\n|c|**d**|": "<1ma</>  <1mb</>\n<2m─</>  <2m─</>\nc  <1md</>",

		"```go\n  a &lt; **b**\n\n\tc\n```": "    <36m  a &lt; **b**</>\n\n    <36m\tc</>",

		// Over two rows.
		"**" + strings.Repeat("漢", 21) + "**": "<1m" + strings.Repeat("漢", 20) + "</>\n<1m漢</>",
	})
}

func TestLinks(t *testing.T) {
	longLink := "[a](https://a.example/" + strings.Repeat("x", maxPage) + ")"

	styles(t, map[string]string{
		"([Go](https://go.dev?utm_source=openai)).": "({https://go.dev|<4;94mGo</><2m[1]</>}).",
		"https://go.dev/x.":                         "{https://go.dev/x|<4;94mhttps://go.dev/x</><2m[1]</>}.",
		longLink:                                    longLink,

		"[https://b.example](https://a.example)": "{https://a.example|<4;94mhttps://b.example</><2m[1]</>}",
		"[**a** b](https://a.example)":           "{https://a.example|<4;94;1ma</><4;94m b</><2m[1]</>}",

		// One page.
		"[a](https://a.example/#b) [c](https://www.a.example)": "{https://a.example/#b|" +
			"<4;94ma</><2m[1]</>} {https://www.a.example|<4;94mc</><2m[1]</>}",

		// Other characters and scripts.
		"[a](<https://a.example/日 \u202ex>)": "{https://a.example/%E6%97%A5%20x|" +
			"<4;94ma</><2m[1]</>}",
		"[a](https://аррӏе.com/ф) https://日本語.jp:8443/x": "{https://xn--80ak6aa92e.com/%D1%84|" +
			"<4;94ma</><2m[1]</>} {https://xn--wgv71a119e.jp:8443/x|" +
			"<4;94mhttps://日本語.jp:8443/x</><2m[2]</>}",

		// Over two rows.
		"> [" + strings.Repeat("漢", 20) + "](https://a.example/)": "│ {https://a.example/|<4;94m" +
			strings.Repeat("漢", 19) + "</>}\n│ {https://a.example/|<4;94m漢</><2m[1]</>}",

		"a\x1b[2J&#27;[2J&#x202e;b `\x1b[2J` [x](https://a.example/\x1b[2J)": "a[2J[2Jb " +
			"<36m[2J</> {https://a.example/[2J|<4;94mx</><2m[1]</>}",
	})
}
