// Package text bounds and cleans text that other parties wrote: the model, web pages, the API and
// MCP clients. It also splits lists, fills templates, and knows what a host name is, which hosts
// are this machine, and which name a typing error stands for.
package text

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/agnivade/levenshtein"
)

// Truncate returns s with at most n characters, n > 0. The last one is an ellipsis when s is cut.
func Truncate(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}

	end := 0
	for range n - 1 {
		_, size := utf8.DecodeRuneInString(s[end:])
		end += size
	}
	return strings.TrimRightFunc(s[:end], unicode.IsSpace) + "…"
}

// Printable returns s without the characters that Unsafe names, and with U+FFFD for each byte that
// is not UTF-8. It looks at single characters, so a sequence that is split over several calls is
// removed as well. The variant of a Han character stays (葛 and U+E0100).
func Printable(s string) string {
	var previous rune
	return strings.Map(func(r rune) rune {
		variant := r >= '\U000e0100' && r <= '\U000e01ef' && unicode.Is(unicode.Han, previous)
		previous = r
		if Unsafe(r) && !variant {
			return -1
		}
		return r
	}, s)
}

// OneLine returns s as one printable line: each run of white space becomes one space, and there is
// none at the ends.
func OneLine(s string) string {
	line := strings.Join(strings.Fields(s), " ") // some white space is unsafe
	return strings.Join(strings.Fields(Printable(line)), " ")
}

// Unsafe reports whether a terminal obeys r instead of showing it, or shows nothing for it: control
// characters except line feed and tab, Unicode format characters such as bidirectional controls and
// tags, variation selectors, fillers, and the Unicode line and paragraph separators. The joiners of
// letters and emoji, and the selectors of text and emoji style, are safe.
func Unsafe(r rune) bool {
	const blankBraille = '\u2800'
	plain := r >= ' ' && r <= '~' // most characters, which need no table
	if plain {
		return false
	}
	switch r {
	case '\n', '\t', '\u200c', '\u200d', '\ufe0e', '\ufe0f':
		return false
	case '\u2028', '\u2029', blankBraille:
		return true
	}

	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // format characters that are visible
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point) // such as fillers
}

// List returns the entries of a list, which commas or white space separate. A byte order mark may
// precede it.
func List(s string) []string {
	separates := func(r rune) bool {
		return r == ',' || r <= ' '
	}
	return strings.FieldsFunc(strings.TrimPrefix(s, "\ufeff"), separates)
}

// Enumerate joins words with commas, and the last one with a word of its own, such as " and ".
func Enumerate(words []string, and string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + and + words[last]
}

// IsHostName reports whether s is a host name with at least two labels, such as example.com,
// sub.example.co.jp or 日本語.jp. URLs, wildcards, ports, IP addresses, a leading or trailing dot and
// lists are not host names.
func IsHostName(s string) bool {
	return hostName().MatchString(s)
}

// hostName matches host names. To compile it takes a tenth of a start, most of which do not need
// it.
var hostName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(?:[\pL\pN][\pL\pM\pN-]*\.)+\pL[\pL\pM\pN-]*$`)
})

// IsLoopback reports whether a host is this machine (RFC 6761 for localhost).
func IsLoopback(host string) bool {
	named := strings.HasSuffix("."+strings.ToLower(host), ".localhost")
	return named || net.ParseIP(host).IsLoopback()
}

// Nearest returns the name that s most likely stands for, or "" if all are far.
// Of a name with dots the last part counts. The first of equally near names wins.
func Nearest(s string, names []string) string {
	nearest := ""
	least := max(2, len(s)/3) + 1 // edits that are too many
	for _, name := range names {
		last := name[strings.LastIndex(name, ".")+1:]
		distance := levenshtein.ComputeDistance(strings.ToLower(s), last)
		part := len(s) > 2 && strings.Contains(last, s)
		longer := strings.HasPrefix(s, last+"-") // codex-cli, codex
		if part || longer {
			distance = min(distance, 1)
		}

		if distance < min(least, len(last)) {
			nearest = name
			least = distance
		}
	}
	return nearest
}

// Label returns what a client writes in one short line.
func Label(s string) string {
	return Truncate(OneLine(s), 100)
}

// EscapeJSON escapes the characters of a JSON document that Unsafe names. Only its strings can have
// them.
func EscapeJSON(doc []byte) (escaped []byte) {
	for _, r := range string(doc) {
		if !Unsafe(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// Expand replaces words such as $NAME or ${NAME} in a template by their values. Words without a
// value stay, and a value is not expanded.
func Expand(template string, values map[string]string) string {
	return os.Expand(template, func(word string) string {
		value, found := values[word]
		if !found {
			return "$" + word
		}
		return value
	})
}

// Regexp returns a regular expression that is compiled at its first use: a session needs few of
// them, and compiling all takes a third of the start. Inlined, it would add 50 KB to the program.
//
//go:noinline
func Regexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
