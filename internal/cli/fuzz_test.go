package cli

import (
	"encoding/json"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

// FuzzPrintable holds that no text reaches a terminal as more than text, in one
// piece or in many, and that JSON says the same after it was made safe.
func FuzzPrintable(f *testing.F) {
	for _, s := range []string{
		"a\tb\nc", "\x1b[31mred\x1b[0m\x1b]52;c;eA==\x07", "\u009b2J\x9b2J\x7f\x00\x08\r", "\u202egpj.exe\u202c\u2066x\u2069",
		"天気 👩\u200d💻 é", "\u2028\u2029\ufeff\u200b\U000e0041\u2060\ufffa", `\u001b[2J`, "\xc3", "\ufffd", "x\ny",
	} {
		f.Add(s, uint8(3))
	}
	f.Fuzz(func(t *testing.T, s string, size uint8) {
		clean := printable(s)
		isSafe(t, s, clean)
		if again := printable(clean); again != clean {
			t.Fatalf("printable(%q) = %q, again %q", s, clean, again)
		}
		if utf8.ValidString(s) {
			var pieces strings.Builder
			for chunk := range slices.Chunk([]rune(s), 1+int(size)) {
				pieces.WriteString(printable(string(chunk)))
			}
			if pieces.String() != clean {
				t.Fatalf("printable(%q) in pieces is %q, want %q", s, pieces.String(), clean)
			}
		}
		for i, line := range strings.Split(plain(s), "\n") {
			if i > 0 && !strings.HasPrefix(line, "  ") {
				t.Fatalf("plain(%q) has the line %q", s, line)
			}
		}
		var out strings.Builder
		if err := json.NewEncoder(escaper{&out}).Encode(s); err != nil {
			t.Fatal(err)
		}
		isSafe(t, s, out.String())
		var want, back string
		b, _ := json.Marshal(s)
		if json.Unmarshal(b, &want) != nil || json.Unmarshal([]byte(out.String()), &back) != nil || back != want {
			t.Fatalf("%q is %q as safe JSON", s, back)
		}
		n := int(size) % 40
		if line := fitted(clean, n); cells(line) > max(0, n) {
			t.Fatalf("fitted(%q, %d) = %q has %d cells", clean, n, line, cells(line))
		}
	})
}

// isSafe wants text that a terminal shows and does not obey.
func isSafe(t *testing.T, from, s string) {
	t.Helper()
	for _, r := range s {
		if r != '\n' && r != '\t' && unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			t.Fatalf("%q becomes %q", from, s)
		}
	}
}

// FuzzCommandLine holds that any words are carried out as they stand or refused
// in one message with exit code 2: no word is lost, none makes the program
// panic.
func FuzzCommandLine(f *testing.F) {
	for _, s := range []string{
		"ask\x00What?", "ask\x00--quick\x00--detailed\x00x", "ask\x00--json=maybe\x00x", "ask\x00--\x00--json", "ask\x00x\x00--json", "ask\x00-",
		"--stdio\x00--debug\x00/tmp/x\x00--debug", "--debug\x00--stdio", "--model", "--model\x00\x1b[2J", "doctor\x00now", "setup\x00Claude\x00Code\x00--via\x00npx",
		"smoke\x00--tool\x00x\x00y", "--nonsense\n\x1b[2J", "-\x00--", "\xff", "", "--show-config=x", "help",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		args := strings.Split(line, "\x00")
		words := joinDebug(args)
		if back := strings.Join(words, " "); len(words) > len(args) || strings.ReplaceAll(back, "=", " ") != strings.ReplaceAll(strings.Join(args, " "), "=", " ") {
			t.Fatalf("joinDebug(%q) = %q", args, words)
		}
		for name, parse := range map[string]func() (*flags, error){
			"ask": func() (*flags, error) {
				ask, err := parseAsk(args)
				if ask == nil {
					return nil, err
				}
				return ask.flags, err
			},
			"flags": func() (*flags, error) {
				f := newFlags("x")
				return f, f.parse(words)
			},
		} {
			f, err := parse()
			if err == nil && (f.NArg() > len(args) || name == "ask" && !slices.Equal(f.Args(), args[len(args)-f.NArg():])) {
				t.Fatalf("%s: %q leaves %q", name, args, f.Args())
			}
			if err == nil || errors.Is(err, errHelp) {
				continue
			}
			var errs strings.Builder
			a := &app{stdout: io.Discard, stderr: &errs}
			if code := a.report(err); code != exitUsage || !strings.HasPrefix(errs.String(), "openai-responses-mcp: error: ") {
				t.Fatalf("%s: %q: exit code %d, %q", name, args, code, errs.String())
			}
			isSafe(t, line, errs.String())
		}
	})
}
