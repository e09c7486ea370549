package cite

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const maxDate = 500 // bytes next to a link that are searched for its date

// anyDate matches 2025-12-05, 2025/12/05, 2025.12.05, 2025年12月5日 and 20251205. The submatches are
// year, month and day, then month and day of the form without separators.
const anyDate = `((?:19|20)\d\d)(?:[-‐‑–/.年](\d{1,2})[-‐‑–/.月](\d{1,2})|(\d\d)(\d\d))(?:\D|$)`

var numericDate = text.Regexp(`(?:^|\D)` + anyDate)

// dateOfPath matches a date in the path of a URL, such as /2025/7/1/ and 2025-07-01. Versions
// (2025.7.1, 2025-7-1) and ids (20250701) are none. It has the submatches of anyDate.
var dateOfPath = text.Regexp(
	`(?:^|\D)((?:19|20)\d\d)` +
		`(?:[-‐‑–/年](\d\d)[-‐‑–/月](\d\d)|[/年](\d{1,2})[/月](\d{1,2}))(?:\D|$)`)

// dateOfLink matches what follows a link in prose and dates it.
var dateOfLink = text.Regexp(
	`(?i)^[^\pL\pN|.。!?！？]*` +
		`(?:(?:published|updated|dated|as of|公開日?|更新日?)[ \t:：]*)?\D?` +
		anyDate)

// englishDate matches 5 December 2025 and Dec. 5, 2025. The submatches are a first day, the month, a
// second day and the year.
var englishDate = text.Regexp(
	`(?i)\b(?:(\d{1,2})(?:st|nd|rd|th)? )?` +
		`(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? ` +
		`(?:(\d{1,2})(?:st|nd|rd|th)?,? )?((?:19|20)\d\d)\b`)

// date returns the date that the text gives for a source, or "": that of its entry in the list,
// else one that follows a link at once. Of several, the one in the last line counts.
func (doc *Document) date(key string) string {
	inProse := ""
	for i, l := range slices.Backward(doc.lines) {
		for k, link := range l.links {
			if link.key != key {
				continue
			}
			if i >= doc.begin && i < doc.end {
				date := doc.listDate(i, k)
				if date != "" {
					return date
				}
			}
			if inProse == "" {
				inProse = doc.proseDate(i, k)
			}
		}
	}
	return inProse
}

// listDate returns the date that an entry of the list gives for link k of line i: after it, or
// before it where the dates come first, or in a line without a link that belongs to the same entry.
func (doc *Document) listDate(i, k int) string {
	l := doc.lines[i]
	before, after := l.around(k)
	lastLink := l.links[len(l.links)-1]

	dateBefore := firstDate(before[max(0, len(before)-maxDate):])
	datesFollow := firstDate(l.text[lastLink.End:]) != ""
	if datesFollow {
		dateBefore = ""
	}
	return cmp.Or(
		dateBefore,
		firstDate(after),
		doc.dateBeside(i+1, i+1),
		doc.dateBeside(i-1, i),
	)
}

// dateBeside returns the date of line i, which is next to the line of a link, if it has no link itself.
// Both are in one entry if the lower line does not start another.
func (doc *Document) dateBeside(i, lower int) string {
	inside := lower > doc.begin && lower < doc.end
	sameEntry := inside && !bulletStart().MatchString(doc.lines[lower].text)
	if !sameEntry || len(doc.lines[i].links) > 0 {
		return ""
	}
	return firstDate(doc.lines[i].text)
}

// proseDate returns the date that follows link k of line i at once.
func (doc *Document) proseDate(i, k int) string {
	_, after := doc.lines[i].around(k)
	start := iso(after[:min(len(after), maxDate)])
	return firstDate(dateOfLink().FindString(start))
}

// dateInPath returns the date in the path of a URL, or "".
func dateInPath(u string) string {
	_, _, rest := cutHost(u)
	path := rest[:strings.IndexAny(rest+"?", "?#")]
	return matchDate(dateOfPath(), path[:min(len(path), maxDate)])
}

// firstDate returns the first date near the start of s as YYYY-MM-DD, or "".
func firstDate(s string) string {
	return matchDate(numericDate(), iso(s[:min(len(s), maxDate)]))
}

// matchDate returns the first match of an expression that is a date as YYYY-MM-DD, or "".
func matchDate(dates *regexp.Regexp, s string) string {
	for _, m := range dates.FindAllStringSubmatch(s, -1) {
		month := m[2] + m[4] // one of them is empty
		day := m[3] + m[5]
		date := fmt.Sprintf("%s-%02s-%02s", m[1], month, day)

		_, err := time.Parse(time.DateOnly, date)
		if err == nil {
			return date
		}
	}
	return ""
}

// iso rewrites English dates as 2025-12-5.
func iso(s string) string {
	return englishDate().ReplaceAllStringFunc(s, func(date string) string {
		m := englishDate().FindStringSubmatch(date)
		day := cmp.Or(m[3], m[1]) // the one next to the year
		month, _ := time.Parse("Jan", m[2])
		return fmt.Sprintf("%s-%02d-%s", m[4], month.Month(), day)
	})
}
