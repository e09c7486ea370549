package answer

import (
	"cmp"
	"slices"

	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// compose makes the answer of the responses of one conversation. The text is
// that of the last response with text. Model, Retries and Elapsed are left to
// the caller.
func (a *Answerer) compose(rounds []*llm.Response) (*Answer, error) {
	r := rounds[len(rounds)-1]
	for _, round := range slices.Backward(rounds) {
		if textOf(finalMessages(round.Output)) != "" {
			r = round
			break
		}
	}
	spoken, all := finalMessages(r.Output), allItems(rounds)
	body := textOf(spoken)
	if body == "" {
		return nil, &NoTextError{Reason: whyNoText(r)}
	}
	ans := &Answer{Text: body, UsedSearch: usedSearch(all), Citations: a.citations(body, spoken, all), Meta: meta(rounds)}
	if reason := incomplete(r); reason != "" {
		ans.Text = below(ans.Text, "[incomplete: "+reason+"]")
	}
	if ans.UsedSearch && len(ans.Citations) > 0 && !endsInSources(body) {
		ans.Text = below(ans.Text, sourcesList(ans.Citations))
	}
	return ans, nil
}

// usedSearch follows spec-v0.9 section 3.3.
func usedSearch(items []responses.ResponseOutputItemUnion) bool {
	return slices.ContainsFunc(items, func(it responses.ResponseOutputItemUnion) bool {
		if it.Type == "web_search_call" {
			return true
		}
		return slices.ContainsFunc(it.Content, func(part responses.ResponseOutputMessageContentUnion) bool {
			return slices.ContainsFunc(part.Annotations, func(an responses.ResponseOutputTextAnnotationUnion) bool {
				return an.Type == "url_citation"
			})
		})
	})
}

// incomplete returns why a response was cut short, or "".
func incomplete(r *llm.Response) string {
	if r.Status != responses.ResponseStatusIncomplete {
		return ""
	}
	return cmp.Or(text.OneLine(r.IncompleteDetails.Reason), "unknown reason")
}

func whyNoText(r *llm.Response) string {
	if reason := incomplete(r); reason != "" {
		return "incomplete: " + reason
	}
	if r.Status != "" && r.Status != responses.ResponseStatusCompleted {
		return "status: " + text.OneLine(string(r.Status))
	}
	return "no output"
}

func meta(rounds []*llm.Response) Meta {
	last := rounds[len(rounds)-1]
	m := Meta{Usage: usage(rounds), ResolvedModel: last.Model, ResponseID: last.ID, RequestID: last.RequestID}
	for _, r := range rounds {
		if n := r.ToolUsage.WebSearch; n.JSON.NumRequests.Valid() {
			m.Searches += int(n.NumRequests)
			continue
		}
		for _, it := range r.Output {
			if it.Type == "web_search_call" && (it.Action.Type == "search" || it.Action.Type == "") {
				m.Searches++
			}
		}
	}
	return m
}

func usage(rounds []*llm.Response) llm.Usage {
	var sum llm.Usage
	for _, r := range rounds {
		sum.Input += r.Tokens.Input
		sum.Cached += r.Tokens.Cached
		sum.Output += r.Tokens.Output
		sum.Reasoning += r.Tokens.Reasoning
		sum.Total += r.Tokens.Total
	}
	return sum
}
