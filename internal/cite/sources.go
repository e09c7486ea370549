package cite

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// Web pages write parts of an answer, so reading it must take linear time. The
// longest recorded answers stay far below these bounds.
const (
	maxText  = 1 << 20 // bytes at the end of a text that are searched for lists, links and dates
	maxEntry = 4 << 10 // bytes of a line that can be an entry of a list
	maxLines = 1000    // lines of a list
	maxLinks = 10_000  // links of a text
	maxDate  = 500     // bytes next to a link that are searched for its date

	maxMentions = 200 // links to the cited pages whose date is looked for

	anyDate = `((?:19|20)\d\d)(?:[-‐‑–/.年](\d{1,2})[-‐‑–/.月](\d{1,2})|(\d\d)(\d\d))(?:\D|$)`
	marks   = ".,;:!?*_'`|"
)

var (
	// heading matches the line above a list of sources: plain, bold or a Markdown heading.
	heading = regexp.MustCompile(`(?i)^[#*_\s]*(?:sources|references|出典|参考|情報源)[*_:：\s]*$`)
	// entry matches a line of the list: something with a URL, or an identifier
	// such as oai-weather, and the date at the end.
	entry = regexp.MustCompile("^\\s*(?:(?:[-*+•・]|\\d{1,3}[.)]|\\[\\d{1,3}\\])\\s*)?(?:`?[a-z0-9]+(?:-[a-z0-9]+)+`?|.*https?://.*)" +
		`(?:\s*[(（](?:[^\d()（）]*[\s:：])?|[\s:：,、—–-]+)(\d{4}-\d{2}-\d{2})(?: JST)?[)）.。*_\s]*$`)
	// bullet matches the start of a list's entry.
	bullet = regexp.MustCompile(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[)`)
	// date matches 2025-12-05, 2025/12/05, 2025.12.05, 2025年12月5日 and 20251205.
	date = regexp.MustCompile(`(?:^|\D)` + anyDate)
	// dated matches what follows a link in prose and dates it.
	dated = regexp.MustCompile(`(?i)^[^\pL\pN|.。!?！？]*(?:(?:published|updated|dated|as of|公開日?|更新日?)[ \t:：]*)?\D?` + anyDate)
	// english matches 5 December 2025 and Dec. 5, 2025.
	english = regexp.MustCompile(`(?i)\b(?:(\d{1,2})(?:st|nd|rd|th)? )?(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\.? ` +
		`(?:(\d{1,2})(?:st|nd|rd|th)?,? )?((?:19|20)\d\d)\b`)
	// pageURL matches a URL without the punctuation that follows it. Parentheses belong to it in pairs.
	pageURL = regexp.MustCompile("https?://(?:[" + marks + "]*(?:[^" + marks + `\s<>()\[\]"（）「」『』、。，]|\([^()\s]*\)))+`)
	// datedEnd matches a date at the end of such a URL.
	datedEnd = regexp.MustCompile(`\(\d{4}-\d{2}-\d{2}\)$`)
)

// Document is the text of an answer, with its last list of sources.
type Document struct {
	lines      []line
	begin, end int  // of the list
	Closing    bool // the list ends the text, and each entry is a URL, a link or an identifier with a date
}

type line struct {
	text  string
	links []Link
}

// Link is where a text has the URL of a page, or the name of a source.
type Link struct {
	Start, End int
	key        string // PageKey
}

// NewDocument finds the links in a text, the names of sources without a URL where a line has no
// link, and the list of sources. A paragraph that follows the entries is not a part of it.
func NewDocument(body string, names []string) *Document {
	doc := &Document{}
	left := maxLinks
	for text := range strings.SplitSeq(body[max(0, len(body)-maxText):], "\n") {
		l := line{text, links(text, left)}
		left -= len(l.links)
		for _, name := range names {
			if i := strings.Index(text, name); i >= 0 && len(l.links) == 0 {
				l.links = []Link{{i, i + len(name), PageKey(name)}}
			}
		}
		doc.lines = append(doc.lines, l)
		if heading.MatchString(text) {
			doc.begin = len(doc.lines)
		}
	}
	if doc.begin == 0 {
		return doc
	}
	linked, dated, closing := false, false, true
	for doc.end = doc.begin; doc.end < min(len(doc.lines), doc.begin+maxLines); doc.end++ {
		l := doc.lines[doc.end]
		blank, entry := l.isBlank(), l.isEntry()
		if linked && doc.lines[doc.end-1].isBlank() && !blank && !entry && !bullet.MatchString(l.text) {
			break
		}
		linked = linked || len(l.links) > 0
		dated = dated || entry
		closing = closing && (blank || entry)
	}
	doc.Closing = closing && dated && doc.end == len(doc.lines)
	return doc
}

func (l line) isBlank() bool { return strings.TrimSpace(l.text) == "" }

// isEntry reports whether a line is an entry of a list as the policy asks for it.
func (l line) isEntry() bool {
	m := entry.FindStringSubmatch(l.text[:min(len(l.text), maxEntry)])
	return m != nil && firstDate(m[1]) != "" && len(l.text) < maxEntry
}

// Dates returns the dates that the text gives for sources, by PageKey: those of the entries of the
// list, else those that follow a source at once.
func (doc *Document) Dates(sources []Citation) map[string]string {
	dates := map[string]string{}
	for _, c := range sources {
		dates[PageKey(c.URL)] = ""
	}
	left := maxMentions
	look := func(begin, end int, date func(i, k int) string) {
		for i := end - 1; i >= begin; i-- {
			for k, at := range doc.lines[i].links {
				known, wanted := dates[at.key]
				if wanted && known == "" && left > 0 {
					dates[at.key] = date(i, k)
					left--
				}
			}
		}
	}
	look(doc.begin, doc.end, doc.listDate)
	look(0, len(doc.lines), doc.proseDate)
	return dates
}

// listDate returns the date that an entry of the list gives for link k of line i: after it, or
// before it where the dates come first, or in a line without a link that belongs to the same entry.
func (doc *Document) listDate(i, k int) string {
	l := doc.lines[i]
	before, after := l.around(k)
	d := firstDate(before[max(0, len(before)-maxDate):])
	if d == "" || firstDate(l.text[l.links[len(l.links)-1].End:]) != "" {
		d = firstDate(after)
	}
	if d == "" && i+1 < doc.end && len(doc.lines[i+1].links) == 0 && !bullet.MatchString(doc.lines[i+1].text) {
		d = firstDate(doc.lines[i+1].text)
	}
	if d == "" && len(doc.lines[i-1].links) == 0 && !bullet.MatchString(l.text) {
		d = firstDate(doc.lines[i-1].text)
	}
	return d
}

// proseDate returns the date that follows link k of line i at once.
func (doc *Document) proseDate(i, k int) string {
	_, after := doc.lines[i].around(k)
	if !dated.MatchString(iso(after[:min(len(after), maxDate)])) {
		return ""
	}
	return firstDate(after)
}

// around returns the text between a link and the ones next to it.
func (l line) around(k int) (before, after string) {
	begin, end := 0, len(l.text)
	if k > 0 {
		begin = l.links[k-1].End
	}
	if k+1 < len(l.links) {
		end = l.links[k+1].Start
	}
	return l.text[begin:l.links[k].Start], l.text[l.links[k].End:end]
}

// links returns the first URLs in a line.
func links(s string, limit int) (list []Link) {
	for _, at := range pageURL.FindAllStringIndex(s, limit) {
		u := s[at[0]:at[1]]
		u = strings.TrimSuffix(u, datedEnd.FindString(u))
		list = append(list, Link{at[0], at[0] + len(u), PageKey(PageURL(u))})
	}
	return list
}

// PublishedAt returns the date of a source: the one that the text gives, else
// one in the path of the URL, else "". Dates in the future are ignored.
func PublishedAt(u, inText, today string) string {
	_, rest, _ := strings.Cut(u, "://")
	_, path, _ := strings.Cut(rest, "/")
	path = path[:strings.IndexAny(path+"?", "?#")]
	for _, d := range []string{inText, firstDate(path)} {
		if d != "" && d <= today {
			return d
		}
	}
	return ""
}

// firstDate returns the first date near the start of s as YYYY-MM-DD, or "".
func firstDate(s string) string {
	for _, m := range date.FindAllStringSubmatch(iso(s[:min(len(s), maxDate)]), -1) {
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

// Links returns where the URLs in a text are, without the punctuation that follows them.
func Links(s string) []Link { return links(s, maxLinks) }

// SourcesAt returns where the last heading of a list of sources begins in the text of an answer, or
// the length of the text, and whether the list ends the text in the form that the policy asks for.
func SourcesAt(body string) (at int, closing bool) {
	doc := NewDocument(body, nil)
	if doc.begin == 0 {
		return len(body), false
	}
	at = len(body) + 1
	for _, l := range doc.lines[doc.begin-1:] {
		at -= len(l.text) + 1
	}
	return at, doc.Closing
}

// Listed returns the pages of the last list of sources of a text, with their dates.
func Listed(body string) (list []Citation) {
	doc := NewDocument(body, nil)
	for i := doc.begin; i < doc.end; i++ {
		l := doc.lines[i]
		for k, at := range l.links {
			page := PageURL(l.text[at.Start:at.End])
			if page != "" {
				list = append(list, Citation{URL: page, PublishedAt: doc.listDate(i, k)})
			}
		}
	}
	return list
}
