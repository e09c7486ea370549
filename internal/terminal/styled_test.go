package terminal

import (
	"strings"
	"testing"
	"unicode/utf8"
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
				rows := in("", tt.text).wrap(width, width)
				checkRows(t, rows, width, tt.text, tt.unbroken)
			}
		})
	}
}

func checkRows(t *testing.T, rows []styled, width int, text string, unbroken []string) {
	t.Helper()

	var lines []string
	for i, row := range rows {
		line := row.String()
		lines = append(lines, line)
		if got := row.width(); got > width {
			t.Errorf("row %q has %d cells, want at most %d", line, got, width)
		}
		first, _ := utf8.DecodeRuneInString(line)
		if i > 0 && strings.ContainsRune(closing, first) {
			t.Errorf("at %d row %q begins with %c", width, line, first)
		}
	}

	all := strings.Join(lines, "\n")
	for _, s := range unbroken {
		if !strings.Contains(all, s) {
			t.Errorf("at %d the rows break %q:\n%s", width, s, all)
		}
	}

	withoutSpaces := func(s string) string { return strings.Join(strings.Fields(s), "") }
	got := withoutSpaces(all)
	want := withoutSpaces(text)
	if got != want {
		t.Errorf("at %d the rows have %q, want %q", width, got, want)
	}
}

// The first row can have less room than the others, and a word that does not fit has its own row.
func TestWrapFirst(t *testing.T) {
	rows := in("", "one two incomprehensible three four").wrap(5, 10)
	want := []string{"one", "two", "incomprehensible", "three four"}
	if len(rows) != len(want) {
		t.Fatalf("there are %d rows, want %d", len(rows), len(want))
	}
	for i, row := range rows {
		if got := row.String(); got != want[i] {
			t.Errorf("row %d is %q, want %q", i, got, want[i])
		}
	}
}
