package answer

import (
	"cmp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
)

// compose makes the answer of what the responses say. accessed is the date of pages without one.
// Model and Meta.Elapsed are left to the caller. The error is a NoTextError.
func (a *Answerer) compose(r *reading, accessed string) (*Answer, error) {
	if r.text == "" {
		return nil, NoTextError(cmp.Or(r.incomplete, "no output"))
	}

	sources := r.sources(a.blocked)
	names := namesOf(sources, a.o.MaxCitations)
	doc := cite.NewDocument(r.text, names...)
	citations := doc.Citations(sources, a.o.MaxCitations, accessed)

	text := r.text
	if r.incomplete != "" {
		text += incompleteNote(r.text, r.incomplete)
	}
	searchedPages := r.searched && len(citations) > 0
	if searchedPages && !doc.Closing {
		text += listOf(citations)
	}

	return &Answer{
		Text:       text,
		UsedSearch: r.searched,
		Citations:  citations,
		Meta:       r.meta,
		Sources:    sources,
	}, nil
}

// namesOf returns the names of the first sources without a URL, at most limit of them.
func namesOf(sources []cite.Citation, limit int) []string {
	var names []string
	for _, c := range sources {
		if !c.IsPage() && len(names) < limit {
			names = append(names, c.URL)
		}
	}
	return names
}

// incompleteNote ends a text that was cut short, and a code block that was cut short with it.
func incompleteNote(body, reason string) string {
	note := "\n\n[" + reason + "]"
	inCode := strings.Count(body, "```")%2 == 1
	if inCode {
		return "\n```" + note
	}
	return note
}

// listOf returns the list of sources that ends an answer.
func listOf(citations []cite.Citation) string {
	var b strings.Builder
	b.WriteString("\n\nSources:")
	for _, c := range citations {
		b.WriteString("\n- " + c.URL + " (" + c.PublishedAt + ")")
	}
	return b.String()
}
