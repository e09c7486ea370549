package cite

import (
	"cmp"
	_ "embed"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Web pages write parts of an answer, so reading it must take linear time. The longest recorded
// answers stay far below these bounds.
const (
	maxText  = 1 << 20 // bytes at the end of a text that are searched for links and a list
	maxLines = 20_000  // lines at the end of a text that are searched for dates and a list
	maxLinks = 1000    // links of a text that are known
	maxEntry = 4000    // bytes of a line that are read to decide whether it is an entry of a list
)

// HeadingMarks are the characters around the words of a heading: those of Markdown, colons and
// spaces.
const HeadingMarks = "#*_:： \t\r\f\u00a0\u202f\u3000"

// Document is the text of an answer, with its last list of sources.
type Document struct {
	// EndsWithDatedList reports whether the list ends the text in the form that the policy asks
	// for: each entry is a URL, a link or an identifier, and at least one entry has a date. The
	// caller clears it for a text that was cut short.
	EndsWithDatedList bool

	// ListStart is where the heading of the list begins: bytes from the start of the text, or the
	// length of the text if it has no list.
	ListStart int

	lines []line

	// The list is lines[listFirstLine:listEndLine], below its heading lines[listFirstLine-1].
	// Without a list both are 0.
	listFirstLine int
	listEndLine   int
}

// line is a line of a text with its links. Only the first maxLinks links of a text are known.
type line struct {
	text        string
	links       []Link
	lineContent // set if the line is in the list
}

// Link is the place of the URL of a page, or of the name of a source without a URL, in a text.
type Link struct {
	Start int    // index of its first byte
	End   int    // index of the byte after its last one
	URL   string // PageURL, "" for a name
	key   string // PageKey

	before, after string // the text from the previous link to this one, and from here to the next
}

//go:embed headings.table
var headingsTable string

// heading matches the words above a list of sources, also with emoji. Their line may be plain, bold
// or a Markdown heading.
var heading = sync.OnceValue(readHeading)

func readHeading() *regexp.Regexp {
	var words []string
	for _, row := range rows(headingsTable) {
		words = append(words, row[1:]...)
	}
	return regexp.MustCompile(`(?i)^[\p{So}\pM\pZ\p{Cf}\s*_:：【]*(?:` + strings.Join(words, "|") +
		`)[\p{So}\pM\pZ\p{Cf}\s*_:：】]*$`)
}

// NewDocument reads the text of an answer. names are the names of sources without a URL. In a line
// without links, the first of the names that the line contains counts as a link.
func NewDocument(body string, names ...string) *Document {
	doc := &Document{ListStart: len(body)}
	base := searchStart(body)
	offset := base
	codeParts := sync.OnceValue(func() code { return codeIn(body[base:]) })
	linksLeft := maxLinks

	for s := range strings.SplitSeq(body[base:], "\n") {
		l := line{text: s, links: FindLinks(s, linksLeft)}
		linksLeft -= len(l.links)
		if len(l.links) == 0 {
			l.links = nameLinks(s, names)
		}
		doc.lines = append(doc.lines, l)

		isHeading := heading().MatchString(strings.Trim(s, HeadingMarks))
		if isHeading && codeParts().endAt(offset-base) < 0 { // such as "sources:" in YAML
			doc.listFirstLine = len(doc.lines)
			doc.ListStart = offset
		}
		offset += len(s) + len("\n")
	}
	if doc.listFirstLine > 0 {
		doc.readList()
	}
	return doc
}

// searchStart returns where the last maxText bytes of a text begin, or its last maxLines lines if
// these begin later.
func searchStart(body string) int {
	start := max(0, len(body)-maxText)
	lines := 0
	for i := len(body) - 1; i >= start; i-- {
		if body[i] == '\n' {
			lines++
		}
		if lines == maxLines {
			return i + len("\n")
		}
	}
	return start
}

// bulletStart matches the start of an entry. The rest may have any form.
var bulletStart = text.LazyRegexp(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[)`)

// readList finds the end of the list, and sets EndsWithDatedList. The list ends where prose follows
// a blank line below an entry. An entry may go on below its first line, with indented lines and
// lines that have only a date.
func (doc *Document) readList() {
	hasLink := false      // a line has a link
	hasDate := false      // an entry has a date
	onlyEntries := true   // all lines so far are blank or belong to entries
	belowEntries := false // the previous line is blank, and a link is above it
	lacksSource := false  // the current entry has no source yet

	indent := -1 // of the first line of the list
	for i := doc.listFirstLine; i < len(doc.lines); i++ {
		l := &doc.lines[i]
		if strings.TrimSpace(l.text) == "" {
			belowEntries = hasLink
			continue
		}
		if indent < 0 {
			indent = indentation(l.text)
		}

		hasBullet := bulletStart().MatchString(l.text)
		isIndented := indentation(l.text) > indent
		l.lineContent = readLine(l.text)
		l.startsEntry = hasBullet && !isIndented
		isProse := !l.hasSource && !l.isOnlyDate && !hasBullet && !l.isReference()
		if belowEntries && isProse {
			doc.listEndLine = i
			return
		}
		belowEntries = false

		switch {
		case l.startsEntry: // lacksSource is still that of the entry above
			onlyEntries = onlyEntries && !lacksSource
			lacksSource = !l.hasSource
		case l.hasSource: // an entry without a bullet, or the source of the entry above
			lacksSource = false
		default:
			onlyEntries = onlyEntries && (l.isOnlyDate || isIndented)
		}
		hasLink = hasLink || len(l.links) > 0
		hasDate = hasDate || l.hasDate
	}

	doc.listEndLine = len(doc.lines)
	doc.EndsWithDatedList = hasDate && onlyEntries && !lacksSource
}

// reference matches an entry without a bullet in the style of APA: "Doe, J. (2026, May 1). Title. …".
var reference = text.LazyRegexp(`^[^(]{1,200}\((?:19|20)\d\d\b[^)]{0,30}\)`)

// isReference reports whether a line is such an entry, which ends with its link.
func (l line) isReference() bool {
	if len(l.links) == 0 || !reference().MatchString(l.text) {
		return false
	}
	after := strings.TrimSpace(l.links[len(l.links)-1].after)
	return strings.Trim(after, Punctuation+")>") == ""
}

// indentation returns how many bytes of blanks a line begins with.
func indentation(s string) int {
	return len(s) - len(strings.TrimLeft(s, " \t\u3000"))
}

// ListPages returns the pages of the list with a public host name, without their dates, which take
// longer to read (DatedListPages).
func (doc *Document) ListPages() []Citation {
	var list []Citation
	for _, l := range doc.lines[doc.listFirstLine:doc.listEndLine] {
		for _, link := range l.links {
			list = append(list, Citation{URL: link.URL})
		}
	}
	return publicPages(list)
}

var (
	// entryNumber matches the number of an entry, and citedNumber one in a text above the list. A
	// number that is the text of a link is the number of that link.
	entryNumber = text.LazyRegexp(`^\s*(?:\d{1,3}[.)]|\[\^?\d{1,3}\])`)
	citedNumber = text.LazyRegexp(`\[\^?\d{1,3}\](?:[^(]|$)`)

	// remarkWord matches a word of a remark, and inBrackets what may end an entry, as remarks does.
	remarkWord = text.LazyRegexp(`\pL{4,}`)
	inBrackets = text.LazyRegexp(`[(（\[][^()（）\[\]]*[)）\]]`)
)

// ListSaysMore reports whether the list has more than pages with titles and dates: a remark behind a
// page, a line of its own, or numbers that the text above the list cites. above is that text.
func (doc *Document) ListSaysMore(above string) bool {
	citesNumbers := citedNumber().MatchString(codeIn(above).removeFrom(above))
	for _, l := range doc.lines[doc.listFirstLine:doc.listEndLine] {
		if citesNumbers && entryNumber().MatchString(l.text) {
			return true
		}

		rest := l.text
		if len(l.links) > 0 {
			rest = l.links[len(l.links)-1].after
		}
		rest = inBrackets().ReplaceAllString(rest, "")
		if !remarkWord().MatchString(rest) {
			continue
		}
		rest = rest[:min(len(rest), maxEntry)]
		for _, d := range slices.Backward(datesIn(rest)) {
			rest = rest[:d.start] + rest[d.end:]
		}
		if remarkWord().MatchString(rest) {
			return true
		}
	}
	return false
}

// DatedListPages returns the pages of the list, with the titles and dates that it gives.
func (doc *Document) DatedListPages() []Citation {
	var list []Citation
	for i := doc.listFirstLine; i < doc.listEndLine; i++ {
		for k, link := range doc.lines[i].links {
			if link.URL != "" {
				var found pageDates
				doc.addListDates(&found, i, link, farFuture)
				list = append(list, Citation{
					URL:          link.URL,
					Title:        link.title(k == 0),
					PublishedAt:  cmp.Or(found.pageDate(), found.accessed),
					IsAccessDate: found.pageDate() == "" && found.accessed != "",
				})
			}
		}
	}
	return list
}

// htmlImage and markdownImage match an image, whose URL is no link. Tags of HTML come first, as in
// CommonMark (https://spec.commonmark.org/0.31.2/#links). As one expression, "![" in front of each
// tag would be followed to the end of the text, in quadratic time.
var (
	htmlImage     = text.LazyRegexp(`<img\b(?:"[^"<>]*"|'[^'<>]*'|[^<>()"'])*>`)
	markdownImage = text.LazyRegexp(`!\[[^\]]*\]\([^)]*\)`)
)

// lastURL matches the URL at the end of a text.
var lastURL = text.LazyRegexp(`https?://[^)` + urlEnd + `]*$`)

// LinkedPages returns the pages with a public host name that a text links to, those in its list
// first. Links in code do not count. A URL at the end of a text that is cut short does not count
// either: it may be longer.
func LinkedPages(body string, cut bool) []Citation {
	body = body[max(0, len(body)-maxText):]
	if cut {
		body = lastURL().ReplaceAllString(body, "")
	}
	body = codeIn(body).removeFrom(body)
	body = htmlImage().ReplaceAllString(body, " ") // a "!" before it begins no image
	body = markdownImage().ReplaceAllString(body, "")

	pages := NewDocument(body).ListPages()
	for _, link := range FindLinks(body, maxLinks) {
		pages = append(pages, Citation{URL: link.URL})
	}
	return publicPages(pages)
}

// numberMark matches the number of a source in a text, as Perplexity's models write it
// (https://github.com/vercel/ai/tree/main/packages/perplexity/src/__fixtures__).
var numberMark = text.LazyRegexp(`\[\d{1,3}\]`)

// NumberedSources returns the sources whose numbers a text cites, in the order of the text. Numbers
// in code do not count.
func NumberedSources(body string, sources []Citation) (cited []Citation) {
	byMark := map[string][]Citation{}
	for _, c := range sources {
		if c.Number > 0 {
			mark := "[" + strconv.Itoa(c.Number) + "]"
			byMark[mark] = append(byMark[mark], c)
		}
	}
	if len(byMark) == 0 {
		return nil // the sources of most servers have no numbers
	}

	body = body[max(0, len(body)-maxText):]
	body = codeIn(body).removeFrom(body)
	for _, mark := range numberMark().FindAllString(body, -1) {
		cited = append(cited, byMark[mark]...)
		delete(byMark, mark) // each once
	}
	return cited
}

// publicPages returns the pages that have a public host name. It reuses the memory of pages.
func publicPages(pages []Citation) []Citation {
	return slices.DeleteFunc(pages, func(c Citation) bool {
		host := HostOf(c.URL)
		return !text.IsHostName(host) || text.IsLoopback(host)
	})
}

const (
	bullet     = `\s*(?:[-*+•・]|\d{1,3}[.)]|\[\d{1,3}\])\s*` // or a number
	identifier = "`?[a-z0-9]+(?:-[a-z0-9]+)+`?"              // oai-weather
)

// datedEntry matches an entry of the list in the form that the policy asks for. In the text that it
// matches, the word DATE replaces each date.
var datedEntry = text.LazyRegexp(
	`^(?:` + bullet + `)?\s*` +
		"(?:" + identifier + "|.*https?://.*)" +
		`(?:\s*[(（](?:[^\d()（）]*[\s:：])?|[\s:：,、—–-]+)` + // "(published: " or " — "
		`DATE` + remarks)

// undatedEntry matches an entry without a date: a URL after a bullet, or a line with nothing but an
// identifier, a URL or a link, and maybe a remark such as "(no date)".
var undatedEntry = text.LazyRegexp(
	`^` + bullet + `.*https?://|` +
		`^(?:` + bullet + `)?\s*` +
		"(?:" + identifier + `|https?://\S+|\[[^\]]*\]\(https?://\S+\))` + remarks)

// remarks matches the remarks that may end an entry: " 15:00 JST)", "T15:00:00Z", "(no date)", "[PDF]".
const remarks = `(?:[ ,，、T]*\d{1,2}(?::\d\d(?::\d\d)?|時(?:\d{1,2}分)?))?(?: [A-Z]{2,5}|[+-]\d\d:?\d\d|Z)?[)）\s]*(?:[(（\[][^\d()（）\[\]]*[)）\]]\s*)*[)）.。*_\s]*$`

// onlyDate matches a line with nothing but a date, which the word DATE replaces.
var onlyDate = text.LazyRegexp(`^(?:` + bullet + `)?[\s(（*_—–:：-]*DATE[\s)）*_.。]*$`)

// lineContent is what a line of a list contains.
type lineContent struct {
	startsEntry bool // with a bullet that is not indented more than the list
	hasSource   bool // a source, in the form of an entry
	hasDate     bool
	isOnlyDate  bool // nothing but a date
}

// readLine returns what a line of a list contains, without startsEntry. Dates may have any form. Of
// a long line only the start and the end are read, because a URL or a title is in the middle.
func readLine(s string) (c lineContent) {
	if len(s) > maxEntry {
		s = s[:maxEntry/2] + s[len(s)-maxEntry/2:]
	}

	// Shorten URLs, because dates and digits in them do not count.
	for _, link := range slices.Backward(FindLinks(s, maxLinks)) {
		s = s[:link.Start] + "https://x" + s[link.End:]
	}
	withDates, withoutDates := s, s
	for _, d := range slices.Backward(datesIn(s)) {
		if d.kind != "other" { // such as "valid until"; datesIn returns no versions
			c.hasDate = true
			withDates = withDates[:d.start] + "DATE" + withDates[d.end:]
			withoutDates = withoutDates[:d.start] + withoutDates[d.end:]
		}
	}
	c.hasSource = c.hasDate && datedEntry().MatchString(withDates) ||
		undatedEntry().MatchString(withoutDates)
	c.isOnlyDate = onlyDate().MatchString(withDates)
	return c
}

var (
	// entryStart matches the bullet of an entry, and linkText the text of a link before its URL.
	entryStart = text.LazyRegexp(`^` + bullet)
	linkText   = text.LazyRegexp(`\[((?:[^\[\]\\]|\\.)*)\]\(<?$`)
)

// titleUnescaper undoes the escapes of titles in Markdown.
var titleUnescaper = strings.NewReplacer(`\_`, "_", `\*`, "*", `\[`, "[", `\]`, "]")

// title returns the title of a link in a list: the text of the link. If the link has no text and is
// the first of its line, the title is what is between the bullet and the URL.
func (l Link) title(isFirst bool) string {
	m := linkText().FindStringSubmatch(l.before)
	switch {
	case m != nil:
		return cleanTitle(titleUnescaper.Replace(strings.Trim(m[1], "*_ ")))
	case isFirst:
		words := entryStart().ReplaceAllString(l.before, "")
		words = strings.Trim(words, HeadingMarks+",;—–-(（<、，|")
		words = strings.TrimRight(words, "[ ")     // before the URL
		if len(datesIn(startWindow(words))) == 0 { // else the date would be shown twice
			return cleanTitle(titleUnescaper.Replace(words))
		}
	}
	return ""
}

// Punctuation are the characters that a URL in a text may contain, but does not end with.
const Punctuation = ".,;:!?*_'`|：！？…’"

// urlInText matches a URL without the punctuation that follows it. Parentheses belong to the URL
// only in pairs.
var urlInText = text.LazyRegexp(
	"https?://(?:[" + Punctuation + "]*" +
		"(?:[^" + Punctuation + urlEnd + `()]|` + pairsInURL + "))+")

// pairsInURL matches parentheses in a URL, for an expression.
const pairsInURL = `\((?:[^()\s]|\([^()\s]*\))*\)`

// urlEnd are the characters at which a URL in a text ends, for an expression. \pZ has the no-break
// space before a French "»". In Chinese, no space precedes "；".
const urlEnd = `\s\pZ<>\[\]"“”„«»（）「」『』【】《》〈〉、。，；،؛`

// dateAtEnd matches a date in parentheses at the end of a match of urlInText.
var dateAtEnd = text.LazyRegexp(`\(\d{4}-\d{2}-\d{2}\)$`)

// FindLinks returns where the URLs in a text are, without the punctuation that follows them: the
// first limit ones, or all if limit is negative.
func FindLinks(s string, limit int) []Link {
	var list []Link
	end := 0
	for _, at := range urlInText().FindAllStringIndex(s, limit) {
		if at[0] < end { // within the previous URL
			continue
		}

		before := s[end:at[0]]
		if len(list) > 0 {
			list[len(list)-1].after = before
		}
		u := dateAtEnd().ReplaceAllString(s[at[0]:at[1]], "")
		end = at[0] + len(u)
		if endsWithUnderscore(s, at[0], end) {
			end++
		}
		m := exactURL().FindStringSubmatch(s[max(0, at[0]-2):])
		if m != nil {
			end = at[0] + len(strings.Join(m[1:], ""))
		}

		page := PageURL(markdownUnescaper.Replace(s[at[0]:end]))
		list = append(list, Link{
			Start:  at[0],
			End:    end,
			URL:    page,
			key:    PageKey(page),
			before: before,
			after:  s[end:],
		})
	}
	return list
}

// inLink matches a character, or parentheses, of the target of a link in Markdown.
const inLink = `(?:[^\s\pZ<>()\[\]]|` + pairsInURL + `)`

// exactURL matches a URL whose end is certain, after the two characters before it. The end is
// certain in a link in Markdown, and in an entry of the lists that this program writes. Such a URL
// may have the punctuation and the brackets of titles, as https://ja.wikipedia.org/wiki/【推しの子】 has.
// The ^ is outside the alternatives: with a ^ in each, package regexp would search the whole text.
var exactURL = text.LazyRegexp(
	`^(?:\]\((https?://` + inLink + `*)\)|` +
		`(?s:.)?<(https?://` + inLink + `*)>|` +
		`- (https?://(?:[^\s\pZ<>()\[\]、。，；]|` + pairsInURL + `)*[^\s\pZ[:punct:]、。，；]) \()`)

// markdownUnescaper undoes the escapes of URLs in Markdown. Of the escapes of HTML it undoes only
// "&amp;", because a URL may have "&copy=" in its query.
var markdownUnescaper = strings.NewReplacer(`\_`, "_", `\*`, "*", `\~`, "~", `\-`, "-", `\&`, "&",
	`\(`, "(", `\)`, ")", `\|`, "|", `\#`, "#", `\+`, "+", `\.`, ".", `\=`, "=", "&amp;", "&")

var (
	// lastUnderscore matches an underscore at the end of a word, and emphasisStart one that begins
	// emphasis.
	lastUnderscore = text.LazyRegexp(`^_(?:$|[ \n\t)>.,;])`)
	emphasisStart  = text.LazyRegexp(`(?:^|[^\pL\pN])_(?:$|[^\s_])`)
)

// endsWithUnderscore reports whether the URL s[start:end] is followed by an underscore that belongs
// to it, and does not end emphasis that began before the URL.
func endsWithUnderscore(s string, start, end int) bool {
	if !strings.HasPrefix(s[end:], "_") { // the expressions are slow
		return false
	}
	before := s[max(0, start-dateWindow):start]
	return lastUnderscore().MatchString(s[end:]) && !emphasisStart().MatchString(before)
}

// nameLinks returns a link at the first of the names that a line contains, or none.
func nameLinks(s string, names []string) []Link {
	for _, name := range names {
		start := strings.Index(s, name)
		if start >= 0 {
			end := start + len(name)
			return []Link{{
				Start:  start,
				End:    end,
				key:    name,
				before: s[:start],
				after:  s[end:],
			}}
		}
	}
	return nil
}
