package cli

import (
	"cmp"
	"fmt"
	"regexp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// source is an entry of the list of sources.
type source struct {
	url   string // or the name of a source without a URL
	title string
	date  string
}

// sources is the list of sources. A page is in it once.
type sources struct {
	list    []source
	numbers map[string]int // by the key of the page
}

// add returns the number of a source. A title or date that it lacks in the list
// is taken from s.
func (l *sources) add(s source) int {
	key := answer.PageKey(s.url)
	if l.numbers[key] == 0 {
		if l.numbers == nil {
			l.numbers = map[string]int{}
		}
		l.list = append(l.list, source{url: s.url})
		l.numbers[key] = len(l.list)
	}
	n := l.numbers[key]
	known := &l.list[n-1]
	known.title = cmp.Or(known.title, text.OneLine(s.title))
	known.date = cmp.Or(known.date, s.date)
	return n
}

// cite adds the citations of an answer.
func (l *sources) cite(citations []answer.Citation) {
	for _, c := range citations {
		s := source{url: c.URL, title: c.Title, date: c.PublishedAt}
		if c.Accessed {
			s.date = "accessed " + c.PublishedAt
		}
		l.add(s)
	}
}

var (
	// marker matches the beginning of an entry.
	marker = regexp.MustCompile(`^\s*(?:[-*+•・]|\d{1,3}[.)]|\[\d{1,3}\])\s*`)
	// dated matches the date at the end of an entry.
	dated = regexp.MustCompile(`[\s(（:：—–-]*(\d{4}-\d{2}-\d{2})[)）.。*_\s]*$`)
)

// read adds the pages of the list that the answer itself has.
func (l *sources) read(list string) {
	for line := range strings.Lines(list) {
		links := answer.Links(line)
		for _, at := range links {
			s := source{url: answer.PageURL(line[at[0]:at[1]])}
			if s.url == "" {
				continue
			}
			if m := dated.FindStringSubmatch(line); m != nil {
				s.date = m[1]
			}
			if len(links) == 1 {
				rest := dated.ReplaceAllString(line[:at[0]]+line[at[1]:], "")
				s.title = strings.Trim(marker.ReplaceAllString(rest, ""), "[](){}<>*_`—–-:： \t\n")
			}
			l.add(s)
		}
	}
}

// sourceRows returns the rows of the list of sources, if there are any.
func (r *renderer) sourceRows(heading string, width int) string {
	if len(r.sources.list) == 0 {
		return ""
	}
	r.width = width
	r.out.Reset()
	r.wrap([]span{{text: heading, style: bold}})
	for i, s := range r.sources.list {
		page := span{text: s.url, style: dim, url: answer.PageURL(s.url), whole: true}
		title := span{text: s.title, style: linked, url: page.url}
		spans := []span{title, {text: " "}, page}
		if s.title == "" || page.url == "" {
			spans = []span{page}
		}
		if s.date != "" {
			spans = append(spans, span{text: " "}, span{text: "(" + s.date + ")", style: dim, whole: true})
		}
		number := fmt.Sprintf("[%d] ", i+1)
		r.mark(number)
		r.prefix = strings.Repeat(" ", len(number))
		r.wrap(spans)
		r.prefix = ""
	}
	return r.out.String()
}
