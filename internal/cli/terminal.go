package cli

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
	"unicode/utf16"

	"github.com/mattn/go-runewidth"
	"golang.org/x/term"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Control sequences of a terminal (ECMA-48).
const (
	eraseLine  = "\r\x1b[K" // to its start, and erase it
	eraseBelow = "\x1b[J"
	dim        = "\x1b[2m"
	normal     = "\x1b[0m"
)

// cells measures text. Characters of ambiguous width take one cell, as current
// terminals show them in every locale.
var cells = &runewidth.Condition{StrictEmojiNeutral: true}

// columns returns the current width of the terminal w in cells. ok is false if
// w is not a terminal.
func columns(w io.Writer) (n int, ok bool) {
	f, isFile := w.(*os.File)
	if !isFile || !term.IsTerminal(int(f.Fd())) {
		return 0, false
	}
	n, _, err := term.GetSize(int(f.Fd()))
	if err != nil || n <= 0 {
		n = 80
	}
	return n, true
}

// obeys reports whether w is a terminal that carries out control sequences.
func (a *app) obeys(w io.Writer) bool {
	if _, ok := columns(w); !ok {
		return false
	}
	kind := a.variable("TERM")
	if kind == "dumb" || kind == "" && runtime.GOOS != "windows" {
		return false
	}
	return enableSequences(w.(*os.File))
}

// escaper writes JSON and escapes in it what text.Printable would remove. JSON
// has such characters in strings only.
type escaper struct{ w io.Writer }

func (e escaper) Write(p []byte) (int, error) {
	var b strings.Builder
	for _, r := range string(p) {
		switch {
		case !text.Unsafe(r):
			b.WriteRune(r)
		case r > 0xffff:
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
