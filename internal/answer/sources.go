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
	// entry matches a line of the list: something with a URL, or an identifier
	// such as oai-weather, and the date at the end.
	entry = regexp.MustCompile("^\\s*(?:(?:[-*+•・]|\\d{1,3}[.)]|\\[\\d{1,3}\\])\\s*)?(?:`?[a-z0-9]+(?:-[a-z0-9]+)+`?|.*https?://.*)" +
		`(?:\s*[(（](?:[^\d()（）]*[\s:：])?|[\s:：,、—–-]+)(\d{4}-\d{2}-\d{2})(?: JST)?[)）.。*_\s]*$`)
	// item matches the start of a list's entry.
	item = regexp.MustCompile(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[)`)
	// link matches a URL in text without the punctuation that follows it.
	// Parentheses belong to it in pairs.
	link = regexp.MustCompile("https?://(?:[^" + outside + "]|" + parens + ")*(?:[^.,;:!?*_'`|" + outside + "]|" + parens + ")")
	// date matches 2025-12-05, 2025/12/05, 2025.12.05, 2025年12月5日 and 20251205.
	date = regexp.MustCompile(`(?:^|\D)((?:19|20)\d\d)(?:[-‐‑–/.年](\d{1,2})[-‐‑–/.月](\d{1,2})|(\d\d)(\d\d))(?:\D|$)`)
	// english matches 5 December 2025 and Dec. 5, 2025.
	english = regexp.MustCompile(`(?i)\b(?:(\d{1,2})(?:st|nd|rd|th)? )?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? ` +
		`(?:(\d{1,2})(?:st|nd|rd|th)?,? )?((?:19|20)\d\d)\b`)
	// besides matches what may stand between a link and its date in prose.
	besides = regexp.MustCompile(`^[^\pL\pN|.。!?！？]*(?:(?i:published|updated|dated|as of|公開日?|更新日?)[\s:：]*)?`)
	// datedEnd matches a date that link takes for a part of the URL.
	datedEnd = regexp.MustCompile(`\(\d{4}-\d{2}-\d{2}\)$`)
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
	_, rest, _ := strings.Cut(c.URL, "://")
	_, path, _ := strings.Cut(rest, "/")
	path = path[:strings.IndexAny(path+"?", "?#")]
	for _, d := range []string{dateInText(c, body), firstDate(path)} {
		if d != "" && d <= today {
			return d
		}
	}
	return today
}

// dateInText returns the date that the text gives for a source, or "": that of
// its entry in the last list of sources, elsewhere only one that follows the
// source at once.
func dateInText(c Citation, body string) string {
	lines := strings.Split(body, "\n")
	begin, end := sourceList(lines)
	for i := end - 1; i >= begin; i-- {
		if d := dateInEntry(c, lines[:end], i); d != "" {
			return d
		}
	}
	for _, line := range slices.Backward(lines) {
		for _, at := range mentions(c, line) {
			after := besides.ReplaceAllString(line[at.end:at.next], "")
			if d := date.FindStringIndex(iso(after)); d != nil && d[0] == 0 {
				return firstDate(after)
			}
		}
	}
	return ""
}

// sourceList returns the lines of the last list of sources. A paragraph that
// follows the entries is not a part of it.
func sourceList(lines []string) (begin, end int) {
	for i, line := range lines {
		if heading.MatchString(line) {
			begin = i + 1
		}
	}
	if begin == 0 {
		return 0, 0
	}
	linked := false
	for end = begin; end < len(lines); end++ {
		line := lines[end]
		paragraph := strings.TrimSpace(lines[end-1]) == "" && strings.TrimSpace(line) != ""
		if linked && paragraph && !item.MatchString(line) && !entry.MatchString(line) {
			break
		}
		linked = linked || links(line) != nil
	}
	return begin, end
}

// dateInEntry returns the date that line i of a list gives for a source: after
// it, before it where the dates come first, or in a line without a link that
// belongs to the same entry.
func dateInEntry(c Citation, lines []string, i int) string {
	line := lines[i]
	for _, at := range mentions(c, line) {
		d := firstDate(line[at.end:at.next])
		if before := firstDate(line[at.prev:at.start]); before != "" && firstDate(line[at.last:]) == "" {
			d = before
		}
		if d == "" && i+1 < len(lines) && !item.MatchString(lines[i+1]) && links(lines[i+1]) == nil {
			d = firstDate(lines[i+1])
		}
		if d == "" && i > 0 && !item.MatchString(line) && links(lines[i-1]) == nil {
			d = firstDate(lines[i-1])
		}
		if d != "" {
			return d
		}
	}
	return ""
}

// mention is where a line names a source: its own bytes, the end of the link
// before it, the start of the next one, and the end of the last one.
type mention struct{ start, end, prev, next, last int }

func mentions(c Citation, line string) (list []mention) {
	if !c.isPage() {
		if i := strings.Index(line, c.URL); i >= 0 {
			end := i + len(c.URL)
			list = append(list, mention{i, end, 0, len(line), end})
		}
		return list
	}
	all := links(line)
	for i, at := range all {
		m := mention{at[0], at[1], 0, len(line), all[len(all)-1][1]}
		if i > 0 {
			m.prev = all[i-1][1]
		}
		if i+1 < len(all) {
			m.next = all[i+1][0]
		}
		if pageKey(pageURL(line[m.start:m.end])) == pageKey(c.URL) {
			list = append(list, m)
		}
	}
	return list
}

// links returns where the URLs in a text are.
func links(s string) [][]int {
	all := link.FindAllStringIndex(s, -1)
	for _, at := range all {
		at[1] -= len(datedEnd.FindString(s[at[0]:at[1]]))
	}
	return all
}

// firstDate returns the first date in s as YYYY-MM-DD, or "".
func firstDate(s string) string {
	for _, m := range date.FindAllStringSubmatch(iso(s), -1) {
		d := fmt.Sprintf("%s-%02s-%02s", m[1], m[2]+m[4], m[3]+m[5])
		if _, err := time.Parse(time.DateOnly, d); err == nil {
			return d
		}
	}
	return ""
}

// iso rewrites English dates as 2025-12-5.
func iso(s string) string {
	return english.ReplaceAllStringFunc(s, func(d string) string {
		m := english.FindStringSubmatch(d)
		month := strings.Index("janfebmaraprmayjunjulaugsepoctnovdec", strings.ToLower(m[2]))/3 + 1
		return fmt.Sprintf("%s-%02d-%s", m[4], month, m[1]+m[3])
	})
}
