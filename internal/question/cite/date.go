package cite

import (
	"cmp"
	_ "embed"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	maxDates   = 20           // dates of each form in a text
	dateWindow = 500          // bytes next to a link that are searched for its date
	farFuture  = "9999-12-31" // a day after all dates, for callers without a today
)

//go:embed forms.table
var formsTable string

//go:embed months.table
var monthsTable string

//go:embed dates.table
var datesTable string

// form is a row of forms.table. These are the values of where:
//
//	path    in the path of a URL
//	text    anywhere in a text
//	clear   in a text, if day and month cannot change places: 25/11/2026, not 3/11/2026
//	alone   in a text, unless it may be a version: after a word, and with none of dates.table
//	named   in a text, with a word of dates.table
type form struct {
	literals []string       // strings of which a text with such a date contains one at least
	where    string         // where such a date counts
	match    *regexp.Regexp // with the groups Y, M and D
}

// forms are the rows of forms.table.
var forms = sync.OnceValue(readForms)

func readForms() (all []form) {
	values := strings.NewReplacer(
		"{Y}", `(?P<Y>(?:19|20)\d\d)`,
		"{M}", `(?P<M>\d{1,2})`,
		"{MM}", `(?P<M>\d\d)`,
		"{D}", `(?P<D>\d{1,2})`,
		"{DD}", `(?P<D>\d\d)`,
		"{MONTH}", `(?P<M>\pL[\pL\pM]*)\.?`,
	)
	for _, row := range rows(formsTable) {
		all = append(all, form{
			literals: strings.Split(row[0], ","),
			where:    row[2],
			match:    regexp.MustCompile(values.Replace(row[1])),
		})
	}
	return all
}

// mayBeIn reports whether a text contains one of the literals of the form, which is faster than to
// match it.
func (f form) mayBeIn(s string) bool {
	contains := func(literal string) bool { return strings.Contains(s, literal) }
	return slices.ContainsFunc(f.literals, contains)
}

// months maps the names in months.table, in lower case, to the numbers of the months.
var months = sync.OnceValue(readMonths)

func readMonths() map[string]string {
	numbers := map[string]string{}
	for _, row := range rows(monthsTable) {
		for i, names := range row[1:] {
			for name := range strings.FieldsSeq(names) {
				numbers[strings.ToLower(name)] = strconv.Itoa(i + 1)
			}
		}
	}
	return numbers
}

// dateWord is a word of dates.table with its kind: published, accessed, other or version.
type dateWord struct{ text, kind string }

var (
	// dateWords are the words of dates.table for a single date.
	dateWords = sync.OnceValue(readDateWords)

	// betweenDays matches what is between the first and the last day of a period: a dash, or one of
	// the words of dates.table for that.
	betweenDays = sync.OnceValue(readBetweenDays)
)

func readDateWords() (all []dateWord) {
	for _, row := range rows(datesTable) {
		for word := range strings.SplitSeq(row[1], ", ") {
			if row[0] != "between" {
				all = append(all, dateWord{word, row[0]})
			}
		}
	}
	return all
}

func readBetweenDays() *regexp.Regexp {
	words := []string{"[-–—~〜～]"}
	for _, row := range rows(datesTable) {
		if row[0] == "between" {
			words = append(words, strings.Split(row[1], ", ")...)
		}
	}
	return regexp.MustCompile(`(?i)^ ?(?:` + strings.Join(words, "|") + `) ?$`)
}

// date is a date in a text.
type date struct {
	day  string // YYYY-MM-DD
	kind string // of the dateWord next to it, "" without one; "period" of the days of a period
	part        // where the date is, a dateWord before it included
	form form
}

// datesIn returns the dates in a text, in the order in which they appear.
func datesIn(s string) []date { return withKinds(s, findDates(s, false)) }

// findDates returns the dates in a text, or in the path of a URL, in the order in which they
// appear. Their kinds are not set.
func findDates(s string, inPath bool) (all []date) {
	if !strings.Contains(s, "19") && !strings.Contains(s, "20") {
		return nil
	}

	for _, f := range forms() {
		if inPath != (f.where == "path") || !f.mayBeIn(s) {
			continue
		}
		for _, at := range f.match.FindAllStringSubmatchIndex(s, maxDates) {
			d := date{day: f.day(s, at), part: part{at[0], at[1]}, form: f}
			if s[d.start] == '/' || s[d.start] == '(' { // a form may begin with it
				d.start++
			}
			if d.day != "" && d.isSeparate(s) {
				all = append(all, d)
			}
		}
	}
	slices.SortStableFunc(all, func(a, b date) int {
		return cmp.Or(a.start-b.start, b.end-a.end)
	})

	end := 0 // of the previous date
	return slices.DeleteFunc(all, func(d date) bool {
		inside := d.start < end
		end = max(end, d.end)
		return inside
	})
}

