// Package text truncates and sanitizes text that other parties wrote: the model, web pages, the API
// and MCP clients. It also splits lists, expands templates, formats waits, names time zones,
// recognizes host names and loopback hosts, and finds the name that is nearest to a misspelled one.
package text

import (
	"fmt"
	"net"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"
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

// Printable returns s without the characters for which IsUnsafe is true, and with U+FFFD for each
// byte that is not UTF-8. It looks at single characters, so an escape sequence that is split over
// several calls becomes harmless, too. A variation selector after a Han character stays (葛 and
// U+E0100).
func Printable(s string) string {
	var previous rune
	return strings.Map(func(r rune) rune {
		variant := r >= '\U000e0100' && r <= '\U000e01ef' && unicode.Is(unicode.Han, previous)
		previous = r
		if IsUnsafe(r) && !variant {
			return -1
		}
		return r
	}, s)
}

// OneLine returns s as one printable line: each run of white space becomes one space, and there is
// none at the ends.
func OneLine(s string) string {
	line := strings.Join(strings.Fields(s), " ") // first: Printable removes some white space
	return strings.Join(strings.Fields(Printable(line)), " ")
}

// unreplaced matches ${NAME}, ${env:NAME}, ${{ secrets.NAME }}, {env:NAME}, $NAME and %NAME%.
var unreplaced = LazyRegexp(`^(\$?\{[\w:.{} -]+\}|\$[A-Za-z_]\w*|%\w+%)$`)

// IsUnreplaced reports whether s is a reference to a variable, in one of the forms that clients replace.
// A client that does not know the form of a reference passes it on as it is.
func IsUnreplaced(s string) bool { return unreplaced().MatchString(s) }

// IsUnsafe reports whether a terminal obeys r instead of showing it, or shows nothing for it:
// control characters except line feed and tab, Unicode format characters such as bidirectional
// controls and tags, variation selectors, fillers, and the Unicode line and paragraph separators.
// The joiners of letters and emoji, and the selectors of text and emoji style, are safe.
func IsUnsafe(r rune) bool {
	const blankBraille = '\u2800'
	isASCII := r >= ' ' && r <= '~' // most characters, which need no table
	if isASCII {
		return false
	}
	switch r {
	case '\n', '\t', '\u200c', '\u200d', '\ufe0e', '\ufe0f':
		return false
	case '\u2028', '\u2029', blankBraille:
		return true
	}

	if unicode.Is(unicode.Prepended_Concatenation_Mark, r) { // visible format characters
		return false
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point) // such as fillers
}

// SplitList returns the entries of a list that are separated by commas or white space. A byte order
// mark before the list is ignored.
func SplitList(s string) []string {
	isSeparator := func(r rune) bool {
		return r == ',' || r <= ' '
	}
	return strings.FieldsFunc(strings.TrimPrefix(s, "\ufeff"), isSeparator)
}

// Enumerate joins words with ", ", but the last two with and, such as " and ". There must be at
// least one word.
func Enumerate(words []string, and string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + and + words[last]
}

// MaxHost is the longest host name in bytes (RFC 1035 section 2.3.4). Mapping a name as browsers do
// takes time that grows with the square of its length.
const MaxHost = 253

// IsHostName reports whether s is a host name with at least two labels, such as example.com,
// sub.example.co.jp or 日本語.jp. URLs, wildcards, ports, IP addresses, a leading or trailing dot,
// lists and names of more than MaxHost bytes are not host names.
func IsHostName(s string) bool {
	return len(s) <= MaxHost && hostName().MatchString(s)
}

// hostName matches host names.
var hostName = LazyRegexp(`^(?:[\pL\pN][\pL\pM\pN-]*\.)+\pL[\pL\pM\pN-]*$`)

// IsLoopback reports whether a host is this machine: localhost and the names below it (RFC 6761),
// or a loopback address.
func IsLoopback(host string) bool {
	isLocalhost := strings.HasSuffix("."+strings.ToLower(host), ".localhost")
	return isLocalhost || net.ParseIP(host).IsLoopback()
}

// Nearest returns the one of names that the user most likely meant by s, or "" if none is near.
// Only the last part of a name with dots is compared. The first of equally near names wins.
func Nearest(s string, names []string) string {
	nearest := ""
	least := max(2, len(s)/3) + 1 // the least distance so far; at first, one that is too far
	for _, name := range names {
		last := name[strings.LastIndex(name, ".")+1:]
		distance := levenshtein.ComputeDistance(strings.ToLower(s), last)
		isPart := len(s) > 2 && strings.Contains(last, s)
		isLonger := strings.HasPrefix(s, last+"-") // codex-cli for codex
		if isPart || isLonger {
			distance = min(distance, 1)
		}

		if distance < min(least, len(last)) {
			nearest = name
			least = distance
		}
	}
	return nearest
}

// ShortLine returns s as one printable line of at most 100 characters. It is for names that clients
// send.
func ShortLine(s string) string {
	return Truncate(OneLine(s), 100)
}

// EscapeJSON replaces the characters of a JSON document for which IsUnsafe is true by \u escapes. A
// valid document has such characters only in its strings.
func EscapeJSON(doc []byte) (escaped []byte) {
	for _, r := range string(doc) {
		if !IsUnsafe(r) {
			escaped = utf8.AppendRune(escaped, r)
			continue
		}
		for _, unit := range utf16.Encode([]rune{r}) {
			escaped = fmt.Appendf(escaped, `\u%04x`, unit)
		}
	}
	return escaped
}

// Minutes returns a wait in hours and minutes, rounded up: "7 min", "20 h 16 min".
func Minutes(wait time.Duration) string {
	minutes := int64((wait + time.Minute - 1) / time.Minute)
	if minutes >= 60 {
		return fmt.Sprintf("%d h %d min", minutes/60, minutes%60)
	}
	return fmt.Sprintf("%d min", minutes)
}

// Zone returns the name of the time zone of t, or its offset, as in "UTC+01:00", if the zone has no
// IANA name: that of Windows, or of a file that TZ names.
func Zone(t time.Time) string {
	name := t.Location().String()
	if name == "Local" || strings.HasPrefix(name, "/") {
		return t.Format("UTC-07:00")
	}
	return name
}

// Expand replaces each $NAME and ${NAME} in a template by the value of NAME. A name without a value
// stays, as $NAME. Values are not expanded again.
func Expand(template string, values map[string]string) string {
	return os.Expand(template, func(word string) string {
		value, found := values[word]
		if !found {
			return "$" + word
		}
		return value
	})
}

// LazyRegexp returns a function that returns a regular expression, which is compiled at the first
// call: a process needs few of all expressions, and compiling all would take a third of the start.
// Inlining LazyRegexp would add 50 KB to the program.
//
//go:noinline
func LazyRegexp(expr string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })
}
