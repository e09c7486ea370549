package cli

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Control sequences of a terminal (ECMA-48).
const (
	eraseLine  = "\r\x1b[K" // and go to its start
	eraseBelow = "\x1b[J"
	dim        = "\x1b[2m"
	normal     = "\x1b[0m"
)

// columns is how wide a terminal w is, now; ok is false when w is none. A
// terminal that does not know its width has that of old.
func columns(w io.Writer) (n int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile {
		return 0, false
	}
	if n, ok = width(f); ok && n <= 0 {
		n = 80
	}
	return n, ok
}

// printable makes a text of the web or the model safe to print on a terminal:
// without control characters but line feeds and tabs, and without the marks
// that turn the direction of text. It looks at single characters, so a sequence
// that is split over several texts is taken out all the same.
func printable(s string) string { return strings.Map(harmless, s) }

func harmless(r rune) rune {
	if r == '\n' || r == '\t' {
		return r
	}
	if obeyed(r) {
		return -1
	}
	return r
}

// obeyed reports whether a terminal would obey r instead of showing it, or show
// other text at another place because of it.
func obeyed(r rune) bool {
	switch {
	case unicode.IsControl(r), r == '\u200b', r == '\ufeff', unicode.Is(unicode.Bidi_Control, r):
		return true
	case r == '\u2028', r == '\u2029', '\u2060' <= r && r <= '\u206f', '\ufff9' <= r && r <= '\ufffb', '\U000e0000' <= r && r <= '\U000e007f': // invisible
		return true
	}
	return false
}

// plain is a message made safe to print. Another line of it is indented, so that
// it cannot pass for a message of its own.
func plain(s string) string { return strings.ReplaceAll(printable(s), "\n", "\n  ") }

// escaper writes JSON that may reach a terminal: what it must not get as it is
// becomes an escape of JSON. Such characters stand nowhere but in strings.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		switch {
		case r == '\n' || !obeyed(r):
			b.WriteRune(r)
		case r > 0xffff: // the tags
			high, low := utf16.EncodeRune(r)
			fmt.Fprintf(&b, `\u%04x\u%04x`, high, low)
		default:
			fmt.Fprintf(&b, `\u%04x`, r)
		}
	}
	if _, err := io.WriteString(e.w, b.String()); err != nil {
		return 0, err
	}
	return len(p), nil
}

// fitted cuts a line to n cells, the last one then being an ellipsis.
func fitted(line string, n int) string {
	if n < 1 {
		return ""
	}
	if cells(line) <= n {
		return line
	}
	room := n - 1
	for i, r := range line {
		if room -= runeCells(r); room < 0 {
			return strings.TrimRight(line[:i], " ") + "…"
		}
	}
	return line
}

// cells is the width of a line.
func cells(line string) (n int) {
	for _, r := range line {
		n += runeCells(r)
	}
	return n
}

// rows is how many lines of n cells a terminal breaks a line into. A character
// of two cells is not broken: it goes to the next one.
func rows(line string, n int) int {
	rows, at := 1, 0
	for _, r := range line {
		w := runeCells(r)
		if at+w > n && at > 0 {
			rows, at = rows+1, 0
		}
		at += w
	}
	return rows
}

// wide are the blocks whose characters take two cells (UAX #11, W and F), as
// far as people write with them.
var wide = [][2]rune{
	{0x1100, 0x115f}, {0x2e80, 0x303e}, {0x3041, 0xa4cf}, {0xa960, 0xa97c}, {0xac00, 0xd7a3},
	{0xf900, 0xfaff}, {0xfe30, 0xfe6f}, {0xff01, 0xff60}, {0xffe0, 0xffe6},
	{0x1f300, 0x1f64f}, {0x1f680, 0x1f6ff}, {0x1f900, 0x1f9ff}, {0x20000, 0x3fffd},
}

func runeCells(r rune) int {
	switch {
	case r < utf8.RuneSelf:
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	}
	for _, w := range wide {
		if w[0] <= r && r <= w[1] {
			return 2
		}
	}
	return 1
}