// day returns a match of the form as YYYY-MM-DD, or "" if there is no such day. It is also "" for
// an unclear match where the form must be clear: 3/11/2026 is the third of November or March 11.
func (f form) day(s string, at []int) string {
	values := strings.Fields(string(f.match.ExpandString(nil, "$Y $M $D", s, at)))
	month := cmp.Or(months()[strings.ToLower(values[1])], values[1]) // of a name, or a number
	day, err := time.Parse("2006-1-2", values[0]+"-"+month+"-"+values[2])
	isClear := day.Day() > 12 || day.Day() == int(day.Month())
	if err != nil || f.where == "clear" && !isClear {
		return ""
	}
	return day.Format(time.DateOnly)
}

var (
	// joinsBefore matches the text before a date that is a part of a longer number or name, such as
	// v2026-03-01. joinsInPath does so for a path, where a name may precede a date, as in
	// /rev2026-03-01, but not the v of a version.
	joinsBefore = text.LazyRegexp(`[\p{Latin}\d]$|\d\.$`)
	joinsInPath = text.LazyRegexp(`(?:^|\PL)[Vv]$|\d$|\d\.$`)

	// joinsAfter matches the last digit of such a date with the text after it, as in 2026.3.1.2. In
	// 2026年11月28日21時, no digit is last: a time follows the date.
	joinsAfter = text.LazyRegexp(`^\d\.?\d`)

	// afterWord matches a text that ends with a word, which a version may follow.
	afterWord = text.LazyRegexp(`[\pL\pN] *$`)
)

// isSeparate reports whether the date is not a part of a longer number or name of its text s.
func (d date) isSeparate(s string) bool {
	joins := joinsBefore
	if d.form.where == "path" {
		joins = joinsInPath
	}
	return !joins().MatchString(s[max(0, d.start-4):d.start]) &&
		!joinsAfter().MatchString(s[d.end-1:])
}

// withKinds sets the kinds of the dates of a text, and removes dates that may be versions (see
// form).
func withKinds(s string, all []date) []date {
	next := len(s)    // start of the next date, with its word
	nextDay := len(s) // the same without the word
	for i, d := range slices.Backward(all) {
		end := 0 // of the previous date
		if i > 0 {
			end = all[i-1].end
		}
		kind, size := kindBefore(s[end:d.start])
		if kind == "" {
			kind = kindAfter(s[d.end:next])
		}
		isFirstDay := kind == "" && i+1 < len(all) && betweenDays().MatchString(s[d.end:nextDay])
		if isFirstDay && (all[i+1].kind == "" || all[i+1].kind == "other") {
			kind = "period" // of an event, for example
			all[i+1].kind = kind
		}
		next = d.start - size
		nextDay = d.start
		all[i].kind = kind
		all[i].start = next
	}

	begin := 0
	return slices.DeleteFunc(all, func(d date) bool {
		followsWord := afterWord().MatchString(s[begin:d.start])
		begin = d.end
		return d.kind == "version" ||
			d.kind == "" && (d.form.where == "named" || d.form.where == "alone" && followsWord)
	})
}

// beforeDate are the characters that may be between a word and its date.
const beforeDate = " \t:：(（[*_|\"“”'`-–—~"

var (
	// connector matches a short word between a word of dates.table and its date ("on", "am", "le").
	connector = text.LazyRegexp(`[\s:：]\pL{1,3}\.?$`)

	// betweenDateAndWord matches what may be between a date and a word after it:
	// "2026-05-01-preview".
	betweenDateAndWord = text.LazyRegexp(`^[-_.]?[ \t*]*`)
)

// kindBefore returns the kind of the word at the end of s, the text before a date. size is how
// many bytes the word and what follows it take.
func kindBefore(s string) (kind string, size int) {
	whole := strings.TrimRight(s, beforeDate)
	withoutConnector := strings.TrimRight(connector().ReplaceAllString(whole, ""), beforeDate)
	for _, end := range slices.Compact([]string{whole, withoutConnector}) {
		word := wordBefore(end)
		// "OpenAI API (2026-05-01)" is the title of a page and its date, not a version.
		isOfTitle := word.kind == "version" && strings.ContainsAny(s[len(end):], "(（")
		if word.kind != "" && !isOfTitle {
			return word.kind, len(s) - len(end) + len(word.text)
		}
	}
	return "", 0
}

