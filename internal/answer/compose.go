package answer

import (
	"cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// A NoTextError says that the model finished without an answer, and why.
type NoTextError struct {
	Reason string // "incomplete: max_output_tokens", "status: queued", "no output"
}

func (e *NoTextError) Error() string { return e.Reason }

// compose makes the answer of the responses of one conversation: the text is
// that of the last one with text, the searches are those of all. A page that
// only a commentary cites was searched for all the same, and is a source when
// the answer itself cites none. Of Meta it leaves Elapsed open, and Model to
// the caller.
func compose(rounds []*llm.Response, maxCitations int, now string) (*Answer, error) {
	r := latest(rounds)
	messages := spoken(r.Output)
	text := textOf(messages)
	if text == "" {
		return nil, &NoTextError{Reason: whyNoText(r)}
	}
	searches, all := allSearches(rounds), allMessages(rounds)
	ans := &Answer{
		Text:       text,
		UsedSearch: len(searches) > 0 || citesURL(all),
		Citations:  citations(citing(messages, all), searches, maxCitations, now),
		Meta:       meta(rounds, searches),
	}
	if ans.UsedSearch {
		ans.Text = withSources(ans.Text, ans.Citations)
	}
	if reason := incomplete(r); reason != "" {
		ans.Text = below(ans.Text, "[incomplete: "+reason+"]")
	}
	return ans, nil
}

// incomplete returns why a response was cut short, or "" for a whole one.
func incomplete(r *llm.Response) string {
	if r.Incomplete == "" && r.Status != "incomplete" {
		return ""
	}
	return cmp.Or(OneLine(r.Incomplete), "unknown reason")
}

// whyNoText words the reason of an empty answer.
func whyNoText(r *llm.Response) string {
	if reason := incomplete(r); reason != "" {
		return "incomplete: " + reason
	}
	if r.Status != "" && r.Status != "completed" {
		return "status: " + OneLine(r.Status)
	}
	return "no output"
}

func meta(rounds []*llm.Response, searches []*llm.Search) Meta {
	last := rounds[len(rounds)-1]
	m := Meta{Usage: usage(rounds), ResolvedModel: last.Model, ResponseID: last.ID, RequestID: last.RequestID}
	for _, s := range searches {
		if s.Action == "search" || s.Action == "" {
			m.Searches++
		}
	}
	return m
}

// usage is what all responses took together.
func usage(rounds []*llm.Response) llm.Usage {
	var sum llm.Usage
	for _, r := range rounds {
		sum = sum.Plus(r.Usage)
	}
	return sum
}
