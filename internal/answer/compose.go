package answer

import (
	"cmp"
	"context"
	"errors"
	"strings"
)

// cancelled reports whether a call is not wanted any more. The time limit alone
// does not end the work on an answer that is there.
func cancelled(ctx context.Context) bool { return errors.Is(ctx.Err(), context.Canceled) }

// compose makes the answer of what the responses say. Model and Meta.Elapsed are
// left to the caller. The error is a *NoTextError, or the cause of a cancellation.
func (a *Answerer) compose(ctx context.Context, r *reading) (*Answer, error) {
	if r.text == "" {
		return nil, &NoTextError{Reason: cmp.Or(r.incomplete, "no output")}
	}
	sources := r.sources(a.blocked)
	var names []string
	for _, c := range sources {
		if !c.isPage() && len(names) < a.o.MaxCitations {
			names = append(names, c.URL)
		}
	}
	doc := newDocument(r.text, names)
	ans := &Answer{Text: r.text, UsedSearch: r.searched, Citations: []Citation{}, Meta: r.meta} // citations are never null in JSON
	ans.Citations = append(ans.Citations, capped(sources, a.o.MaxCitations, doc)...)
	dates := doc.dates(ctx, ans.Citations)
	if cancelled(ctx) {
		return nil, context.Cause(ctx)
	}
	today := a.today()
	for i := range ans.Citations {
		c := &ans.Citations[i]
		c.PublishedAt = publishedAt(c.URL, dates[PageKey(c.URL)], today)
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
	if ans.UsedSearch && len(ans.Citations) > 0 && !doc.endsInSources() {
		ans.Text += "\n\nSources:"
		for _, c := range ans.Citations {
			ans.Text += "\n- " + c.URL + " (" + c.PublishedAt + ")"
		}
	}
	return ans, nil
}
