package cite

import (
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// tracker is the query parameter that the API adds to links.
const tracker = "utm_source=openai"

// Clean removes what the API adds to the text of the model: citation markers, and utm_source=openai
// in links. It does not change code.
func Clean(s string) string {
	if strings.Contains(s, "entity") || strings.Contains(s, "\ue200url") {
		s = unwrapWords(s)
	}
	if candidates := literalsIn(s); len(candidates) > 0 {
		s = removeMarkers(s, candidates)
	}
	return removeTrackers(s, false)
}

// wordMarker matches a marker of ChatGPT around words of the text. Its submatches are:
//
//	1     the name in entity["city","Paris","capital of France"]
//	2, 3  the words and the address of a link; the address may be the name of a result
//	      (turn0search0)
var wordMarker = text.LazyRegexp(
	`^(?:` + entityStart + jsonText + `, ?"((?:[^"\\\n]|\\.)*)"` +
		`(?:` + jsonText + `|[^"\]\n])*\]\x{E201}?|` +
		linkStart + `([^\x{E200}-\x{E202}\n]+)\x{E202}([^\x{E200}-\x{E202}\n]*)\x{E201})`)

// wordMarkerStart matches the start of a wordMarker. A name ends before the next start, and a link,
// whose words may have the start of a name, before the next U+E200. A marker without a bound could
// be followed from each start to the end of the text, in quadratic time.
var wordMarkerStart = text.LazyRegexp(entityStart + `"|` + linkStart)

// Parts of wordMarker; jsonText matches a text in JSON.
const (
	entityStart = `\x{E200}?\b(?:product_)?entity\x{E202}?\[`
	linkStart   = `\x{E200}url\x{E202}`
	jsonText    = `"(?:[^"\\\n]|\\.)*"`
)

// unwrapWords replaces the markers around words by the words, or by a link. It does not change
// code.
func unwrapWords(s string) string {
	codeParts := codeIn(s)
	var b strings.Builder
	written := 0
	starts := wordMarkerStart().FindAllStringIndex(s, -1)
	starts = append(starts, []int{len(s)}) // where the last marker ends, at most
	for i, next := range starts[1:] {
		start, end := starts[i][0], next[0]
		if start < written { // in the words of a link
			continue
		}
		if afterMark, isLink := strings.CutPrefix(s[start:], "\ue200url"); isLink {
			words, _, _ := strings.Cut(afterMark, "\ue200")
			end = start + len("\ue200url") + len(words)
		}
		m := wordMarker().FindStringSubmatch(s[start:end])
		if m == nil || codeParts.endAt(start) >= 0 {
			continue
		}

		b.WriteString(s[written:start])
		written = start + len(m[0])
		name, words, address := m[1], m[2], m[3]
		switch {
		case name != "":
			b.WriteString(strings.ReplaceAll(name, `\"`, `"`))
		case strings.HasPrefix(address, "http"):
			b.WriteString("[" + words + "](" + address + ")")
		default:
			b.WriteString(words)
		}
	}
	return b.String() + s[written:]
}

//go:embed markers.table
var markersTable string

// marker matches a citation marker with the space that goes with it, and brackets that contain only
// markers. If the submatch is set, the match is a part of a path that looks like a marker.
var marker = sync.OnceValue(readMarker)

func readMarker() *regexp.Regexp {
	sides := map[string][]string{}
	for _, row := range rows(markersTable) {
		sides[row[1]] = append(sides[row[1]], row[2])
	}

	one := "(?: ?(?:" + strings.Join(sides["after"], "|") + ")|" +
		"(?:" + strings.Join(sides["before"], "|") + ") ?)"
	return regexp.MustCompile(`(?m)((?:/citeturn\w*)+[/?#])|` +
		` ?[\[(（【](?:` + one + `[,;、]?)+ ?[\])）】]|` + one)
}

// markerLiterals are short strings of which each text with a marker contains one at least
// (markers.table).
var markerLiterals = sync.OnceValue(readMarkerLiterals)

func readMarkerLiterals() (all []string) {
	for _, row := range rows(markersTable) {
		list, _ := strconv.Unquote(`"` + row[0] + `"`)
		all = append(all, strings.Split(list, ",")...)
	}
	slices.Sort(all)
	return slices.Compact(all)
}

// literalsIn returns the indexes of the markerLiterals in a text, in order.
func literalsIn(s string) (all []int) {
	for _, literal := range markerLiterals() {
		end := 0 // of the previous one
		for before := range strings.SplitSeq(s, literal) {
			at := end + len(before)
			if at < len(s) { // else no literal follows
				all = append(all, at)
			}
			end = at + len(literal)
		}
	}
	slices.Sort(all)
	return all
}

// beforeLiteral is how many bytes of a marker may be before its literal, at most.
const beforeLiteral = 16

// blankLine matches the end of a paragraph.
var blankLine = text.LazyRegexp(`\n\s*\n`)

// linkEnd matches what follows brackets if they have the text of a link, [a](URL), or its label,
// [a]: URL.
var linkEnd = text.LazyRegexp(`^(?:\(|: *https?:)`)

// removeMarkers removes the markers that are not in code. candidates are the indexes of literals.
// The expression is slow, so it only searches from a literal to the end of the paragraph.
func removeMarkers(s string, candidates []int) string {
	codeParts := codeIn(s)
	var b strings.Builder
	written, at := 0, 0 // up to where s is written or left out, and up to where it is examined
	end := 0            // of the paragraph

	for len(candidates) > 0 {
		if candidates[0] < at {
			candidates = candidates[1:]
			continue
		}

		at = max(at, candidates[0]-beforeLiteral)
		for !utf8.RuneStart(s[at]) {
			at++
		}
		if at >= end {
			end = len(s)
			blank := blankLine().FindStringIndex(s[at:])
			if blank != nil {
				end = at + blank[1]
			}
		}
		m := marker().FindStringSubmatchIndex(s[at:end])
		if m == nil {
			at = end
			continue
		}

		from, to := at+m[0], at+m[1]
		at = to
		codeEnd := codeParts.endAt(from)
		isPath := m[2] >= 0
		isLink := s[to-1] == ']' && linkEnd().MatchString(s[to:end])
		switch {
		case codeEnd >= 0:
			at = codeEnd
		case !isPath && !isLink:
			b.WriteString(s[written:from])
			written = to
		}
	}
	return b.String() + s[written:]
}

var (
	// trackerAndNext matches the tracker, perhaps several times, and what separates it from the next
	// parameter. In HTML "&" is "&amp;".
	trackerAndNext = text.LazyRegexp(tracker + `(?:&(?:amp;)?` + tracker + `\b)*(&(?:amp;)?)?`)

	// separator matches what separates a parameter from the text before it.
	separator = text.LazyRegexp(`(?:\?|&(?:amp;)?)$`)

	// queryEnd matches what follows a parameter that is the last one of its URL.
	queryEnd = text.LazyRegexp(`^[._-]*(?:$|[^\w.-])`)

	// addressStart matches the beginning of a URL, up to a parameter. It may have no scheme.
	addressStart = text.LazyRegexp(
		`https?://|(?:^|[\s"'<>()\[\]*_（「])[\pL\pN-]+(?:\.[\pL\pN-]+)+(?::\d+)?[/?][^\s"'<>\[\]]*$`)
)

// removeTrackers removes the tracker from all addresses that are not in code. With the tracker goes
// one separator: the "&" after it or, if it is the last parameter, the separator before it. A
// tracker is in an address if an addressStart precedes it in its word. With isAddress, s itself
// continues an address, as the part of a URL after the host does (PageURL).
func removeTrackers(s string, isAddress bool) string {
	if !strings.Contains(s, tracker) {
		return s
	}

	codeParts := codeIn(s)
	var b strings.Builder
	written, examined := 0, 0 // up to where s is written, and up to where it is examined
	inAddress := isAddress    // whether the word that was examined last is an address
	for _, m := range trackerAndNext().FindAllStringSubmatchIndex(s, -1) {
		from, to := m[0], m[1]
		space := strings.LastIndexAny(s[examined:from], " \t\r\n")
		word := s[examined+space+1 : from]
		sameWord := space < 0
		inAddress = inAddress && sameWord || addressStart().MatchString(word)
		examined = from + len(tracker)

		before := separator().FindString(s[max(written, from-len("&amp;")):from])
		hasNext := m[2] >= 0
		switch {
		case !inAddress || before == "" || codeParts.endAt(from) >= 0:
			continue
		case hasNext:
			b.WriteString(s[written:from])
		case queryEnd().MatchString(s[to:]):
			b.WriteString(s[written : from-len(before)])
		default:
			continue
		}
		written = to
	}
	return b.String() + s[written:]
}
