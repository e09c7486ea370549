package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	// heading matches the line above a list of sources: plain, bold or a
	// Markdown heading.
	heading = regexp.MustCompile(`(?i)^[#*_\s]*(?:sources|references|出典|参考|情報源)[*_:：\s]*$`)
	// entry matches a line of the list: a word or something with a URL, and the
	// date at the end.
	entry = regexp.MustCompile(`^\s*(?:(?:[-*+•・]|\d{1,3}[.)]|\[\d{1,3}\])\s*)?(?:[^\s　]+|.*https?://.*)` +
		`(?:\s*[(（](?:[^\d()（）]*[\s:：])?|[\s:：,、—–-]+)(\d{4}-\d{2}-\d{2})[)）.。*_\s]*$`)
	// link matches a URL in text without the punctuation that follows it.
	// Parentheses belong to it in pairs.
	link = regexp.MustCompile("https?://(?:[^" + outside + "]|" + parens + ")*(?:[^.,;:!?*_'`|" + outside + "]|" + parens + ")")
	// date matches 2025-12-05, 2025/12/05, 2025年12月5日 and 20251205.
	date = regexp.MustCompile(`(?:^|\D)((?:19|20)\d\d)(?:[-/年](\d{1,2})[-/月](\d{1,2})|(\d\d)(\d\d))(?:\D|$)`)
	// endsInDay matches a text that ends in a day, apart from punctuation.
	endsInDay = regexp.MustCompile(`\d日?[^\pL\pN]*$`)
)

const (
	outside = `\s<>()\[\]"（）「」『』、。，` // never in a link
	parens  = `\([^\s()]*\)`
)

// endsInSources reports whether the text ends with a list of sources as the
// policy asks for it: a heading, and entries that are each a URL, a link or an
// identifier with a date.
func endsInSources(body string) bool {
	dated := false
	for _, line := range slices.Backward(strings.Split(body, "\n")) {
		if m := entry.FindStringSubmatch(line); m != nil && firstDate(m[1]) != "" {
			dated = true
		} else if strings.TrimSpace(line) != "" {
			return dated && heading.MatchString(line)
		}
	}
	return false
}

// publishedAt returns the date of a source: the one that the text gives, else
// one in the path of the URL, else today, the date of access. Dates in the
// future are ignored.
func publishedAt(c Citation, body, today string) string {
	path, _, _ := strings.Cut(c.URL, "?")
	for _, d := range []string{dateInText(c, body), firstDate(path)} {
		if d != "" && d <= today {
			return d
		}
	}
	return today
}

// dateInText returns the date that the text gives for a source, or "". The list
// of sources is at the end, so the last line with a date for it counts.
func dateInText(c Citation, body string) string {
	for _, line := range slices.Backward(strings.Split(body, "\n")) {
		for _, rest := range mentions(c, line) {
			if d := firstDate(rest); d != "" && endsInDay.MatchString(rest) {
				return d
			}
		}
	}
	return ""
}

// mentions returns what follows each mention of a source in a line, up to the
// next link.
func mentions(c Citation, line string) []string {
	if !c.isPage() {
		return strings.Split(line, c.URL)[1:]
	}
	var list []string
	links := link.FindAllStringIndex(line, -1)
	for i, at := range links {
		end := len(line)
		if i+1 < len(links) {
			end = links[i+1][0]
		}
		if pageKey(pageURL(line[at[0]:at[1]])) == pageKey(c.URL) {
			list = append(list, line[at[1]:end])
		}
	}
	return list
}

// firstDate returns the first date in s as YYYY-MM-DD, or "".
func firstDate(s string) string {
	for _, m := range date.FindAllStringSubmatch(s, -1) {
		d := fmt.Sprintf("%s-%02s-%02s", m[1], m[2]+m[4], m[3]+m[5])
		if _, err := time.Parse(time.DateOnly, d); err == nil {
			return d
		}
	}
	return ""
}
