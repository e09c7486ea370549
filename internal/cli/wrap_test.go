package cli

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		name     string
		width    int
		in, want string
	}{
		{"fits", 20, "one two\n", "one two\n"},
		{"words", 10, "one two three four\n", "one two\nthree four\n"},
		{"no line feed at the end", 10, "one two three", "one two\nthree\n"},
		{"a long word", 5, "a https://example.org/long b", "a\nhttps://example.org/long\nb\n"},
		{"blank lines", 20, "one\n\n\ntwo\n", "one\n\n\ntwo\n"},
		{"several blanks", 20, "one  two  \nthree", "one  two\nthree\n"},
		{"list", 12, "- one two three\n  - four five\n10. six seven eight", "- one two\n  three\n  - four\n    five\n10. six\n    seven\n    eight\n"},
		{"dash in a sentence", 8, "one - two - three", "one -\ntwo -\nthree\n"},
		{"CJK", 11, "東京の天気は晴れです。", "東京の天気\nは晴れで\nす。\n"},
		{"closing mark stays", 12, "東京の天気。晴れ", "東京の天気。\n晴れ\n"},
		{"CJK and Latin", 12, "Go 1.26は2026年", "Go 1.26は\n2026年\n"},
		{"emoji", 6, "a 👩‍💻 b c", "a 👩‍💻 b\nc\n"},
		{"code", 10, "```sh\ngo test ./... -run X\n  [a](https://b.example/c)\n```\none two three", "```sh\ngo test ./... -run X\n  [a](https://b.example/c)\n```\none two\nthree\n"},
		{"table", 10, "| one | two | three |\none two three", "| one | two | three |\none two\nthree\n"},
		{"link", 60, "See ([Go 1.26](https://www.go.dev/doc/go1.26?x=y)).", "See (Go 1.26, go.dev).\n"},
		{"link with its host", 60, "([go.dev](https://go.dev/doc)) [the go.dev site](https://go.dev)", "(go.dev) the go.dev site\n"},
		{"link without a title", 60, "[](https://go.dev/doc)", "go.dev\n"},
		{"link with parentheses", 60, "[Go](https://en.wikipedia.org/wiki/Go_(game)) x", "Go (en.wikipedia.org) x\n"},
		{"link of several words", 16, "a [one two three](https://b.example/c) d", "a one two three\n(b.example) d\n"},
		{"no links", 60, "a[1] [x] [y](z) [https://a.example]", "a[1] [x] [y](z) [https://a.example]\n"},
		{"open bracket", 60, "[not a link\n[nor this", "[not a link\n[nor this\n"},
		{"control characters", 60, "a\x1b[2Jb\u202ec\r\nd", "a[2Jbc\nd\n"},
	} {
		for _, size := range []int{1, 3, 1000} {
			var w wrapper
			var b strings.Builder
			for in := []rune(tt.in); len(in) > 0; {
				n := min(size, len(in))
				b.WriteString(w.add(string(in[:n]), tt.width, false))
				in = in[n:]
			}
			b.WriteString(w.add("", tt.width, true))
			if got := b.String(); got != tt.want {
				t.Errorf("%s, %d characters at a time: %q, want %q", tt.name, size, got, tt.want)
			}
		}
	}
}

// A row is returned as soon as it is full, with the width that its line began
// with.
func TestWrapStreams(t *testing.T) {
	var w wrapper
	for _, step := range []struct {
		in    string
		width int
		want  string
	}{
		{"one tw", 8, ""}, {"o thr", 8, "one two\n"}, {"ee fo", 8, ""}, {"ur five", 80, "three\nfour\n"}, {" six\nseven eight", 80, "five six\n"},
	} {
		if got := w.add(step.in, step.width, false); got != step.want {
			t.Errorf("after %q: %q, want %q", step.in, got, step.want)
		}
	}
}

func TestWithTitles(t *testing.T) {
	cited := []answer.Citation{
		{URL: "https://a.example/1", Title: "First\npage"},
		{URL: "https://a.example/2"},
		{URL: "oai-weather", Title: "api"},
	}
	in := "Text.\n\nSources:\n- https://a.example/1 (2026-01-02)\n- https://a.example/2 (2026-01-02)\n- oai-weather (2026-01-02)\n- [Own](https://a.example/2) (2026-01-02)\n- https://a.example/(3)"
	want := "Text.\n\nSources:\n- First page — https://a.example/1 (2026-01-02)\n- https://a.example/2 (2026-01-02)\n- oai-weather (2026-01-02)\n- Own — https://a.example/2 (2026-01-02)\n- https://a.example/(3)"
	if got := withTitles(in, cited); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
