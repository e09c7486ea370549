package terminal

import (
	"strings"
	"testing"
)

// At every width the rows fit, have the whole text in order, and break nothing that belongs together.
func TestWrap(t *testing.T) {
	for _, tt := range []struct {
		name     string
		text     string
		unbroken []string
	}{
		{
			"English",
			`The quick, brown fox (it was a fox!) jumps over the "lazy" dog; then it goes home.`,
			[]string{"quick,", "(it", "fox!)", `"lazy"`, "dog;", "home."},
		},
		{
			"Japanese",
			"東京の天気は、晴れ時々「曇り」です（気温は25℃）。ガベージコレクターが改善されました。",
			[]string{"は、", "「曇", "り」", "（気", "25℃）。", "ベー", "た。"},
		},
		{
			"both",
			"Go 1.26は2026年に公開されたhttps://go.dev/です。「Go」の、ガベージ コレクター。",
			[]string{"Go", "1.26", "2026", "https://go.dev/", "「Go」"},
		},
		{
			"numbers of links",
			"漢字[1][2]、漢字[3]。word[4] word[5].",
			[]string{"字[1][2]、", "字[3]。", "word[4]", "word[5]."},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for width := 16; width <= 60; width++ {
				var lines []string
				for _, row := range in("", tt.text).wrap(width, width) {
					lines = append(lines, row.String())
					if got := row.width(); got > width {
						t.Errorf("row %q has %d cells, want at most %d", row, got, width)
					}
				}

				all := strings.Join(lines, "\n")
				for _, s := range tt.unbroken {
					if !strings.Contains(all, s) {
						t.Errorf("at %d the rows break %q:\n%s", width, s, all)
					}
				}
				if got, want := withoutSpaces(all), withoutSpaces(tt.text); got != want {
					t.Errorf("at %d the rows have %q, want %q", width, got, want)
				}
			}
		})
	}
}

func withoutSpaces(s string) string { return strings.Join(strings.Fields(s), "") }
