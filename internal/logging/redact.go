package logging

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"log/slog"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

const (
	mark      = "[redacted]"
	minSecret = 4
)

// shapes are what a secret looks like when nobody told us of it: another key in
// a proxied error body, a header dump, a password in a URL. The expressions also
// see through the quotes and backslashes of text that is JSON inside JSON.
type shapes struct{ authHeader, apiKey, userInfo, base64 *regexp.Regexp }

// shape compiles them for the first text that may have one: most processes log
// nothing, and each would pay at its start.
var shape = sync.OnceValue(func() *shapes {
	return &shapes{
		authHeader: regexp.MustCompile(`(?i)((?:openai\.headers\.)?authorization[\\"']*\s*[:=][\s\\"'\[]*(?:(?:bearer|basic)\s+)?)(?:\[redacted\]|[^\s\\"',\[\]]+)`),
		apiKey:     regexp.MustCompile(`(^|[^A-Za-z0-9]|\\[nrtbf]|\\u[0-9a-fA-F]{4})sk-[A-Za-z0-9_*-]{8,}`),
		userInfo:   regexp.MustCompile(`(://)[^\s/@"'\\]+@`),
		base64:     regexp.MustCompile(`"[A-Za-z0-9+/]{6,}={0,2}"`),
	}
})

// redactor replaces secrets in text. It holds no state but what it looks for.
type redactor struct {
	known  func() *strings.Replacer // made once; it returns nil when no secret is known
	pieces func() *pieces           // made once
}

// Redact returns the function that replaces secrets in a text by [redacted], as
// log lines have them replaced: the given ones in every spelling, eight
// characters or more of one that was cut or masked, and what looks like one
// (Authorization: Bearer …, sk-…, a password in a URL). Secrets of fewer than
// four characters are ignored. It may be called by several goroutines; making
// it costs next to nothing.
func Redact(secrets ...string) func(string) string { return newRedactor(secrets).text }

// newRedactor takes the secrets down; what is looked for is worked out when the
// first text comes.
func newRedactor(secrets []string) *redactor {
	secrets = slices.Clone(secrets)
	return &redactor{
		known:  sync.OnceValue(func() *strings.Replacer { return replacer(secrets) }),
		pieces: sync.OnceValue(func() *pieces { return newPieces(secrets) }),
	}
}

// replacer prepares the replacement of each secret in every spelling that
// quoting or escaping gives it. A secret of fewer than four characters is
// ignored: replacing it would garble each line and so reveal it. It returns nil
// when none is left.
func replacer(secrets []string) *strings.Replacer {
	var forms []string
	for _, s := range secrets {
		if s = strings.TrimSpace(s); len(s) >= minSecret {
			forms = append(forms, spellings(s)...)
		}
	}
	// At one place of the text the earlier pattern wins: the longer one must,
	// when a secret is the beginning of another.
	slices.SortFunc(forms, func(a, b string) int {
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	})
	var pairs []string
	for _, f := range slices.Compact(forms) {
		pairs = append(pairs, f, mark)
	}
	if len(pairs) == 0 {
		return nil
	}
	return strings.NewReplacer(pairs...)
}

// spellings lists a secret as plain text, in Go quotes, in a URL, in JSON (with
// and without the escaping of <, > and &), in JSON within JSON, in hexadecimal
// digits and in base64.
func spellings(s string) []string {
	out := []string{s, url.QueryEscape(s), url.PathEscape(s), inner(strconv.Quote(s)), jsonText(s, false)}
	once := jsonText(s, true)
	return append(append(out, once, jsonText(once, true)), encoded(s)...)
}

// encoded is what hexadecimal digits and base64 make of a secret. base64 does so
// wherever in a text it stands (Basic credentials have a name in front): the
// characters that no neighbour has a bit in, for the three places that a byte
// can have in a group.
func encoded(s string) []string {
	digits := hex.EncodeToString([]byte(s))
	out := []string{digits, strings.ToUpper(digits)}
	for _, enc := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for skip := range 3 {
			text := enc.EncodeToString([]byte("__"[:skip] + s))
			first := (skip*8 + 5) / 6
			last := (skip + len(s)) * 8 / 6
			if last-first >= piece {
				out = append(out, text[first:last])
			}
		}
	}
	return out
}

