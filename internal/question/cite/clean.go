package cite

import (
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// tracker is the query parameter that the API adds to links.
const tracker = "utm_source=openai"

// queryEnd matches what follows the last parameter of a URL.
var queryEnd = text.Regexp(`^(?:$|[^\w.-]|\.(?:\s|$))`)

// marker matches a citation marker and the space before it. The API writes it with
// private-use characters: U+E200, fields with U+E202 between them, and U+E201, which is missing if
// the text was cut short. Gateways drop these characters ("citeturn0search0turn1view2") or have
// spaces in their place.
const marker = `(?: ?(?:` +
	`\x{E200}[^\x{E200}\x{E201}\n]*\x{E201}|` +
	`\x{E200}?\b(?:file)?cite` +
	`(?:(?:[ \x{E202}]?turn\d+[a-z]+\d+(?:\x{E202}?L\d+(?:-L\d+)?)?)+` +
	`(?:\x{E202}?turn\d+[a-z]*$)?|\x{E202}?turn\d+[a-z]*$)|` +
	`\x{E200}[\w\x{E202}-]*$|` +
	`\x{E200}[^\x{E200}\x{E201}\n]*\z)|` +
	`[\x{E200}-\x{E2FF}])`

// citationMarker matches markers, with brackets that hold nothing else. The submatch is what only
// looks like a marker: a word in code or in a path.
var citationMarker = text.Regexp(
	"(?m)(`[^`\n\\x{E200}-\\x{E2FF}]*`|" + `(?:/citeturn\w*)+[/?#])|` +
		` ?[\[(（【](?:` + marker + `[,;、]?)+ ?[\])）】]|` + marker)

const firstByte = '\xee' // of U+E200 to U+E2FF in UTF-8

// Clean removes what the API adds to the text of the model: citation markers, and
// utm_source=openai in links.
func Clean(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		mayHaveMarkers := strings.IndexByte(line, firstByte) >= 0 ||
			strings.Contains(line, "citeturn") ||
			strings.Contains(line, "cite turn")
		if mayHaveMarkers {
			line = unmarked(line)
		}
		b.WriteString(line)
	}
	return untracked(b.String())
}

// unmarked removes the markers of a line.
func unmarked(line string) string {
	var b strings.Builder
	for {
		start := beforeMarker(line)
		at := citationMarker().FindStringSubmatchIndex(line[start:])
		if at == nil {
			return b.String() + line
		}

		b.WriteString(line[:start+at[0]])
		if at[2] >= 0 {
			b.WriteString(line[start+at[2] : start+at[3]])
		}
		line = line[start+at[1]:]
	}
}

// beforeMarker returns where a match of citationMarker may begin. The expression is slow: what is
// before it is not searched.
func beforeMarker(line string) int {
	const before = len(" 【 filecite") // of a match, at most
	for i := range len(line) {
		found := line[i] == '`' || line[i] == firstByte || strings.HasPrefix(line[i:], "cite")
		if found {
			return max(0, i-before)
		}
	}
	return len(line)
}

// untracked removes the parameter with the separator that goes with it: the one after it, or the
// one before the last parameter.
func untracked(s string) string {
	var b strings.Builder
	before, after, found := strings.Cut(s, tracker)

	for found {
		separated := strings.HasSuffix(before, "?") || strings.HasSuffix(before, "&")
		switch {
		case separated && strings.HasPrefix(after, "&"):
			after = after[1:]
		case separated && queryEnd().MatchString(after):
			before = before[:len(before)-1]
		default:
			before += tracker
		}
		b.WriteString(before)
		before, after, found = strings.Cut(after, tracker)
	}
	return b.String() + before
}
