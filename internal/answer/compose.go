package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// compose makes the answer of the responses of one conversation. The text is
// that of the last response with text. Model and Meta.Elapsed are left to the
// caller.
func (a *Answerer) compose(rounds []*llm.Response) (*Answer, error) {
	var r *llm.Response
	var spoken []responses.ResponseOutputItemUnion
	for _, r = range slices.Backward(rounds) {
		if spoken = finalMessages(r.Output); textOf(spoken) != "" {
			break
		}
	}
	reason := ""
	if r.Status == responses.ResponseStatusIncomplete {
		reason = "incomplete: " + cmp.Or(text.OneLine(r.IncompleteDetails.Reason), "unknown reason")
	}
	body, all := textOf(spoken), allItems(rounds)
	if body == "" {
		return nil, &NoTextError{Reason: cmp.Or(reason, "no output")}
	}
	ans := &Answer{Text: body, UsedSearch: usedSearch(all), Citations: a.citations(body, spoken, all), Meta: meta(rounds)}
	if reason != "" {
		if strings.Count(body, "```")%2 == 1 { // cut short in a code block
			ans.Text += "\n```"
		}
		ans.Text += "\n\n[" + reason + "]"
	}
	if ans.UsedSearch && len(ans.Citations) > 0 && !endsInSources(body) {
		ans.Text += "\n\nSources:"
		for _, c := range ans.Citations {
			ans.Text += "\n- " + c.URL + " (" + c.PublishedAt + ")"
		}
	}
	return ans, nil
}

// usedSearch follows spec §3.3.
func usedSearch(items []responses.ResponseOutputItemUnion) bool {
	return len(annotations(items)) > 0 || slices.ContainsFunc(items, func(it responses.ResponseOutputItemUnion) bool {
		return it.Type == "web_search_call"
	})
}

// allItems returns the output of all rounds: an answer to a second request
// rests on what the first one found.
func allItems(rounds []*llm.Response) []responses.ResponseOutputItemUnion {
	var items []responses.ResponseOutputItemUnion
	for _, r := range rounds {
		items = append(items, r.Output...)
	}
	return items
}

func meta(rounds []*llm.Response) Meta {
	last := rounds[len(rounds)-1]
	m := Meta{ResolvedModel: last.Model, ResponseID: last.ID, RequestID: last.RequestID}
	for _, r := range rounds {
		m.Usage.Add(r.Tokens)
		m.Retries += r.Retries
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
