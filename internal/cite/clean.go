package cite

import (
	"regexp"
	"strings"
)

// tracker matches the query parameter that the API adds to links, with the separator that goes with
// it: the one after it, or the one before the last parameter. The submatches are what stays.
var tracker = regexp.MustCompile(
	`([?&])utm_source=openai&|[?&]utm_source=openai($|[^\w.-]|\.(?:\s|$))`)

// citationMarker matches a citation marker and the space before it. The API writes it with
// private-use characters: U+E200, fields with others between them, and U+E201, which is missing if
// the text was cut short.
var citationMarker = regexp.MustCompile(
	` ?\x{E200}[^\x{E200}\x{E201}\n]*(?:\x{E201}|$)|[\x{E200}-\x{E2FF}]`)

// Clean removes what the API adds to the text of the model: citation markers, and
// utm_source=openai in links.
func Clean(s string) string {
	const firstByte = "\xee" // of U+E200 to U+E2FF in UTF-8
	if strings.Contains(s, firstByte) {
		s = citationMarker.ReplaceAllString(s, "")
	}
	return untracked(s)
}

func untracked(s string) string {
	if !strings.Contains(s, "utm_source") { // most texts, for which the search is slow
		return s
	}
	return tracker.ReplaceAllString(s, "${1}${2}")
}
