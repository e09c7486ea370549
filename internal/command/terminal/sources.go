package terminal

import (
	"cmp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// sources holds the pages that an answer links to or cites, each page once.
type sources struct {
	list    []cite.Citation
	numbers map[string]int // place in list, from 1 on, by the key of the page
	blocked cite.DomainSet // whose pages are not listed
	cut     string         // text that was cut off: a URL at its end may be incomplete; else ""
}

// page returns the URL of a page that can be listed, or "".
func (s *sources) page(u string) string {
	page := cite.PageURL(u)
	if strings.HasSuffix(s.cut, u) || s.blocked.HasPage(page) {
		return ""
	}
	return page
}

// add returns the number of a page, and adds the page if it is new. A page that is known, such as
// from a link of the text, gets the title and the date of c if it has no date, else only the title
// if it has none.
func (s *sources) add(c cite.Citation) int {
	if s.numbers == nil {
		s.numbers = make(map[string]int)
	}
	key := cite.PageKey(c.URL)
	n := s.numbers[key]
	if n == 0 {
		s.list = append(s.list, c)
		n = len(s.list)
		s.numbers[key] = n
	}

	known := &s.list[n-1]
	if known.PublishedAt == "" {
		*known = c
	}
	known.Title = cmp.Or(known.Title, c.Title)
	return n
}

// sourceEntry returns the title, the URL and the date of a source.
func sourceEntry(c cite.Citation) (entry styled) {
	page := cite.PageURL(c.URL)
	if c.Title != "" && page != "" {
		entry.add(c.Title, style{linked, page})
		entry.add(" ", style{})
	}
	entry.add(c.URL, style{dim, page})

	date := strings.ReplaceAll(c.Date(), " ", noBreak)
	if date != "" {
		entry.add(" ("+date+")", style{sgr: dim})
	}
	return entry
}
