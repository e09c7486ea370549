package answer

import (
	"cmp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
)

// compose makes the answer of what the responses say. Model and Meta.Elapsed are left to the caller.
// The error is a NoTextError.
func (a *Answerer) compose(r *reading) (*Answer, error) {
	if r.text == "" {
		return nil, NoTextError(cmp.Or(r.incomplete, "no output"))
	}
	sources := r.sources(a.blocked)
	var names []string
	for _, c := range sources {
		if !c.IsPage() && len(names) < a.o.MaxCitations {
			names = append(names, c.URL)
		}
	}
	doc := cite.NewDocument(r.text, names)
	ans := &Answer{Text: r.text, UsedSearch: r.searched, Citations: []cite.Citation{}, Meta: r.meta} // citations are never null in JSON
	ans.Citations = append(ans.Citations, cite.Capped(sources, a.o.MaxCitations, doc)...)
	dates, today := doc.Dates(ans.Citations), a.today()
	for i := range ans.Citations {
		c := &ans.Citations[i]
		c.PublishedAt = cite.PublishedAt(c.URL, dates[cite.PageKey(c.URL)], today)
		if c.PublishedAt == "" {
			c.PublishedAt, c.Accessed = today, true
		}
	}
	if r.incomplete != "" {
		if strings.Count(r.text, "```")%2 == 1 { // cut short in a code block
			ans.Text += "\n```"
		}
		ans.Text += "\n\n[" + r.incomplete + "]"
	}
	if ans.UsedSearch && len(ans.Citations) > 0 && !doc.Closing {
		ans.Text += "\n\nSources:"
		for _, c := range ans.Citations {
			ans.Text += "\n- " + c.URL + " (" + c.PublishedAt + ")"
		}
	}
	return ans, nil
}
