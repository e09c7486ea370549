package cite

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// Web pages write parts of an answer, so reading it must take linear time. The
// longest recorded answers stay far below these bounds.
const (
	maxText  = 1 << 20 // bytes at the end of a text that are searched for links and a list
	maxLinks = 1000    // links of a text
	maxEntry = 4000    // bytes of a line that show whether it is an entry of a list
)

// Marks has the characters around the words of a heading: those of Markdown, colons and spaces.
const Marks = "#*_:： \t\r\f\u00a0\u202f\u3000"

// heading matches the words above a list of sources, also with emoji. The line is plain, bold or a
// Markdown heading.
var heading = text.Regexp(
	`(?i)^[\p{So}\pM\pZ\x{200D}\s*_:：]*(?:` +
		`sources?|references?|citations|bibliography|` +
		`quellen?(?:angaben?|nachweise?|verzeichnis)?|referenz(?:en)?|fuentes?|referencias?|` +
		`références?|riferimenti|font(?:e|i|es)|referências?|bron(?:nen)?|referenties|источники?|` +
		`出典|情報[源元]|引用(?:元|文献)?|参照元?|参考(?:文献|資料|リンク|情報|サイト|URL)?|` +
		`参考(?:资料|来源|链接)|參考(?:文獻|資料|來源|連結)|` +
		`(?:资料|信息|引用)?来源|(?:資料|資訊|引用)?來源|출처|참고 ?(?:문헌|자료|링크)` +
		`)[\p{So}\pM\pZ\x{200D}\s*_:：]*$`)

const (
	bullet     = `\s*(?:[-*+•・]|\d{1,3}[.)]|\[\d{1,3}\])\s*` // or a number
	identifier = "`?[a-z0-9]+(?:-[a-z0-9]+)+`?"              // oai-weather
)

// datedEntry matches an entry of the list in the form that the policy asks for. The word DATE
// stands in its text in place of each date.
var datedEntry = text.Regexp(
	`^(?:` + bullet + `)?\s*` +
		"(?:" + identifier + "|.*https?://.*)" +
		`(?:\s*[(（](?:[^\d()（）]*[\s:：])?|[\s:：,、—–-]+)` + // "(published: " or " — "
		`DATE` + remarks)

// undatedEntry matches an entry without a date: a URL after a bullet, or a line that is no more
// than an identifier, a URL or a link, with a remark such as "(no date)".
var undatedEntry = text.Regexp(
	`^` + bullet + `.*https?://|` +
		`^(?:` + bullet + `)?\s*` +
		"(?:" + identifier + `|https?://\S+|\[[^\]]*\]\(https?://\S+\))` + remarks)

// remarks matches what may end an entry: " JST)", "(no date)", "[PDF]".
const remarks = `(?: JST)?[)）\s]*(?:[(（\[][^\d()（）\[\]]*[)）\]]\s*)*[)）.。*_\s]*$`

// onlyDate matches a line that has a date, as DATE, and nothing else.
var onlyDate = text.Regexp(`^(?:` + bullet + `)?[\s(（*_—–:：-]*DATE[\s)）*_.。]*$`)

