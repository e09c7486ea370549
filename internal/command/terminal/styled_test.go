package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// At every width the rows fit, and break nothing that belongs together.
func TestWrap(t *testing.T) {
	compare.Each(t, "wrap", 2, func(t *testing.T, row []string) {
		text, unbroken := row[0], strings.Fields(row[1])
		for width := 16; width <= 60; width++ {
			var lines []string
			for _, row := range styledText("", text).wrap(width, width) {
				lines = append(lines, row.String())
				if got := row.width(); got > width {
					t.Errorf("row %q has %d cells, want at most %d", row, got, width)
				}
			}

			all := strings.Join(lines, "\n")
			for _, s := range unbroken {
				compare.Contains(t, fmt.Sprint("rows of ", width), all, s)
			}
		}
	})
}
