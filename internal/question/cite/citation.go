// Package cite decides which sources an answer cites and with which dates. It reads the text of the
// answer for links and for a list of sources, and it knows the URLs of pages and their hosts.
//
//	citation.go  a Citation, and which sources become citations
//	document.go  the text of an answer: links, and the list of sources
//	date.go      the dates that the text and the URL give for a source
//	url.go       URLs of pages, and sets of domains
//	clean.go     removes what the API adds to texts and URLs
//	code.go      where a text has code
//	rows.go      reads the tables
//
// What models, servers and pages write is in tables: markers.table has the citation markers of
// vendors, forms.table the forms of dates, months.table the names of the months, and dates.table
// the words beside dates.
package cite

import (
	"cmp"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const maxTitle = 300 // characters of Citation.Title

// Citation is one source of an answer (spec §3.2).
type Citation struct {
	URL          string `json:"url"`             // http(s); or a name ("oai-weather"), see IsPage
	Title        string `json:"title,omitempty"` // one line; "api" for a source without a URL
	PublishedAt  string `json:"published_at"`    // YYYY-MM-DD
	IsAccessDate bool   `json:"-"`               // the date is that of access; the source has none
	Number       int    `json:"-"`               // by which a text may cite the source: "[7]"; 0: none
}

// Page returns a page without a date. Its URL is empty if raw is not an http or https URL. A title
// that is the URL, as xAI sends it, is left out.
func Page(raw, title string) Citation {
	page := Citation{URL: PageURL(raw)}
	isURL := page.URL != "" && PageURL(title) == page.URL
	if !isURL {
		page.Title = cleanTitle(title)
	}
	return page
}

// WithDate returns c with the date of publication that a server reports, if reported contains
// exactly one date.
func (c Citation) WithDate(reported string) Citation {
	if reported == "" { // as of most servers
		return c
	}
	dates := datesIn(startWindow(reported))
	if len(dates) == 1 {
		c.PublishedAt = dates[0].day
	}
	return c
}

// sourceNumber matches what some servers send in place of a title: the number of the source
// ("[[1]](https://a.example)").
var sourceNumber = text.LazyRegexp(`^\[?\d{1,2}\]?$`)

// cleanTitle returns a title as Citation.Title has it, or "" for a sourceNumber.
func cleanTitle(title string) string {
	title = text.OneLine(title)
	if sourceNumber().MatchString(title) {
		return ""
	}
	return text.Truncate(title, maxTitle)
}

// sourceName matches the name of a source without a URL. It matches no URL and no Markdown.
var sourceName = text.LazyRegexp(`^[A-Za-z0-9._-]{1,64}$`)

// NamedSource returns a source that has a name but no URL, such as those of the API itself
// ("oai-weather"). The URL of the result is the name, or empty if name is not an identifier.
func NamedSource(name string) Citation {
	if !sourceName().MatchString(name) {
		return Citation{}
	}
	return Citation{URL: name, Title: "api"}
}

// IsPage reports whether the source is a page, with a URL, and not only a name.
func (c Citation) IsPage() bool {
	return strings.Contains(c.URL, "://")
}

// Date returns the date for a list of sources: "2026-05-01", or "accessed 2026-11-28".
func (c Citation) Date() string {
	if c.IsAccessDate {
		return "accessed " + c.PublishedAt
	}
	return c.PublishedAt
}

// Citations returns at most limit of the sources, each with a date, which is the first of these:
//
//   - the date of the page in the list of sources
//   - unless the list has a date of access: the date in prose, the date that the server reports
//     (WithDate), or the date in the path of the URL
//   - the date of access: today, unless the text names yesterday
//
// today and all dates are YYYY-MM-DD; dates after lastDay are ignored: it is today where the day
// begins first, as a page may come from there. The result is never nil.
func (doc *Document) Citations(sources []Citation, limit int, today, lastDay string) []Citation {
	list := append([]Citation{}, doc.choose(sources, limit)...)
	for i := range list {
		c := &list[i]
		listed, inProse := doc.datesOf(PageKey(c.URL), lastDay)
		reported := c.PublishedAt
		if reported > lastDay {
			reported = ""
		}
		c.PublishedAt = listed.pageDate()
		if c.PublishedAt == "" && listed.accessed == "" {
			c.PublishedAt = cmp.Or(inProse.pageDate(), reported, dateInPath(c.URL, lastDay))
		}
		if c.PublishedAt == "" {
			c.PublishedAt = accessDate(cmp.Or(listed.accessed, inProse.accessed), today)
			c.IsAccessDate = true
		}
	}
	return list
}

// accessDate returns the date of access. It is today, unless accessed, the date that the text
// names, is yesterday.
func accessDate(accessed, today string) string {
	day, _ := time.Parse(time.DateOnly, today)
	if accessed == day.AddDate(0, 0, -1).Format(time.DateOnly) {
		return accessed
	}
	return today
}

// choose returns at most limit sources. If there are more, the result has first pages that the text
// links to, then other pages, then names, which are sources without a URL. Names are kept rather
// than pages, but one place stays for a page, unless limit is 1.
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

	maxNames := max(limit-1, limit-len(pages), 1)
	names = names[:min(len(names), maxNames)]
	pages = pages[:min(len(pages), limit-len(names))]
	return append(pages, names...)
}
