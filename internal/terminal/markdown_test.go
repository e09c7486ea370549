package terminal

import (
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

var (
	sequences = regexp.MustCompile("\x1b\\[[0-9;]*m|\x1b\\]8;;[!-~]*\x1b\\\\")
	marker    = regexp.MustCompile(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[\d{1,3}\])\s*`)
	shape     = regexp.MustCompile(`(?m)^(?:[\s│•─]|\d+\. )+|\[\d+\]`) // what is not in the words
	latin     = regexp.MustCompile(`[!-~]+`)
	ends      = regexp.MustCompile(`^[)。、」]`)
	long      = "https://a.example/" + strings.Repeat("path/", 60)
)

// documents are texts as models write them, with their words. Those of a table
// differ where it does not fit: the headers are repeated.
var documents = []struct{ name, markdown, words, narrow string }{
	{name: "prose", markdown: "A **bold statement**, *some italics*, ~~a mistake~~ and `go test ./...` &amp; more.\nThe next line has ***both*** and 2 * 3 * 4 snake_case_words.", words: "A bold statement, some italics, a mistake and go test ./... & more. The next line has both and 2 * 3 * 4 snake_case_words."},
	{name: "Japanese", markdown: "# 天気の見通し\n\n東京の天気は、**晴れ時々「曇り」**です（気温は25℃）。Go 1.26は2026年に公開された[リリースノート](https://go.dev/doc/go1.26)によると、ガベージコレクターが改善されました。「引用」、『作品』、ー長音、っ促音。", words: "天気の見通し 東京の天気は、晴れ時々「曇り」です（気温は25℃）。Go 1.26は2026年に公開されたリリースノートによると、ガベージコレクターが改善されました。「引用」、『作品』、ー長音、っ促音。"},
	{name: "lists", markdown: "Steps:\n\n1. Install the program with the package manager of your system\n   - on Linux with apt, dnf or pacman, whichever your distribution uses\n     - as root\n   - on macOS\n2. Configure it\n\n   A second paragraph of the second step, which is long.\n\n10. 設定を確認して、再起動します。それから次の手順に進みます。", words: "Steps: Install the program with the package manager of your system on Linux with apt, dnf or pacman, whichever your distribution uses as root on macOS Configure it A second paragraph of the second step, which is long. 設定を確認して、再起動します。それから次の手順に進みます。"},
	{name: "quotes", markdown: "> A quote with **bold** words that goes on for more than forty columns.\n> > A quote inside, 引用の中の引用です。とても長いので折り返されます。\n\nAfter it.\n\n---\n\nThe end.", words: "A quote with bold words that goes on for more than forty columns. A quote inside, 引用の中の引用です。とても長いので折り返されます。 After it. The end."},
	{name: "code", markdown: "Run this:\n\n```sh\ncurl -sS https://example.com/a/very/long/path | grep '**not bold**' > /tmp/output-of-the-command.txt\n\n# not a heading\n```\n\nThen `a code span that is itself longer than the forty columns of a narrow terminal` follows.", words: "Run this: curl -sS https://example.com/a/very/long/path | grep '**not bold**' > /tmp/output-of-the-command.txt # not a heading Then a code span that is itself longer than the forty columns of a narrow terminal follows."},
	{name: "links", markdown: "See ([the release notes](https://go.dev/doc/go1.26)), " + long + " and <https://b.example/x>. Not links: a[1] [x] f[i](x) [y](z.html).", words: "See (the release notes), " + long + " and https://b.example/x. Not links: a[1] [x] f[i](x) [y](z.html)."},
	{name: "table", markdown: "| Code | 意味 | Page |\n|-----:|:----:|------|\n| 404 | 見つからない | [RFC 9110](https://www.rfc-editor.org/rfc/rfc9110.html) |\n| 410 | もう存在しない<br>恒久的に | `GET /gone` or none at all |", words: "Code 意味 Page 404 見つからない RFC 9110 410 もう存在しない 恒久的に GET /gone or none at all", narrow: "Code: 404 意味: 見つからない Page: RFC 9110 Code: 410 意味: もう存在しない 恒久的に Page: GET /gone or none at all"},
	{name: "rows with more cells than the header", markdown: "| a | b |\n|---|---|\n| x || y | z |", words: "| a | b | |---|---| | x || y | z |"},
	{name: "HTML", markdown: "<details>\n<summary>More</summary>\n</details>\n\nH<sub>2</sub>O and 1 < 2.", words: "<details> <summary>More</summary> </details> H<sub>2</sub>O and 1 < 2."},
	{name: "definitions", markdown: "See [the page][1].\n\n[1]: https://a.example/x", words: "See [the page][1]. [1]: https://a.example/x"},
	{name: "nested too deep to indent", markdown: "1. one\n   1. two\n      1. three\n         1. four\n            1. five\n               1. six and some more words to wrap\n                  1. seven and some more words to wrap", words: "one two three four five six and some more words to wrap seven and some more words to wrap"},
}

