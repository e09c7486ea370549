package answer

import (
	"cmp"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// defaultMaxCitations is the default of policy.max_citations (spec §5.3).
const defaultMaxCitations = 3

// firstZone is the time zone in which a day begins first, that of Kiritimati.
var firstZone = time.FixedZone("", 14*60*60)

// compose makes the answer from what the responses to a question contain, except for Meta.Elapsed.
// The date of asked, when the question was asked, is the date of access to pages without a date.
// The error is of call.KindNoText.
func (a *Answerer) compose(
	c *call.Call, f *findings, p Profile, asked time.Time,
) (*Answer, error) {
	maxCitations := cmp.Or(p.MaxCitations, defaultMaxCitations)
	text, doc := f.document(maxCitations) // no more names than the answer can cite
	if text == "" {
		return nil, call.KindNoText.Errorf("%s", cmp.Or(f.incompleteNote, "no output"))
	}

	sources := f.sources(text, doc)
	lastDay := asked.In(firstZone).Format(time.DateOnly)
	citations := doc.Citations(sources, maxCitations, a.date(asked), lastDay)

	end := "" // the text may be large: it is copied once
	if f.incompleteNote != "" {
		end = "\n\n[" + f.incompleteNote + "]"
	}
	if len(citations) > 0 && !doc.EndsWithDatedList {
		end += "\n\nSources:"
		for _, cited := range citations {
			end += "\n- " + cite.EscapeBrackets(cited.URL) + " (" + cited.Date() + ")"
		}
	}
	if end != "" {
		end = cite.FenceEnd(text) + end
	}

	return &Answer{
		Text:       text + end,
		UsedSearch: f.searched,
		Citations:  citations,
		Model:      p.Model,
		Sources:    sources,
		Meta: Meta{
			Reported:      c.Reported,
			ResolvedModel: f.lastResponse.Model,
			ServiceTier:   f.lastResponse.ServiceTier,
			ResponseID:    f.lastResponse.ID,
			RequestID:     f.lastResponse.RequestID,
			Queries:       f.queries,
			Opened:        f.opened,
			Cost:          p.Cost(c.Used),
		},
	}, nil
}
