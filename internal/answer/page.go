package answer

import (
	"net/url"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// tracker is the query parameter that the API adds to the URLs it cites.
const tracker = "utm_source=openai"

// Bounds of what a citation takes over from the web, which may be hostile: a
// longer URL is no use to a reader and is dropped, a longer title is cut.
const (
	maxURL   = 4096 // bytes
	maxTitle = 300  // characters
)

// pageURL cleans a URL for the list of sources: one line without spaces,
// without the utm_source=openai that the API appends and without a text
// fragment, both of which say how the page was found and not which page it is.
// Anything but http and https gives "". The URL is taken apart by hand because
// real ones are often not valid enough for net/url ("…/100%").
func pageURL(raw string) string {
	if len(raw) > maxURL {
		return ""
	}
	u := seen(strings.TrimSpace(strings.Map(visible, raw)))
	if !onWeb(u) {
		return ""
	}
	u = strings.ReplaceAll(u, " ", "%20")
	u, fragment, _ := strings.Cut(u, "#")
	u, query, _ := strings.Cut(u, "?")
	if query = dropTracking(query); query != "" {
		u += "?" + query
	}
	fragment, _, _ = strings.Cut(fragment, ":~:")
	// A tracker that was appended to the whole URL ends up behind the fragment.
	if rest, ok := strings.CutSuffix(fragment, tracker); ok {
		fragment = strings.TrimRight(rest, "?&")
	}
	if fragment != "" {
		u += "#" + fragment
	}
	return u
}

// onWeb reports whether a URL is http or https and names a host.
func onWeb(u string) bool {
	scheme, rest, _ := strings.Cut(u, "://")
	return (strings.EqualFold(scheme, "https") || strings.EqualFold(scheme, "http")) &&
		rest != "" && !strings.ContainsRune("/?#", rune(rest[0]))
}

// hasScheme reports whether a text starts as a URL of any kind does.
func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || isDigit(scheme[0]) || strings.ContainsRune("+.-", rune(scheme[0])) {
		return false
	}
	return strings.Trim(strings.ToLower(scheme), "abcdefghijklmnopqrstuvwxyz0123456789+.-") == ""
}

// dropTracking removes utm_source=openai wherever it stands in a query.
func dropTracking(query string) string {
	kept := make([]string, 0, 4)
	for part := range strings.SplitSeq(query, "&") {
		if part != tracker {
			kept = append(kept, part)
		}
	}
	return strings.Join(kept, "&")
}

// pageKey tells whether two cleaned URLs are one page. Scheme, case of the
// host, a trailing slash and an anchor make no other page; a fragment that
// starts with / or ! does, for sites that route by it.
func pageKey(u string) string {
	_, rest, _ := strings.Cut(u, "://")
	rest, fragment, _ := strings.Cut(rest, "#")
	route := ""
	if strings.HasPrefix(fragment, "/") || strings.HasPrefix(fragment, "!") {
		route = "#" + fragment
	}
	path, query, _ := strings.Cut(rest, "?")
	host, path, _ := strings.Cut(path, "/")
	return strings.ToLower(host) + "/" + strings.TrimRight(path, "/") + "?" + query + route
}

// sourceID cleans the identifier of a source that has no URL (oai-weather).
// It stands in the url field of a citation, so nothing that a client could
// follow as a link may pass (javascript:, data:, file:).
func sourceID(raw string) string {
	id := OneLine(raw)
	if hasScheme(id) {
		return ""
	}
	return id
}

// OneLine makes what somebody else wrote, a title for example, one line of at
// most 300 characters, without what a reader would not see or a terminal obey.
func OneLine(raw string) string {
	// The cut in bytes comes first: a megabyte is not worth walking through.
	// Four bytes a character and as much again for spaces that will collapse.
	if limit := 8 * maxTitle; len(raw) > limit {
		for limit > 0 && !utf8.RuneStart(raw[limit]) {
			limit--
		}
		raw = raw[:limit]
	}
	line := strings.Join(strings.Fields(strings.Map(visible, plain(raw))), " ")
	return Cut(line, maxTitle)
}

// Cut bounds a text to n characters, the last one then being an ellipsis.
func Cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n-1])) + "…"
}

// visible maps line breaks, tabs and every other kind of space to a plain
// space, and drops control characters and what else shows nothing: marks that
// can make a URL read as another one, tags that only a model reads. It serves
// strings.Map.
func visible(r rune) rune {
	switch {
	case unicode.IsSpace(r):
		return ' '
	case r == '\u200c', r == '\u200d': // join letters and emoji
		return r
	case unicode.IsControl(r), r == utf8.RuneError, unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return -1
	}
	return r
}

// seen escapes what takes no room in a URL, or looks like a space: a reader
// would take it for the one without.
func seen(u string) string {
	if !strings.ContainsFunc(u, func(r rune) bool { return r > unicode.MaxASCII }) {
		return u
	}
	return blanks().ReplaceAllStringFunc(u, url.PathEscape)
}

// blanks are characters that show nothing and are no spaces by their category:
// joiners, fillers of Hangul, an empty pattern of Braille, selectors of glyphs.
var blanks = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`[\x{034f}\x{115f}\x{1160}\x{17b4}\x{17b5}\x{180b}-\x{180f}\x{200c}\x{200d}\x{2800}\x{3164}\x{fe00}-\x{fe0f}\x{ffa0}\x{e0100}-\x{e01ef}]+`)
})