// Nothing breaks inside a word, rows fit except for code and single words, and
// the words appear once and in order.
func TestRenderProperties(t *testing.T) {
	for _, d := range documents {
		for _, width := range []int{40, 80, 120} {
			var r renderer
			out := sequences.ReplaceAllString(r.render(d.markdown, width), "")
			for row := range strings.Lines(out) {
				begin := strings.TrimLeft(marker.ReplaceAllString(row, ""), " │•")
				isCode := strings.Contains(d.markdown, strings.TrimRight(begin, " .`\n")) && strings.Contains(d.markdown, "`")
				fits := cells.StringWidth(row) <= width || len(strings.Fields(begin)) == 1 || isCode
				if !fits || ends.MatchString(begin) {
					t.Errorf("%s at %d: %q is too wide, or begins with a closing mark", d.name, width, row)
				}
			}
			want := d.words
			if d.narrow != "" && !strings.Contains(out, "─") {
				want = d.narrow
			}
			out, want = shape.ReplaceAllString(out, ""), shape.ReplaceAllString(want, "")
			if strings.Join(strings.Fields(out), "") != strings.Join(strings.Fields(want), "") || !slices.Equal(latin.FindAllString(out, -1), latin.FindAllString(want, -1)) {
				t.Errorf("%s at %d:\n%s\nwant\n%s", d.name, width, out, want)
			}
		}
	}
}