// wordEnd matches what follows a word that is about the date before it. If another word follows,
// the two words are the start of a title.
var wordEnd = text.LazyRegexp(`^[\s*_]*(?:$|[^\pL\pN\s])`)

// joinedWord matches a word that has no space before it, as "まで" in 3月31日までに.
var joinedWord = text.LazyRegexp(`^[\p{Han}\p{Hiragana}\p{Katakana}\p{Hangul}]`)

// kindAfter returns the kind of the word at the start of s, the text after a date.
func kindAfter(s string) string {
	isJoined := joinedWord().MatchString(s)
	s = betweenDateAndWord().ReplaceAllString(s, "")
	word := wordAfter(s)
	phrase := strings.Contains(word.text, " ") // no title begins with a phrase
	isSure := word.kind == "published" || phrase || word.kind == "other" && isJoined
	if !isSure && !wordEnd().MatchString(s[len(word.text):]) {
		return ""
	}
	return word.kind
}

// wordBefore returns the longest of the dateWords that a text ends with, in any case.
func wordBefore(s string) (longest dateWord) {
	for _, word := range dateWords() {
		start := len(s) - len(word.text)
		fits := start >= 0 && len(word.text) > len(longest.text)
		if fits && strings.EqualFold(s[start:], word.text) && !isWithinWord(s, start) {
			longest = word
		}
	}
	return longest
}

// wordAfter returns the longest of the dateWords that a text begins with, in any case.
func wordAfter(s string) (longest dateWord) {
	for _, word := range dateWords() {
		end := len(word.text)
		fits := end <= len(s) && end > len(longest.text)
		if fits && strings.EqualFold(s[:end], word.text) && !isWithinWord(s, end) {
			longest = word
		}
	}
	return longest
}

// spacedLetter matches a letter of a script that has spaces between words. Chinese and Japanese
// have none.
const spacedLetter = `[^\PL\p{Han}\p{Hiragana}\p{Katakana}]`

var (
	letterAtEnd   = text.LazyRegexp(spacedLetter + `$`)
	letterAtStart = text.LazyRegexp(`^` + spacedLetter)
)

// isWithinWord reports whether i is inside a word of s, between two spacedLetters.
func isWithinWord(s string, i int) bool {
	before := s[max(0, i-utf8.UTFMax):i]
	return letterAtEnd().MatchString(before) && letterAtStart().MatchString(s[i:])
}

// pageDates are the dates that a text gives for a page, each "" if there is none.
type pageDates struct {
	published string // the latest date with a word of the kind published
	unnamed   string // the first date without a word
	accessed  string // the first date of access
}

// add adds the dates of a text. A date after today is ignored, except one of access.
func (p *pageDates) add(all []date, today string) {
	for _, d := range all {
		past := d.day <= today
		switch {
		case d.kind == "accessed":
			p.accessed = cmp.Or(p.accessed, d.day)
		case d.kind == "published" && past:
			p.published = max(p.published, d.day)
		case d.kind == "" && past:
			p.unnamed = cmp.Or(p.unnamed, d.day)
		}
	}
}

// pageDate returns the date of the page itself, or "".
func (p pageDates) pageDate() string {
	return cmp.Or(p.published, p.unnamed)
}

// datesOf returns the dates that the text gives for the source with this key: in its list, and in
// prose right after a link. If several places give a date, the last place counts.
func (doc *Document) datesOf(key, today string) (listed, inProse pageDates) {
	for i, l := range slices.Backward(doc.lines) {
		for _, link := range l.links {
			if link.key != key {
				continue
			}
			if i >= doc.listFirstLine && i < doc.listEndLine && listed.pageDate() == "" {
				doc.addListDates(&listed, i, link, today)
			}
			if inProse == (pageDates{}) {
				inProse = link.proseDates(today)
			}
		}
	}
	return listed, inProse
}

// firstRemark matches the first parentheses after a link, and what is before them.
var firstRemark = text.LazyRegexp(`^[)\]\s*_—–:：-]*[(（][^()（）]*[)）]`)

// datesComeFirst reports whether the dates of a line come before its links: a date is before the
// first link, and no date of the page after the last.
func (l line) datesComeFirst(today string) bool {
	var atEnd pageDates
	atEnd.add(datesIn(startWindow(l.links[len(l.links)-1].after)), today)
	return atEnd.pageDate() == "" && len(datesIn(endWindow(l.links[0].before))) > 0
}