func jsonText(s string, html bool) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(html)
	if enc.Encode(s) != nil { // a string always encodes
		return s
	}
	return inner(strings.TrimSuffix(b.String(), "\n"))
}

func inner(quoted string) string { return quoted[1 : len(quoted)-1] }

// text replaces every secret in s.
func (r *redactor) text(s string) string {
	if known := r.known(); known != nil {
		s = known.Replace(s)
	}
	if strings.Contains(strings.ToLower(s), "authorization") {
		s = replaceBut(shape().authHeader, s, "openai.headers.", "${1}"+mark) // the key of the configuration
	}
	if strings.Contains(s, "sk-") {
		s = shape().apiKey.ReplaceAllString(s, "${1}"+mark)
	}
	if strings.Contains(s, "://") {
		s = replaceBut(shape().userInfo, s, "://USER:PASSWORD@", "${1}"+mark+"@") // as in hints
	}
	return r.pieces().replace(s)
}

// replaceBut replaces what matches, but for what begins with keep.
func replaceBut(re *regexp.Regexp, s, keep, by string) string {
	return re.ReplaceAllStringFunc(s, func(m string) string {
		if strings.HasPrefix(m, keep) {
			return m
		}
		return re.ReplaceAllString(m, by)
	})
}

// decoded replaces the JSON strings of s that hide a secret in base64: that is
// how encoding/json writes bytes within a struct or map.
func (r *redactor) decoded(s string) string {
	if !strings.Contains(s, `"`) {
		return s
	}
	return shape().base64.ReplaceAllStringFunc(s, func(q string) string {
		b, err := base64.StdEncoding.DecodeString(inner(q))
		if err != nil || r.text(string(b)) == string(b) {
			return q
		}
		return `"` + mark + `"`
	})
}

// line is text for a place that nothing quotes: a message. What would break the
// line or steer a terminal is escaped.
func (r *redactor) line(s string) string {
	return r.text(escape(s, func(c rune) bool { return !unicode.IsPrint(c) }))
}

// attr redacts a's key and everything in its value.
func (r *redactor) attr(a slog.Attr) slog.Attr {
	v := a.Value.Resolve()
	switch v.Kind() {
	case slog.KindGroup:
		members := v.Group()
		clean := make([]slog.Attr, len(members))
		for i, m := range members {
			clean[i] = r.attr(m)
		}
		v = slog.GroupValue(clean...)
	case slog.KindString:
		v = slog.StringValue(r.value(v.String()))
	case slog.KindAny:
		v = slog.StringValue(r.value(r.decoded(render(v.Any()))))
	}
	if strings.Contains(strings.ToLower(a.Key), "authorization") {
		v = slog.StringValue(mark)
	}
	return slog.Attr{Key: r.value(a.Key), Value: v}
}

// value is text for a name or an attribute, which the handler quotes where
// needed, but not for a DEL. It also strips escape sequences and ends at a byte
// that is not UTF-8; both must happen before the secrets are looked for, or
// could join two halves of one. On a terminal it takes the escape \x1b for the
// character itself, so that one is spelled in the other way.
func (r *redactor) value(s string) string {
	s = escape(s, func(c rune) bool { return c == '\x1b' || c == '\x7f' || c == utf8.RuneError })
	return r.text(strings.ReplaceAll(s, `\x1b`, `\u001b`))
}

// escape writes the runes of s that bad names as Go escapes.
func escape(s string, bad func(rune) bool) string {
	if strings.IndexFunc(s, bad) < 0 {
		return s
	}
	var b strings.Builder
	for i, c := range s {
		switch {
		case !bad(c):
			b.WriteRune(c)
		case c == utf8.RuneError:
			_, n := utf8.DecodeRuneInString(s[i:])
			b.WriteString(inner(strconv.QuoteToASCII(s[i : i+n])))
		default:
			b.WriteString(inner(strconv.QuoteRuneToASCII(c)))
		}
	}
	return b.String()
}
