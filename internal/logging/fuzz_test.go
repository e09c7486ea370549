package logging

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"github.com/lmittmann/tint"
)

// encodings are the ways in which a key travels, each with its way back.
var encodings = []struct {
	name   string
	encode func(string) string
}{
	{"plain", func(s string) string { return s }},
	{"Go", strconv.Quote},
	{"Go, ASCII", strconv.QuoteToASCII},
	{"query", url.QueryEscape},
	{"path", url.PathEscape},
	{"JSON", jsonOf},
	{"JSON in JSON", func(s string) string { return jsonOf(jsonOf(s)) }},
	{"JSON in JSON in JSON", func(s string) string { return jsonOf(jsonOf(jsonOf(s))) }},
	{"all \\u", func(s string) string { return each(s, `\u%04x`) }},
	{"all \\u in JSON", func(s string) string { return jsonOf(each(s, `\u%04X`)) }},
	{"all %", func(s string) string { return each(s, "%%%02X") }},
	{"base64", func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }},
	{"Basic", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s)) }},
	{"bearer in base64", func(s string) string { return base64.URLEncoding.EncodeToString([]byte("Bearer " + s + "\n")) }},
	{"hex", func(s string) string { return hex.EncodeToString([]byte(s)) }},
	{"HEX", func(s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) }},
	{"ends", func(s string) string { return s[:7] + strings.Repeat("*", 20) + s[len(s)-4:] }},
	{"dots", func(s string) string { return s[:6] + "..." + s[len(s)-4:] }},
	{"base64, cut", func(s string) string { return base64.StdEncoding.EncodeToString([]byte("me:" + s))[:len(s)] }},
	{"cut at its end", func(s string) string { return s[:len(s)*2/3] }},
	{"cut at its start", func(s string) string { return s[len(s)/2:] }},
}

func jsonOf(s string) string { return `"` + jsonText(s, true) + `"` }

func each(s, format string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		fmt.Fprintf(&b, format, c)
	}
	return b.String()
}

// FuzzRedact holds that a key that a text carries in any encoding, or in part,
// cannot be read from the text any more, and that what is redacted stays so.
func FuzzRedact(f *testing.F) {
	for i := range encodings {
		f.Add("before ", " after", "Zq7XbT0wPl94mKfR8uHs", uint8(i))
		f.Add(`{"a":"\`, `\","b":1}`, "0f3c9a77b1de42aa8c55e0d4", uint8(i))
		f.Add("https://u:", "@h.example/?k=%2", "sk-proj-Ab3_x9-Zz81kQ0LmN4", uint8(i))
	}
	f.Add("Authorization: Basic ", "==", "a1+/=.~_-b2c3d4e5f6", uint8(11))
	f.Add("a**", "**b", "Zq7XbT0wPl94mKfR8uHs", uint8(0))
	f.Fuzz(func(t *testing.T, before, after, key string, way uint8) {
		if !keyLike(key) {
			return
		}
		enc := encodings[int(way)%len(encodings)]
		redact := Redact(key)
		got := redact(before + enc.encode(key) + after)
		if part := readable(got, key); part != "" {
			t.Fatalf("%s of %q between %q and %q: %q can be read in %q", enc.name, key, before, after, part, got)
		}
		if again := redact(got); readable(again, key) != "" {
			t.Fatalf("redacting %q again gives %q", got, again)
		}
	})
}

// keyLike picks what can be a key: an HTTP token that is long and no word.
func keyLike(key string) bool {
	const token = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~+/="
	return len(key) >= tellable && len(key) < 200 && strings.Trim(key, token) == "" && chance(key)
}

// readable returns what can be read of a key: a piece of it that is no word, as
// it is or after decoding.
func readable(text, key string) string {
	texts := []string{text}
	if s, err := url.PathUnescape(text); err == nil {
		texts = append(texts, s)
	}
	var s string
	if json.Unmarshal([]byte(text), &s) == nil {
		texts = append(texts, s)
	}
	for _, text := range texts {
		for _, form := range append(encoded(key), key) {
			for i := range len(form) - piece + 1 {
				if part := form[i : i+piece]; chance(part) && strings.Contains(text, part) {
					return part
				}
			}
		}
	}
	return ""
}

// FuzzLine holds that a record is one line of plain text, whatever it says: it
// forges no second one and steers no terminal, with colours and without.
func FuzzLine(f *testing.F) {
	for _, s := range []string{"a\nb", "a \x1b[2Jb", `a \x1b[31mb`, "\u009b31m x", "\u202e=\u2066", "\xff\xfe \x9b", "\ufeff\u200b\U000e0041", "\r\x00\x7f", `\\x1b c`, "\u2028x", ""} {
		f.Add(s, "name", s)
		f.Add("m", s, "x"+s)
	}
	const secret = "Zq7XbT0wPl94mKfR8uHs"
	f.Add(secret[:9]+"\x1b[0m"+secret[9:], "k", secret[:9]+"\xff"+secret[9:])
	f.Fuzz(func(t *testing.T, message, name, value string) {
		for _, plain := range []bool{true, false} {
			var b strings.Builder
			h := &handler{red: newRedactor([]string{secret}), next: tint.NewTextHandler(&b, &tint.Options{Level: slog.LevelDebug, NoColor: plain})}
			log := slog.New(h)
			log.Debug(message, name, value, slog.Group(name, "v", value), "e", fmt.Errorf("e: %s", value), "b", []byte(value), "m", map[string]any{name: value})
			line, ok := strings.CutSuffix(b.String(), "\n")
			if !plain {
				line = uncoloured(line)
			}
			if i := strings.IndexFunc(line, func(r rune) bool { return !unicode.IsPrint(r) }); !ok || i >= 0 {
				t.Fatalf("colours %v: the record became %q", !plain, b.String())
			}
			if strings.Contains(line, secret) {
				t.Fatalf("the record shows the secret: %q", line)
			}
		}
	})
}

// uncoloured takes tint's own sequences out of a line: those that set colours
// between its parts.
func uncoloured(line string) string {
	for _, own := range []string{"\x1b[2m", "\x1b[0m", "\x1b[22m", "\x1b[2;"} {
		line = strings.ReplaceAll(line, own, "")
	}
	return line
}

// BenchmarkRedact is what the debug log costs a long answer.
func BenchmarkRedact(b *testing.B) {
	text := strings.Repeat(`{"type":"response.output_text.delta","delta":"It rains in Tokyo.\n","sequence_number":12},`, 1000)
	redact := Redact("sk-proj-Zq7XbT0wPl94mKfR8uHs")
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		_, _ = io.WriteString(io.Discard, redact(text))
	}
}