// addListDates adds the dates that an entry of the list gives for a link of line i. It reads the
// last three of these places only while no date of the page is found:
//
//   - the text before the link, if dates come first in the line
//   - the remark after the link
//   - all text up to the next link
//   - the line below, which may follow a blank line if it is only a date
//   - the line above
func (doc *Document) addListDates(found *pageDates, i int, link Link, today string) {
	if doc.lines[i].datesComeFirst(today) {
		found.add(datesIn(endWindow(link.before)), today)
	}
	found.add(datesIn(firstRemark().FindString(startWindow(link.after))), today)

	below := i + 1
	blank := below+1 < doc.listEndLine && strings.TrimSpace(doc.lines[below].text) == ""
	if blank && doc.lines[below+1].isOnlyDate {
		below++
	}
	above := i - 1
	for _, more := range []string{
		link.after, // dates after the remark are about other things if the remark has one
		doc.textBeside(below, below),
		doc.textBeside(above, i),
	} {
		if found.pageDate() == "" {
			found.add(datesIn(startWindow(more)), today)
		}
	}
}

// textBeside returns line i, which is above or below the line of a link; lower is the lower of the
// two. The result is "" if line i is about another page: it has a link itself, lower starts another
// entry, or the list does not have both lines.
func (doc *Document) textBeside(i, lower int) string {
	inside := lower > doc.listFirstLine && lower < doc.listEndLine
	sameEntry := inside && !doc.lines[lower].startsEntry
	if !sameEntry || len(doc.lines[i].links) > 0 {
		return ""
	}
	return doc.lines[i].text
}

var (
	// betweenLinkAndWord matches what may be between a link in prose and the word of its date, and
	// betweenLinkAndDate what may be between the link and a date without a word.
	betweenLinkAndWord = text.LazyRegexp(`^[^\pL\pN|.。!?！？]*$`)
	betweenLinkAndDate = text.LazyRegexp(`^[^\pL\pN|.。!?！？:：]*$`)

	// afterParentheses matches what is between the target of a link and a date if parentheses around
	// the link end before the date, and none begin: "([a](URL)), 2026-05-01".
	afterParentheses = text.LazyRegexp(`^\)[^()（）]*[)）][^(（]*$`)

	// dateEndsRemark matches what follows a date if nothing more is said about the link, or if the
	// date is in parentheses that are still open. A colon before another link begins a remark.
	dateEndsRemark = text.LazyRegexp(
		`^(?:(?: [A-Z]{2,5}\b)?[\s*_]*(?:$|[)）\]】,;、。.|]|[:：][\s*_]*(?:$|[^\s*_\[])|[-–—·] )|` +
			`(?:[^()（）.。]|\.\S|[(（][^()（）]*[)）])*[)）])`)

	// remarkEnd matches the end of a remark about a link.
	remarkEnd = text.LazyRegexp(`[)）\]】。|]`)
)

// proseDates returns the dates right after a link, if they are about the page. The date in
// "[page](URL): 2026-03-31 is the deadline" is not.
func (l Link) proseDates(today string) (found pageDates) {
	after := startWindow(l.after)
	all := datesIn(after)
	if len(all) == 0 {
		return found
	}

	first := all[0]
	gap := after[:first.start]
	isOfPage := betweenLinkAndWord().MatchString(gap)
	if first.kind == "" {
		rest := after[first.end:]
		ofNext := afterParentheses().MatchString(gap) && strings.Trim(rest, " \n.。") != ""
		isOfPage = betweenLinkAndDate().MatchString(gap) &&
			dateEndsRemark().MatchString(rest) && !ofNext
	}
	if !isOfPage {
		return found
	}
	end := remarkEnd().FindStringIndex(after[first.end:])
	if end != nil {
		all = slices.DeleteFunc(all, func(d date) bool { return d.start > first.end+end[0] })
	}
	found.add(all, today)
	return found
}

// dateInPath returns the first date in the path of a URL, or "". Versions and dates after today are
// ignored.
func dateInPath(u, today string) string {
	_, _, rest := cutHost(u)
	path := rest[:strings.IndexAny(rest+"?", "?#")]
	unescaped, _ := url.PathUnescape(path) // "" if an escape is not valid
	path = startWindow(cmp.Or(unescaped, path))
	for _, d := range findDates(path, true) {
		segment, _, _ := strings.Cut(path[d.end:], "/")
		word := strings.TrimPrefix(segment, "-") // 2026-05-01-preview
		isVersion := slices.Contains(dateWords(), dateWord{word, "version"})
		if !isVersion && d.day <= today {
			return d.day
		}
	}
	return ""
}

// startWindow returns the start of a text after a link, or of a URL: the part that is searched for
// a date.
func startWindow(s string) string {
	return s[:min(len(s), dateWindow)]
}

// endWindow returns the end of a text before a link: the part that is searched for a date.
func endWindow(s string) string {
	return s[max(0, len(s)-dateWindow):]
}
