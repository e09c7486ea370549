package terminal

import (
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// sources are the pages that an answer links to or cites. Each page is there once.
type sources struct {
	list    []cite.Citation
	numbers map[string]int // from 1, by the key of the page
	blocked cite.Hosts     // their pages are not listed
	cut     string         // a text that was cut off: a URL at its end is not listed either
}

// page returns the URL of a page that can be listed, or "".
func (s *sources) page(u string) string {
	page := cite.PageURL(u)
	if strings.HasSuffix(s.cut, u) || s.blocked.Has(page) {
		return ""
	}
	return page
}

// add returns the number of a page, which it adds if it is new. Title and date
// come from the citations: the links of the text have none.
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
