package terminal

import (
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// What is beyond the limits of the parser is shown as it is, and what is just below them is not.
func TestLimits(t *testing.T) {
	compare.Each(t, "limits", 3, func(t *testing.T, row []string) {
		within, beyond := row[1], row[2]
		if got := rendered(beyond, 40); got != beyond {
			t.Errorf("beyond the limit %.100q is shown as %.100q", beyond, got)
		}
		if got := rendered(within, 40); strings.Contains(got, "**") {
			t.Errorf("within the limit %.100q is shown as it is", within)
		}
	})
}

// Markdown that parsers are slow with. As much of it as a block may have is shown in a bounded
// number of bytes, and twice as much is shown as it is.
func TestHostile(t *testing.T) {
	fill := func(s string, n int) string { return strings.Repeat(s, n/len(s)) }

	compare.Each(t, "hostile", 1, func(t *testing.T, row []string) {
		s := row[0]
		block := fill(s, maxBlock-4) + "a\n"
		if got := rendered(block, 80); len(got) > 4*len(block)+64<<10 {
			t.Errorf("%d bytes are shown as %d bytes", len(block), len(got))
		}

		double := fill(s, 2*maxBlock) + "a\n"
		if got := rendered(double, 80); got != double {
			t.Errorf("a block of %d bytes is shown as %.100q", len(double), got)
		}
	})
}
