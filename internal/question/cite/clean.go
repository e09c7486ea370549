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

var (
	// queryEnd matches what follows the last parameter of a URL.
	queryEnd = text.Regexp(`^(?:$|[^\w.-]|\.(?:\s|$))`)

	// bareAddress matches the beginning of a URL without a scheme, up to a parameter.
	bareAddress = text.Regexp(
		`(?:^|[\s"'<>()\[\]*_（「])[\pL\pN-]+(?:\.[\pL\pN-]+)+(?::\d+)?[/?][^\s"'<>\[\]]*$`)
)

//go:embed markers.table
var markersTable string

// marker matches a marker with the space that goes with it, and brackets that hold nothing else.
// The submatch is a part of a path that looks like a marker.
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

// hints are what texts with markers have, each once.
var hints = sync.OnceValue(readHints)

func readHints() (all []string) {
	for _, row := range rows(markersTable) {
		list, _ := strconv.Unquote(`"` + row[0] + `"`)
		for hint := range strings.SplitSeq(list, ",") {
			if !slices.Contains(all, hint) {
				all = append(all, hint)
			}
		}
	}
	return all
}

// mayHaveMarkers reports whether a text has a hint.
func mayHaveMarkers(s string) bool {
	return slices.ContainsFunc(hints(), func(hint string) bool { return strings.Contains(s, hint) })
}

// beforeHint is how many bytes of a marker may be before its hint, at most.
const beforeHint = 16

// nextMarkers says where markers may begin. The expression is slow: what is before them is not
// searched.
type nextMarkers struct {
	s    string
	next []int // where each hint is next
}

// from returns where a marker may begin, from a byte of the text on, or the length of the text.
func (n nextMarkers) from(at int) int {
	first := len(n.s)
	for i, hint := range hints() {
		if n.next[i] < at {
			k := strings.Index(n.s[at:], hint)
			n.next[i] = at + k
			if k < 0 {
				n.next[i] = len(n.s)
			}
		}
		first = min(first, n.next[i])
	}
	if first == len(n.s) {
		return first
	}

	begin := max(at, first-beforeHint)
	for !utf8.RuneStart(n.s[begin]) {
		begin++
	}
	return begin
}

// linkEnd matches what follows the text of a link, or the name of one.
var linkEnd = text.Regexp(`^(?:\(|: *https?:)`)

// Clean removes what the API adds to the text of the model: citation markers, and utm_source=openai
// in links. Code stays as it is.
func Clean(s string) string {
	if mayHaveMarkers(s) {
		s = unmarked(s)
	}
	if strings.Contains(s, tracker) {
		s = untrackedLinks(s)
	}
	return s
}

// unmarked removes the markers outside code, paragraph by paragraph.
func unmarked(s string) string {
	found := codeIn(s)
	next := nextMarkers{s, slices.Repeat([]int{-1}, len(hints()))}
	var b strings.Builder
	start, end := 0, 0 // of the paragraph
	for line := range strings.Lines(s) {
		end += len(line)
		if strings.TrimSpace(line) == "" || end == len(s) {
			found.unmark(&b, next, start, end)
			start = end
		}
	}
	return b.String()
}

// unmark writes a paragraph of a text without its markers.
func (c code) unmark(b *strings.Builder, next nextMarkers, start, end int) {
	s := next.s
	done := start // what is before it is written
	for at := start; ; {
		at = next.from(at)
		if at >= end {
			break
		}
		m := marker().FindStringSubmatchIndex(s[at:end])
		if m == nil {
			break
		}
		from, to := at+m[0], at+m[1]
		at = to

		codeEnd := c.at(from)
		link := s[to-1] == ']' && linkEnd().MatchString(s[to:end])
		switch {
		case codeEnd >= 0:
			at = codeEnd
		case m[2] < 0 && !link:
			b.WriteString(s[done:from])
			done = to
		}
	}
	b.WriteString(s[done:end])
}

// untrackedLinks removes the parameter from the addresses outside code. The text up to the first
// parameter of a word says whether the word is an address.
func untrackedLinks(s string) string {
	const spaces = " \t\r\n"
	found := codeIn(s)
	var b strings.Builder
	done, wordEnd := 0, 0 // what is before them is written, and read
	isAddress := false

	for at := 0; ; {
		next := strings.Index(s[at:], tracker)
		if next < 0 {
			return b.String() + s[done:]
		}
		from := at + next
		at = from + len(tracker)

		if from >= wordEnd {
			word := s[wordEnd:from]
			word = word[strings.LastIndexAny(word, spaces)+1:]
			isAddress = strings.Contains(word, "http://") || strings.Contains(word, "https://") ||
				bareAddress().MatchString(word)
			wordEnd = at // of what is no address
			end := strings.IndexAny(s[at:], spaces)
			if isAddress {
				wordEnd = len(s)
			}
			if isAddress && end >= 0 {
				wordEnd = at + end
			}
		}
		if isAddress && found.at(from) < 0 {
			before, after := untrack(s[done:from], s[at:])
			b.WriteString(before)
			done = len(s) - len(after)
		}
	}
}

// untracked removes the parameter from the end of a URL.
func untracked(s string) string {
	var b strings.Builder
	before, after, found := strings.Cut(s, tracker)
	for found {
		before, after = untrack(before, after)
		b.WriteString(before)
		before, after, found = strings.Cut(after, tracker)
	}
	return b.String() + before
}

// untrack removes the parameter between two texts with the separator that goes with it: the one
// after it, or the one before the last parameter.
func untrack(before, after string) (string, string) {
	front := strings.TrimSuffix(before, "amp;") // of "&amp;"
	separated := strings.HasSuffix(front, "&") || strings.HasSuffix(before, "?")
	switch {
	case separated && strings.HasPrefix(after, "&"):
		return before, strings.TrimPrefix(after[1:], "amp;")
	case separated && queryEnd().MatchString(after):
		return front[:len(front)-1], after
	}
	return before + tracker, after
}