// bulletStart matches the start of an entry, in this form or another.
var bulletStart = text.Regexp(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[)`)

// Punctuation has the characters that a URL may contain but does not end with.
const Punctuation = ".,;:!?*_'`|"

// urlInText matches a URL without the punctuation that follows it. Parentheses
// belong to it in pairs.
var urlInText = text.Regexp(
	"https?://(?:[" + Punctuation + "]*" +
		"(?:[^" + Punctuation + `\s<>()\[\]"（）「」『』、。，]|\((?:[^()\s]|\([^()\s]*\))*\)))+`)

// dateAtEnd matches a date in parentheses at the end of such a URL.
var dateAtEnd = text.Regexp(`\(\d{4}-\d{2}-\d{2}\)$`)

// Document is the text of an answer, with its last list of sources.
type Document struct {
	// Closing reports whether the list ends the text in the form that the policy asks for: each
	// entry is a URL, a link or an identifier, and at least one has a date.
	Closing bool

	// ListStart is where the heading of the list begins: bytes from the start of the text, or the
	// length of the text if it has no list.
	ListStart int

	lines []line

	// The list is lines[begin:end], and its heading is lines[begin-1]. Both are 0 without a list.
	begin  int
	end    int
	indent int // bytes of the blanks before its first line
}

// line is a line of a text. Only the first maxLinks links of a text are known.
type line struct {
	text  string
	links []Link
}

// Link is where a line has the URL of a page, or the name of a source without a URL.
type Link struct {
	Start int
	End   int
	Page  string // PageURL, "" for a name
	key   string // PageKey
}

// NewDocument reads the text of an answer. The names of sources without a URL count as links in
// lines without other links.
func NewDocument(body string, names ...string) *Document {
	doc := &Document{ListStart: len(body)}
	offset := max(0, len(body)-maxText)
	linksLeft := maxLinks

	for s := range strings.SplitSeq(body[offset:], "\n") {
		l := line{s, Links(s, linksLeft)}
		linksLeft -= len(l.links)
		if len(l.links) == 0 {
			l.links = nameIn(s, names)
		}
		doc.lines = append(doc.lines, l)

		if heading().MatchString(strings.Trim(s, Marks)) {
			doc.begin = len(doc.lines)
			doc.ListStart = offset
		}
		offset += len(s) + len("\n")
	}
	if doc.begin > 0 {
		doc.readList()
	}
	return doc
}

// readList finds the end of the list, and whether it closes the text. A paragraph below the entries
// is not a part of the list. Lines below the first one of an entry belong to it if they have only a
// date, or if they are indented.
func (doc *Document) readList() {
	linked := false       // a line has a link
	dated := false        // an entry has a date
	onlyEntries := true   // the lines are of entries or blank
	belowEntries := false // the line is below a blank one, and that below a link
	sourceless := false   // the entry that began last has no source yet

	first := slices.IndexFunc(doc.lines[doc.begin:], func(l line) bool {
		return strings.TrimSpace(l.text) != ""
	})
	if first >= 0 {
		doc.indent = indentation(doc.lines[doc.begin+first].text)
	}

	for i, l := range doc.lines[doc.begin:] {
		if strings.TrimSpace(l.text) == "" {
			belowEntries = linked
			continue
		}

		e := l.entry()
		starts := doc.startsEntry(doc.begin + i)
		prose := !e.source && !e.isDate && !bulletStart().MatchString(l.text)
		if belowEntries && prose {
			doc.end = doc.begin + i
			return
		}
		belowEntries = false

		belongs := e.isDate || doc.isIndented(doc.begin+i)
		switch {
		case starts:
			onlyEntries = onlyEntries && !sourceless
			sourceless = !e.source
		case e.source:
			sourceless = false
		default:
			onlyEntries = onlyEntries && belongs
		}
		linked = linked || len(l.links) > 0
		dated = dated || e.dated
	}

	doc.end = len(doc.lines)
	doc.Closing = dated && onlyEntries && !sourceless
}

// startsEntry reports whether line i of the list begins an entry: it has a bullet, and is not
// indented more than the first line.
func (doc *Document) startsEntry(i int) bool {
	return bulletStart().MatchString(doc.lines[i].text) && !doc.isIndented(i)
}

// isIndented reports whether line i is indented more than the first line of the list.
func (doc *Document) isIndented(i int) bool {
	return indentation(doc.lines[i].text) > doc.indent
}

// indentation returns the bytes of the blanks that a line begins with.
func indentation(s string) int {
	return len(s) - len(strings.TrimLeft(s, " \t\u3000"))
}

// Pages returns the pages of the list, without dates, which take longer to read.
func (doc *Document) Pages() []Citation {
	var list []Citation
	for _, l := range doc.lines[doc.begin:doc.end] {
		for _, link := range l.links {
			if link.Page != "" {
				list = append(list, Citation{URL: link.Page})
			}
		}
	}
	return list
}

// Listed returns the pages of the list, with the dates that it gives.
func (doc *Document) Listed() []Citation {
	list := doc.Pages()
	next := 0 // page
	for i := doc.begin; i < doc.end; i++ {
		for k, link := range doc.lines[i].links {
			if link.Page != "" {
				found := doc.listDates(i, k, never)
				list[next].PublishedAt = cmp.Or(found.page(), found.accessed)
				list[next].Accessed = found.page() == "" && found.accessed != ""
				next++
			}
		}
	}
	return list
}

// image matches an image, whose URL is no link.
var image = text.Regexp(`!\[[^\]]*\]\([^)]*\)`)

// lastURL matches the URL at the end of a text.
var lastURL = text.Regexp(`https?://[^\s<>)\[\]"（）「」『』、。，]*$`)

// Linked returns the pages with a public host name that a text links to, those of its list first.
// The URL at the end of a text that is cut short is not one: it may be longer.
func Linked(body string, cut bool) []Citation {
	body = body[max(0, len(body)-maxText):]
	if cut {
		body = lastURL().ReplaceAllString(body, "")
	}
	body = codeIn(body).cut(body)
	body = image().ReplaceAllString(body, "")

	pages := NewDocument(body).Pages()
	for _, link := range Links(body, maxLinks) {
		pages = append(pages, Citation{URL: link.Page})
	}
	return Public(pages)
}

// Public returns the pages that have a public host name. It changes pages.
func Public(pages []Citation) []Citation {
	return slices.DeleteFunc(pages, func(c Citation) bool {
		host := HostOf(c.URL)
		return !text.IsHostName(host) || text.IsLoopback(host)
	})
}

// entry is what a line of a list is.
type entry struct {
	source bool // it names one, in the form of an entry
	dated  bool
	isDate bool // it is no more than a date
}

// entry returns what a line is. Its dates may have any form. In the middle of a long line is a URL
// or a title.
func (l line) entry() (e entry) {
	s := l.text
	if len(s) > maxEntry {
		s = s[:maxEntry/2] + s[len(s)-maxEntry/2:]
	}

	// Dates and digits in URLs do not count.
	for _, link := range slices.Backward(Links(s, maxLinks)) {
		s = s[:link.Start] + "https://x" + s[link.End:]
	}
	with, without := s, s
	for _, d := range slices.Backward(datesIn(s, false)) {
		if d.kind != "other" {
			e.dated = true
			with = with[:d.start] + "DATE" + with[d.end:]
			without = without[:d.start] + without[d.end:]
		}
	}
	e.source = e.dated && datedEntry().MatchString(with) || undatedEntry().MatchString(without)
	e.isDate = onlyDate().MatchString(with)
	return e
}

// around returns the text between a link and the ones next to it.
func (l line) around(k int) (before, after string) {
	start := 0
	if k > 0 {
		start = l.links[k-1].End
	}
	end := len(l.text)
	if k+1 < len(l.links) {
		end = l.links[k+1].Start
	}

	link := l.links[k]
	return l.text[start:link.Start], l.text[link.End:end]
}

// Links returns where the first URLs in a text are, at most limit of them or all if limit is
// negative, without the punctuation that follows them.
func Links(s string, limit int) []Link {
	var list []Link
	for _, at := range urlInText().FindAllStringIndex(s, limit) {
		u := dateAtEnd().ReplaceAllString(s[at[0]:at[1]], "")
		end := at[0] + len(u)
		if isEndOfPage(s, at[0], end) {
			end++
		}
		page := PageURL(markdown.Replace(s[at[0]:end]))
		list = append(list, Link{
			Start: at[0],
			End:   end,
			Page:  page,
			key:   PageKey(page),
		})
	}
	return list
}

// markdown undoes the escapes of URLs in Markdown. Those of HTML are only this one: an address may
// have "&copy=" in its query.
var markdown = strings.NewReplacer(`\_`, "_", `\*`, "*", `\~`, "~", `\-`, "-", `\&`, "&", "&amp;", "&")

var (
	// lastUnderscore matches an underscore at the end of a word, and emphasis one that begins
	// emphasis.
	lastUnderscore = text.Regexp(`^_(?:$|[ \n\t)>.,;])`)
	emphasis       = text.Regexp(`(?:^|[^\pL\pN])_(?:$|[^\s_])`)
)

// isEndOfPage reports whether the character after a URL is an underscore that belongs to it, and
// does not end emphasis that began before it.
func isEndOfPage(s string, start, end int) bool {
	if !strings.HasPrefix(s[end:], "_") { // expressions would make each link slower
		return false
	}
	before := s[max(0, start-maxDate):start]
	return lastUnderscore().MatchString(s[end:]) && !emphasis().MatchString(before)
}

// nameIn returns where a line has one of the names, if it has any.
func nameIn(s string, names []string) []Link {
	for _, name := range names {
		start := strings.Index(s, name)
		if start >= 0 {
			return []Link{{
				Start: start,
				End:   start + len(name),
				key:   name,
			}}
		}
	}
	return nil
}
