package text

import "testing"

func TestTruncate(t *testing.T) {
	for _, tt := range []struct {
		in   string
		n    int
		want string
	}{
		{"searching", 9, "searching"},
		{"searching", 8, "searchi…"},
		{"a b c", 3, "a…"},
		{"東京の天気", 5, "東京の天気"},
		{"東京の天気", 4, "東京の…"},
		{"ab", 1, "…"},
	} {
		if got := Truncate(tt.in, tt.n); got != tt.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestPrintable(t *testing.T) {
	for in, want := range map[string]string{
		"a\tb\nc":                          "a\tb\nc",
		"\x1b[31mred\x1b[0m":               "[31mred[0m",
		"\u009b2J\x7f\x00\x07\r":           "2J",
		"\u202egpj.exe\u202c\u2066x\u2069": "gpj.exex",
		"a\u2028b\ufeff\u200b\U000e0041":   "ab",
		"天気 👩‍💻 é":                         "天気 👩‍💻 é",
		"caf\xe9":                          "caf\ufffd",
	} {
		pieces := ""
		for _, r := range in {
			pieces += Printable(string(r))
		}
		if got := Printable(in); got != want || pieces != want {
			t.Errorf("Printable(%q) = %q, in pieces %q, want %q", in, got, pieces, want)
		}
	}
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
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestIsHostName(t *testing.T) {
	for s, want := range map[string]bool{
		"example.com": true, "sub.example.co.jp": true, "EXAMPLE.com": true, "日本語.jp": true, "xn--wgv71a119e.jp": true, "a-b.example": true, "3m.com": true, "हिन्दी.भारत": true,
		"": false, ".": false, " ": false, "//x": false, "com": false, "localhost": false, "a.jp, b.jp": false, "a.jp b.jp": false, "https://example.com": false,
		"example.com/": false, "example.com/x": false, "example.com:443": false, "*.example.com": false, ".example.com": false, "example.com.": false,
		"a..example": false, "-a.example": false, "a_b.example": false, "127.0.0.1": false, "[::1]": false, "user@example.com": false,
		"example.com\n": false, "exam\u200bple.com": false, "caf\xe9.com": false,
	} {
		if got := IsHostName(s); got != want {
			t.Errorf("IsHostName(%q) = %t, want %t", s, got, want)
		}
	}
}
