package terminal

import (
	"strings"
	"testing"
)

// What is beyond the limits of the parser is shown as it is, and what is just below them is not.
func TestLimits(t *testing.T) {
	repeat := strings.Repeat
	deepList := func(n int) (list string) {
		for i := range n {
			list += repeat("  ", i) + "- **a**\n"
		}
		return list
	}
	table := func(n int) string {
		return repeat("|**a**", n) + "\n" + repeat("|-", n) + "\n" + repeat("|b", n) + "\n"
	}

	for _, tt := range []struct {
		name   string
		within string
		beyond string
	}{
		{"entries in entries", deepList(15), deepList(16)},
		{"quotes in quotes", repeat(">", 15) + " **a**\n", repeat(">", 17) + " **a**\n"},
		{"bullets in a line", "**a**\n" + repeat("- ", 15) + "a\n", "**a**\n" + repeat("- ", 17) + "a\n"},
		{"numbers in a line", repeat("1. ", 15) + "**a**\n", repeat("1. ", 17) + "**a**\n"},
		{"columns", table(32), table(33)},
		{"bytes", "**a** " + repeat("b ", maxBlock/2-8) + "\n", "**a** " + repeat("b ", maxBlock/2) + "\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var r renderer
			if got := r.render(tt.beyond, 40); got != tt.beyond {
				t.Errorf("beyond the limit %.100q is shown as %.100q", tt.beyond, got)
			}
			if got := r.render(tt.within, 40); strings.Contains(got, "**") {
				t.Errorf("within the limit %.100q is shown as it is", tt.within)
			}
		})
	}
}

// Markdown that parsers are slow with. As much of it as a block may have is shown in a bounded
// number of bytes, and twice as much is shown as it is.
func TestHostile(t *testing.T) {
	const most = 20 // bytes for a byte: links have a number and control sequences
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }

	for _, s := range []string{
		">", "[", "]", "- ", "1. ", "> - ", "* a", "a**b", "_a__b ", "**x*", "`a``", "[a](", "![a](",
		"[a](<b", "<a ", "<![CDATA[", "\\", "~~a ", "&a", "https://a.example/(", "a|", "漢",
		"[a](https://a.example/) ", "- a\n", "```\n", "> a\n", "[a]: b\n", "|a|\n|-|\n", "*a *b* ",
	} {
		t.Run(s, func(t *testing.T) {
			var r renderer
			block := fill(s, maxBlock-4) + "a\n"
			if got := r.render(block, 80); len(got) > len(block)*most {
				t.Errorf("%d bytes are shown as %d bytes", len(block), len(got))
			}

			double := fill(s, 2*maxBlock) + "a\n"
			if got := r.render(double, 80); got != double {
				t.Errorf("a block of %d bytes is shown as %.100q", len(double), got)
			}
		})
	}
}

// Emphasis in emphasis, as deep as a block allows, is still shown as such.
func TestNestedEmphasis(t *testing.T) {
	const depth = maxBlock / 8
	var r renderer
	got := r.render(strings.Repeat("*a ", depth)+strings.Repeat("b* ", depth), 80)
	if strings.Contains(got, "*") {
		t.Errorf("it is shown as %.100q", got)
	}
}
