// Package cite decides which sources an answer cites and with which dates. It reads the text of the
// answer for links and for a list of sources, and it knows the URLs of pages and their hosts.
//
//	citation.go  a Citation, and which sources become citations
//	document.go  the text of an answer: links, and the list of sources
//	date.go      the dates that the text and the URL give for a source
//	url.go       URLs of pages, and sets of hosts
//	clean.go     removes what the API adds to texts and URLs
//	code.go      where a text has code
//	rows.go      reads the tables
//
// The world's habits are rows of tables: markers.table has the citation markers of vendors,
// forms.table the forms of dates, months.table the names of the months, and dates.table the words
// beside dates.
package cite

import (
	"cmp"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const maxTitle = 300 // characters

// Citation is one source of an answer (spec §3.2).
type Citation struct {
	URL         string `json:"url"`             // http(s) URL, or the name of a source without a URL ("oai-weather")
	Title       string `json:"title,omitempty"` // one line; "api" for a source without a URL
	PublishedAt string `json:"published_at"`    // YYYY-MM-DD
	Accessed    bool   `json:"-"`               // PublishedAt is the date of access: the source has no date
}

// number matches what some servers have in place of a title: the number of a source
// ("[[1]](https://a.example)").
var number = text.Regexp(`^\[?\d{1,2}\]?$`)

// Page returns a page without a date. Its URL is empty if raw is not an http or https URL.
func Page(raw, title string) Citation {
	title = text.OneLine(title)
	if number().MatchString(title) {
		title = ""
	}
	return Citation{
		URL:   PageURL(raw),
		Title: text.Truncate(title, maxTitle),
	}
}

// sourceName matches the name of a source without a URL. No URL and no Markdown is one.
var sourceName = text.Regexp(`^[A-Za-z0-9._-]{1,64}$`)

// Named returns a source without a URL, as the API names its own ("oai-weather"). Its URL is empty
// if name is not an identifier.
func Named(name string) Citation {
	if !sourceName().MatchString(name) {
		return Citation{}
	}
	return Citation{URL: name, Title: "api"}
}

// IsPage reports whether the source has a URL.
func (c Citation) IsPage() bool {
	return strings.Contains(c.URL, "://")
}

// Date returns the date as lists have it: "2026-05-01", or "accessed 2026-11-28".
func (c Citation) Date() string {
	if c.Accessed {
		return "accessed " + c.PublishedAt
	}
	return c.PublishedAt
}

// Citations returns at most limit of the sources, each with its date: the one in the text, else the
// one in the path of its URL, else that of access, which is today unless the text says yesterday. A
// page has the date that the list says, also one of access. Dates are YYYY-MM-DD, and those in the
// future are ignored. The list is never nil.
func (doc *Document) Citations(sources []Citation, limit int, today string) []Citation {
	list := append([]Citation{}, doc.choose(sources, limit)...)
	for i := range list {
		c := &list[i]
		listed, inProse := doc.datesOf(PageKey(c.URL), today)
		c.PublishedAt = listed.page()
		if c.PublishedAt == "" && listed.accessed == "" {
			c.PublishedAt = cmp.Or(inProse.page(), dateInPath(c.URL, today))
		}
		if c.PublishedAt == "" {
			c.PublishedAt = accessDate(cmp.Or(listed.accessed, inProse.accessed), today)
			c.Accessed = true
		}
	}
	return list
}

// accessDate returns the date of access: that of the text if it is yesterday, else today.
func accessDate(said, today string) string {
	day, _ := time.Parse(time.DateOnly, today)
	if said == day.AddDate(0, 0, -1).Format(time.DateOnly) {
		return said
	}
	return today
}

// choose returns at most limit sources: pages that the text links to, then other pages, then
// sources without a URL, which have only a name. Names are kept before pages, but leave one place
// for a page; if limit is 1, that place is a name's.
func (doc *Document) choose(sources []Citation, limit int) []Citation {
	if len(sources) <= limit {
		return sources
	}

	inText := map[string]bool{}
	for _, l := range doc.lines {
		for _, link := range l.links {
			inText[link.key] = true
		}
	}

	var linked, others, names []Citation
	for _, c := range sources {
		switch {
		case !c.IsPage():
			names = append(names, c)
		case inText[PageKey(c.URL)]:
			linked = append(linked, c)
		default:
			others = append(others, c)
		}
	}
	pages := append(linked, others...)

	forNames := max(limit-1, limit-len(pages), 1)
	names = names[:min(len(names), forNames)]
	pages = pages[:min(len(pages), limit-len(names))]
	return append(pages, names...)
}
