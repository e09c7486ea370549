package terminal

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// At every width the rows fit, and break nothing that belongs together.
func TestWrap(t *testing.T) {
	for text, unbroken := range map[string][]string{
		`The quick, brown fox (it was a fox!) jumps over the "lazy" dog; then it goes home.`: {
			"quick,", "(it", "fox!)", `"lazy"`, "dog;", "home.",
		},

		"東京の天気は、晴れ時々「曇り」です（気温は25℃）。ガベージコレクターが改善されました。": {
			"は、", "「曇", "り」", "（気", "25℃）。", "ベー", "た。",
		},
		"Go 1.26は2026年に公開されたhttps://go.dev/です。「Go」の、ガベージ コレクター。": {
			"Go", "1.26", "2026", "https://go.dev/", "「Go」",
		},

		// Numbers of links.
		"漢字[1][2]、漢字[3]。word[4] word[5].": {"字[1][2]、", "字[3]。", "word[4]", "word[5]."},
	} {
		t.Run(text, func(t *testing.T) {
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
}
