package text

import (
	"fmt"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

func TestTruncate(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		In   string
		N    int
		Want string
	}](t, "truncate") {
		t.Run(tt.Want, func(t *testing.T) {
			compare.Equal(t, tt.In, Truncate(tt.In, tt.N), tt.Want)
		})
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":                          "a\tb\nc",
		"\x1b[31mred\x1b[0m":               "[31mred[0m",
		"\u009b2J\x7f\x00\x07\r":           "2J",
		"\u202egpj.exe\u202c\u2066x\u2069": "gpj.exex",
		"a\u2028b\ufeff\u200b\U000e0041":   "ab",
		"天気 👩\u200d💻 é":                    "天気 👩\u200d💻 é",
		"caf\xe9":                          "caf\ufffd",

		// Variation selectors and fillers.
		"a\U000e0100b\U000e01efc":   "abc",
		"d\u180b\u180c\u180d\u180f": "d",
		"e\ufe00\ufe0d":             "e",
		"f\u3164\u115f\u1160\uffa0": "f",
		"g\u2800\u034f\u17b4\u17b5": "g",
		"葛\u034f\U000e0100":         "葛",

		// Scripts and emoji that look like them.
		"❤️ ☎︎ 1️⃣ 🏳️\u200d🌈 🇯🇵 👍🏽":    "❤️ ☎︎ 1️⃣ 🏳️\u200d🌈 🇯🇵 👍🏽",
		"العربية \u06dd می\u200cخواهم": "العربية \u06dd می\u200cخواهم",
		"हिन्दी क्\u200dष ខ្មែរ":       "हिन्दी क्\u200dष ខ្មែរ",
		"한국어 \u1112\u1161\u11ab":       "한국어 \u1112\u1161\u11ab",
	} {
		t.Run(want, func(t *testing.T) {
			compare.Equal(t, in, Printable(in), want)

			pieces := ""
			for _, r := range in {
				pieces += Printable(string(r))
			}
			compare.Equal(t, "the characters of "+in, pieces, want)
		})
	}
}

// The variant of a Han character is two characters, so it needs both in one call.
func TestPrintableVariant(t *testing.T) {
	const in = "葛\U000e0100城\U000e0101\U000e0102市 辻\U000e01ef"
	const want = "葛\U000e0100城\U000e0101市 辻\U000e01ef"
	compare.Equal(t, in, Printable(in), want)
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"  Weather \n\t forecast\r\n": "Weather forecast",
		"a\u2028b\u3000c\u00a0d":      "a b c d",
		"\u202emoc.elpmaxe\u202c":     "moc.elpmaxe",
		"\x1b]0;title\x07done":        "]0;titledone",
		"a \u200b b":                  "a b",
		"":                            "",
	} {
		t.Run(want, func(t *testing.T) {
			compare.Equal(t, in, OneLine(in), want)
		})
	}
}

func TestIsHostName(t *testing.T) {
	odd := strings.NewReplacer("INVISIBLE", "\u200b", "BYTE", "\xe9")
	for _, row := range compare.Table(t, "host-names", 2) {
		t.Run(row[1], func(t *testing.T) {
			got := IsHostName(odd.Replace(row[1]))
			compare.Equal(t, "is a host name", fmt.Sprint(got), row[0])
		})
	}
}

func TestExpand(t *testing.T) {
	values := map[string]string{"A": "$AB", "AB": "x", "EMPTY": ""}
	for template, want := range map[string]string{
		"$AB $A ${A}$AB": "x $AB $ABx",
		"[$EMPTY]":       "[]",
		"$B $$A 5 $":     "$B $$A 5 $",
	} {
		t.Run(template, func(t *testing.T) {
			compare.Equal(t, "expanded", Expand(template, values), want)
		})
	}
}
