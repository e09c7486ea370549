package answer

import (
	"cmp"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// compose makes the answer of what the responses to a question say. The time when it was asked is
// that of the access to pages without a date. The error is of call.KindNoText.
func (a *Answerer) compose(
	c *call.Call, r *reading, p Profile, began time.Time,
) (*Answer, error) {
	most := cmp.Or(p.MaxCitations, 3) // spec §5.3
	text, doc := r.document(most)
	if text == "" {
		return nil, call.KindNoText.Errorf("%s", cmp.Or(r.incomplete, "no output"))
	}

	sources := r.sources(text, doc)
	citations := doc.Citations(sources, most, a.date(began))

	if r.incomplete != "" {
		inCode := strings.Count(text, "```")%2 == 1
		if inCode { // what follows is not code
			text += "\n```"
		}
		text += "\n\n[" + r.incomplete + "]"
	}
	if len(citations) > 0 && !doc.Closing {
		text += "\n\nSources:"
		for _, cited := range citations {
			text += "\n- " + cite.EscapeBrackets(cited.URL) + " (" + cited.Date() + ")"
		}
	}

	return &Answer{
		Text:       text,
		UsedSearch: r.searched,
		Citations:  citations,
		Model:      p.Model,
		Sources:    sources,
		Meta: Meta{
			Usage:         c.Usage,
			ResolvedModel: r.last.Model,
			ServiceTier:   r.last.ServiceTier,
			ResponseID:    r.last.ID,
			RequestID:     r.last.RequestID,
			Searches:      c.Searches,
			Queries:       r.queries,
			Opened:        r.opened,
			Cost:          p.Cost(c.Used),
			Retries:       r.retries,
			Elapsed:       time.Since(began),
		},
	}, nil
}