// What Markdown looks like. Escape sequences are shown in their short forms.
func TestRender(t *testing.T) {
	short := strings.NewReplacer("\x1b[0m", "</>", "\x1b[0;", "<", "\x1b]8;;\x1b\\", "}", "\x1b]8;;", "{", "\x1b\\", "|")
	for _, tt := range []struct {
		name     string
		in, want string
	}{
		{"styles", "**b** *i* ~~s~~ `c`", "<1mb</> <3mi</> <9ms</> <36mc</>"},
		{"nested styles", "***a** b*", "<3;1ma</><3m b</>"},
		{"strong before a letter", "**「強調」**は**（x）**y", "<1m「強調」</>は<1m（x）</>y"},
		{"link of several styles", "[**a** b](https://a.example)", "{https://a.example|<4;94;1ma</><4;94m b</><2m[1]</>}"},
		{"link with a long URL", "[a](https://a.example/" + strings.Repeat("x", 2048) + ")", "[a](https://a.example/" + strings.Repeat("x", 2048) + ")"},
		{"spaces", "a\u00a0b c<BR>d<br  />e", "a\u00a0b c d e"},
		{"heading", "## A *b*", "<1mA </><1;3mb</>"},
		{"link", "([Go](https://go.dev/a?utm_source=openai)).", "({https://go.dev/a|<4;94mGo</><2m[1]</>})."},
		{"URL", "https://go.dev/x.", "{https://go.dev/x|<4;94mhttps://go.dev/x</><2m[1]</>}."},
		{"one page", "[a](https://a.example/#b) [c](https://www.a.example)", "{https://a.example/#b|<4;94ma</><2m[1]</>} {https://www.a.example|<4;94mc</><2m[1]</>}"},
		{"URL with other characters", "[a](<https://a.example/日 \u202ex>)", "{https://a.example/%E6%97%A5%20x|<4;94ma</><2m[1]</>}"},
		{"a link over two rows", "> [" + strings.Repeat("漢", 25) + "](https://a.example/)", "│ {https://a.example/|<4;94m" + strings.Repeat("漢", 19) + "</>}\n│ {https://a.example/|<4;94m" + strings.Repeat("漢", 6) + "</><2m[1]</>}"},
		{"a style over two rows", "**" + strings.Repeat("漢", 21) + "**", "<1m" + strings.Repeat("漢", 20) + "</>\n<1m漢</>"},
		{"marks that begin and end no row", strings.Repeat("漢", 18) + "、「字」。", strings.Repeat("漢", 18) + "、\n「字」。"},
		{"code is not wrapped", strings.Repeat("x ", 19) + "`a b`", strings.Repeat("x ", 18) + "x\n<36ma b</>"},
		{"code block", "```go\n  a &lt; **b**\n\n\tc\n```", "<36m  a &lt; **b**</>\n\n<36m\tc</>"},
		{"alignment", "|a|bb|ccc|\n|:-|-:|:-:|\n|日本|c|d|", "<1ma</>     <1mbb</>  <1mccc</>\n<2m────</>  <2m──</>  <2m───</>\n日本   c   d"},
		{"a cell that is too wide", "|a|b|\n|-|-|\n|1|" + strings.Repeat("x ", 25) + "|\n|2||\n", "<1ma</>: 1\n<1mb</>: " + strings.Repeat("x ", 18) + "x\n  x x x x x x\n\n<1ma</>: 2\n<1mb</>:"},
		{"a table without rows", "|a|b|\n|-|-|", "|a|b|\n|-|-|"},
		{"a column without a header", "||b|\n|-|-|\n|1|" + strings.Repeat("漢", 20) + "|", "1\n<1mb</>: " + strings.Repeat("漢", 18) + "\n  漢漢"},
		{"footnotes", "a[^1] b\n\n[^1]: c [^2", "a[^1] b\n\n[^1]: c [^2"},
		{"loose list", "- a\n\n- b\n\n  c", "• a\n\n• b\n\n  c"},
		{"list in a quote", "> 1. a\n>\n>    b", "│ 1. a\n│\n│    b"},
		{"control characters", "a\x1b[2J&#27;[2J&#x202e;b `\x1b[2J` [x](https://a.example/\x1b[2J)", "a[2J[2Jb <36m[2J</> {https://a.example/[2J|<4;94mx</><2m[1]</>}"},
		{"a table for which the parser panics", "a\n-||", "a\n-||"},
	} {
		var r renderer
		if got := short.Replace(r.render(tt.in, 40)); got != tt.want+"\n" {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// What is beyond the limits of the parser is shown as it is.
func TestRenderLimits(t *testing.T) {
	deep := ""
	for i := range 16 {
		deep += strings.Repeat("  ", i) + "- **a**\n"
	}
	for _, in := range []string{
		deep,
		strings.Repeat(">", 17) + " **a**\n",
		"**a**\n" + strings.Repeat("- ", 17) + "a\n",
		strings.Repeat("1. ", 17) + "**a**\n",
		strings.Repeat("|**a**", 33) + "\n" + strings.Repeat("|-", 33) + "\na\n",
		"**a** " + strings.Repeat("a ", maxBlock/2) + "\n",
	} {
		var r renderer
		if got := r.render(in, 40); got != in {
			t.Errorf("%.100q is shown as %.100q", in, got)
		}
	}
}

// Hostile Markdown takes time and memory in proportion to its length.
func TestRenderHostile(t *testing.T) {
	const size = 1 << 17
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }
	tests := []string{
		fill("|", 10_000) + "\n" + fill("-|", 20_000) + "-\n" + fill("a\n", size),
		fill(fill("*a ", maxBlock/2-4)+fill("b* ", maxBlock/2-4)+"\n\n", 1<<20),
		fill("[", size/2) + fill("]", size/2),
		fill(" \n", size),
		fill(fill("- ", maxBlock-4)+"a\n\n", 1<<20),
	}
	for _, s := range []string{
		">", "[", "]", "- ", "1. ", "> - ", "* a", "a**b", "_a__b ", "**x*", "`a``", "[a](", "![a](", "[a](<b", "<a ", "<![CDATA[", "\\", "~~a ", "&a",
		"https://a.example/(", "a|", "[a](https://a.example/) ", "漢", "a\n\n", "- a\n\n", "```\n\n", "> a\n", "[a]: b\n", "|a|\n|-|\n",
	} {
		tests = append(tests, fill(s, size)+"a", fill(fill(s, maxBlock-4)+"a\n\n", size))
	}
	for _, in := range tests {
		begin := time.Now()
		var r renderer
		r.render(in, 80)
		if age := time.Since(begin); age > 10*time.Second {
			t.Errorf("%.50q: %v", in, age)
		}
	}
}
