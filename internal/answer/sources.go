package answer

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

var (
	// heading matches the line above a list of sources, trimmed: plain, bold or
	// a Markdown heading.
	heading = regexp.MustCompile(`(?i)^(?:#{1,6}\s*)?(?:\*\*|__)?(?:sources|references|出典|参考|情報源)\s*[:：]?(?:\*\*|__)?\s*[:：]?$`)
	bullet  = regexp.MustCompile(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[\d{1,3}\])\s*`)
	// link matches a URL in text; parentheses belong to it in pairs.
	link = regexp.MustCompile("https?://(?:[^\\s<>()\\[\\]\"（）「」『』、。，]|\\([^\\s()]*\\))+")
	// date matches 2025-12-05, 2025/12/05, 2025年12月5日 and 20251205.
	date = regexp.MustCompile(`(?:^|\D)((?:19|20)\d\d)(?:[-/年](\d{1,2})[-/月](\d{1,2})|(\d\d)(\d\d))(?:\D|$)`)
	// dated matches an entry: what is dated, and the date at its end.
	dated = regexp.MustCompile(`^(.*\S)(?:\s*[(（]|[\s:：,、—–-]+)(?:[^\d()（）]*[\s:：])?(\d{4}-\d{2}-\d{2})[\s)）.。*_]*$`)
)

// sourcesList is the list that ends an answer (spec-v0.9 section 3.2).
func sourcesList(cited []Citation) string {
	list := "Sources:"
	for _, c := range cited {
		list += "\n- " + c.URL + " (" + c.PublishedAt + ")"
	}
	return list
}

// splitSources returns the lines above the last heading of a list of sources,
// and the entries below it. Indented lines continue an entry.
func splitSources(body string) (above, entries []string) {
	above = strings.Split(body, "\n")
	for i, line := range slices.Backward(above) {
		if !heading.MatchString(strings.TrimSpace(line)) {
			continue
		}
		for _, line := range above[i+1:] {
			trimmed := strings.TrimSpace(line)
			switch {
			case trimmed == "":
			case len(entries) > 0 && strings.HasPrefix(line, " ") && !bullet.MatchString(line):
				entries[len(entries)-1] += " " + trimmed
			default:
				entries = append(entries, trimmed)
			}
		}
		return above[:i], entries
	}
	return above, nil
}

// endsInSources reports whether the text ends with a list of sources as the
// policy asks for it: each entry is a URL, a link or an identifier with a date.
func endsInSources(body string) bool {
	_, entries := splitSources(body)
	return len(entries) > 0 && !slices.ContainsFunc(entries, func(entry string) bool {
		m := dated.FindStringSubmatch(bullet.ReplaceAllString(entry, ""))
		if m == nil || len(linksIn(m[1])) == 0 && strings.ContainsAny(m[1], " \t　") {
			return true
		}
		_, err := time.Parse(time.DateOnly, m[2])
		return err != nil
	})
}

// dateInText returns the date that the text gives for a source: that of its
// entry in the list of sources, else one that directly follows a link to it.
func dateInText(above, entries []string, s source) string {
	for _, entry := range entries {
		if d := dateBeside(entry, s, true); d != "" {
			return d
		}
	}
	for _, line := range above {
		if d := dateBeside(line, s, false); d != "" {
			return d
		}
	}
	return ""
}

// dateBeside returns the date that a line gives for a source: the first one
// between it and the next link. In an entry, words may stand between, and the
// date may precede the first link.
func dateBeside(line string, s source, entry bool) string {
	if s.api {
		_, after, _ := strings.Cut(line, s.URL)
		return firstDate(after, entry)
	}
	links := linksIn(line)
	for i, l := range links {
		if pageKey(pageURL(l.url)) != s.key() {
			continue
		}
		end := len(line)
		if i+1 < len(links) {
			end = links[i+1].start
		}
		if d := firstDate(line[l.end:end], entry); d != "" {
			return d
		}
		if i == 0 && entry {
			if d := firstDate(line[:l.start], true); d != "" {
				return d
			}
		}
	}
	return ""
}

// firstDate returns the first date in s as YYYY-MM-DD. Unless words is true,
// only punctuation within a sentence may precede it.
func firstDate(s string, words bool) string {
	for _, m := range date.FindAllStringSubmatchIndex(s, -1) {
		if !words && strings.Trim(s[:m[2]], " \t()（）[]<>*_`,、:：—–|-") != "" {
			return ""
		}
		month, day := 4, 6
		if m[month] < 0 {
			month, day = 8, 10
		}
		d := fmt.Sprintf("%s-%02s-%02s", s[m[2]:m[3]], s[m[month]:m[month+1]], s[m[day]:m[day+1]])
		if _, err := time.Parse(time.DateOnly, d); err == nil {
			return d
		}
	}
	return ""
}

type textLink struct {
	url        string
	start, end int
}

// linksIn returns the http and https URLs in s, without punctuation at the end.
func linksIn(s string) []textLink {
	var links []textLink
	for _, m := range link.FindAllStringIndex(s, -1) {
		u := strings.TrimRight(s[m[0]:m[1]], ".,;:!?*_'`|")
		links = append(links, textLink{u, m[0], m[0] + len(u)})
	}
	return links
}
