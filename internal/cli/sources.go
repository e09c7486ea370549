package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

// source is an entry of the list of sources.
type source struct {
	url   string // or the name of a source without a URL
	title string
	date  string
}

// cite returns the number of a source. A page is in the list once: a title or
// date that it lacks there is taken from s.
func (r *renderer) cite(s source) int {
	key := answer.PageKey(s.url)
	if r.numbers[key] == 0 {
		if r.numbers == nil {
			r.numbers = map[string]int{}
		}
		r.sources = append(r.sources, source{url: s.url})
		r.numbers[key] = len(r.sources)
	}
	n := r.numbers[key]
	known := &r.sources[n-1]
	known.title = cmp.Or(known.title, s.title)
	known.date = cmp.Or(known.date, s.date)
	return n
}

// date matches the date of an entry in the list that an answer has.
var date = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// citeAll adds the citations of an answer, and the pages of its own list.
func (r *renderer) citeAll(citations []answer.Citation, list string) {
	for _, c := range citations {
		s := source{url: c.URL, title: c.Title, date: c.PublishedAt}
		if c.Accessed {
			s.date = "accessed " + c.PublishedAt
		}
		r.cite(s)
	}
	for line := range strings.Lines(list) {
		for _, at := range answer.Links(line) {
			page := answer.PageURL(line[at[0]:at[1]])
			if page != "" {
				r.cite(source{url: page, date: date.FindString(line[at[1]:])})
			}
		}
	}
}

// sourceRows returns the rows of the list of sources, if there are any.
func (r *renderer) sourceRows(heading string, width int) string {
	r.width = width
	r.out.Reset()
	if len(r.sources) > 0 {
		r.wrap([]span{{text: heading, style: bold}})
	}
	for i, s := range r.sources {
		page := answer.PageURL(s.url)
		spans := []span{{text: s.url, style: dim, url: page, whole: true}}
		if s.title != "" && page != "" {
			spans = append([]span{{text: s.title, style: linked, url: page}, {text: " "}}, spans...)
		}
		if s.date != "" {
			spans = append(spans, span{text: " "}, span{text: "(" + s.date + ")", style: dim, whole: true})
		}
		number := fmt.Sprintf("[%d] ", i+1)
		r.nest(number, strings.Repeat(" ", len(number)), func() { r.wrap(spans) })
	}
	return r.out.String()
}
