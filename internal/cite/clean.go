package cite

import (
	"regexp"
	"strings"
)

// tracker is the query parameter that the API adds to links.
const tracker = "utm_source=openai"

// trackerInURL matches the parameter with the separator that goes with it. The submatches stay: the
// separator before other parameters, or what follows the URL.
var trackerInURL = regexp.MustCompile(
	`([?&])` + tracker + `&|[?&]` + tracker + `($|[^\w.&-]|\.(?:\s|$))`)

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
	if !strings.Contains(s, tracker) {
		return s
	}
	return trackerInURL.ReplaceAllString(s, "$1$2")
}
