package cli

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
)

// cite returns the number of a page in the list of sources, which has it once.
// Title and date come from the citations: the links of the text have none.
func (r *renderer) cite(c answer.Citation) int {
	if r.numbers == nil {
		r.numbers = map[string]int{}
	}
	key := answer.PageKey(c.URL)
	n := r.numbers[key]
	switch {
	case n == 0:
		r.sources = append(r.sources, c)
		n = len(r.sources)
		r.numbers[key] = n
	case r.sources[n-1].PublishedAt == "":
		r.sources[n-1] = c
	}
	return n
}

// date matches the date of an entry in the list of an answer.
var date = regexp.MustCompile(`\d{4}-\d{2}-\d{2}`)

// citeList adds the pages of the list that an answer itself has.
func (r *renderer) citeList(list string) {
	for line := range strings.Lines(list) {
		for _, at := range answer.Links(line) {
			page := answer.PageURL(line[at[0]:at[1]])
			if page != "" {
				r.cite(answer.Citation{URL: page, PublishedAt: date.FindString(line[at[1]:])})
			}
		}
	}
}

// sourceRows returns the rows of the list of sources.
func (r *renderer) sourceRows(heading string, width int) string {
	r.width = width
	r.out.Reset()
	r.wrap(paint(heading, bold))
	for i, c := range r.sources {
		page := answer.PageURL(c.URL)
		entry := hyperlink(page, paint(c.URL, dim))
		if c.Title != "" && page != "" {
			entry = hyperlink(page, paint(c.Title, linked)) + " " + entry
		}
		date := c.PublishedAt
		if c.Accessed {
			date = "accessed " + date
		}
		if date != "" {
			entry += " " + whole(paint("("+date+")", dim))
		}
		number := fmt.Sprintf("[%d] ", i+1)
		r.nest(number, strings.Repeat(" ", len(number)), func() { r.wrap(entry) })
	}
	return r.out.String()
}
