package cli

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

func TestRender(t *testing.T) {
	for _, tt := range []struct {
		name     string
		width    int
		in, want string
	}{
		{"fits", 20, "one two", "one two"},
		{"words", 10, "one two three four", "one two\nthree four"},
		{"no line feed at the end", 10, "one two three", "one two\nthree"},
		{"a long word", 5, "a https://example.org/long b", "a\nhttps://example.org/long\nb"},
		{"blank lines", 20, "one\n\n\ntwo", "one\n\n\ntwo"},
		{"several blanks", 20, "one  two  \nthree", "one  two\nthree"},
		{"list", 12, "- one two three\n  - four five\n10. six seven eight", "- one two\n  three\n  - four\n    five\n10. six\n    seven\n    eight"},
		{"dash in a sentence", 8, "one - two - three", "one -\ntwo -\nthree"},
		{"CJK", 11, "東京の天気は晴れです。", "東京の天気\nは晴れで\nす。"},
		{"closing mark stays", 12, "東京の天気。晴れ", "東京の天気。\n晴れ"},
		{"CJK and Latin", 12, "Go 1.26は2026年", "Go 1.26は\n2026年"},
		{"emoji", 6, "a 👩‍💻 b c", "a 👩‍💻 b\nc"},
		{"code", 10, "```sh\ngo test ./... -run X\n  [a](https://b.example/c)\n```\none two three", "```sh\ngo test ./... -run X\n  [a](https://b.example/c)\n```\none two\nthree"},
		{"table", 10, "| one | two | three |\none two three", "| one | two | three |\none two\nthree"},
		{"link", 60, "See ([Go 1.26](https://www.go.dev/doc/go1.26?x=y)).", "See (Go 1.26, go.dev)."},
		{"link with its host", 60, "([go.dev](https://go.dev/doc)) [the go.dev site](https://go.dev)", "(go.dev) the go.dev site"},
		{"link without a title", 60, "[](https://go.dev/doc)", "go.dev"},
		{"link with parentheses", 60, "[Go](https://en.wikipedia.org/wiki/Go_(game)) x", "Go (en.wikipedia.org) x"},
		{"link of several words", 16, "a [one two three](https://b.example/c) d", "a one two three\n(b.example) d"},
		{"no links", 60, "a[1] [x] [y](z) [https://a.example]", "a[1] [x] [y](z) [https://a.example]"},
		{"open bracket", 60, "[not a link\n[nor this", "[not a link\n[nor this"},
		{"control characters", 60, "a\x1b[2Jb\u202ec\r\nd", "a[2Jbc\nd"},
	} {
		if got := render(tt.in, tt.width, nil); got != tt.want+"\n" {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want+"\n")
		}
	}
}

func TestRenderSources(t *testing.T) {
	cited := []answer.Citation{
		{URL: "https://a.example/1", Title: "First\npage"},
		{URL: "https://a.example/2"},
		{URL: "oai-weather", Title: "api"},
	}
	in := "Text.\n\nSources:\n- https://a.example/1 (2026-01-02)\n- https://a.example/2 (2026-01-02)\n- oai-weather (2026-01-02)\n- [Own](https://a.example/2) (2026-01-02)\n- https://a.example/(3)"
	want := "Text.\n\nSources:\n- First page — https://a.example/1 (2026-01-02)\n- https://a.example/2 (2026-01-02)\n- oai-weather (2026-01-02)\n- Own — https://a.example/2 (2026-01-02)\n- https://a.example/(3)\n"
	if got := render(in, 80, cited); got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
