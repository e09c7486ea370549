package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/cite"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// reading is what the responses of one question say. Each response is read once, by add.
type reading struct {
	last       *llm.Response
	content                    // of the last response that has text
	noText     bool            // the last response has no text
	incomplete string          // why that response is incomplete, or ""
	searched   bool            // spec §3.3: there is a url_citation or a web_search_call
	citedAny   []cite.Citation // the pages that any message cites
	found      []cite.Citation // what the searches list
	meta       Meta
}

// content is what messages of the output say.
type content struct {
	text  string
	cites []cite.Citation
}

// add reads the next response. Its text is in the messages of phase final_answer that have text,
// else in all messages: phases are optional.
func (r *reading) add(resp *llm.Response) {
	var messages, finals []content
	searches := 0
	for _, item := range resp.Output {
		switch item.Type {
		case "message":
			m := readContent(item)
			messages = append(messages, m)
			if item.Phase == "final_answer" && m.text != "" {
				finals = append(finals, m)
			}
			r.citedAny = append(r.citedAny, m.cites...)
		case "web_search_call":
			r.searched = true
			for _, s := range item.Action.Sources {
				c := cite.Citation{URL: cite.PageURL(s.URL), Title: cite.Title(s.Title)}
				if c.URL == "" {
					c = cite.Citation{URL: cite.Title(s.Name), Title: "api"}
				}
				r.found = append(r.found, c)
			}
			if item.Action.Type == "search" || item.Action.Type == "" {
				searches++
			}
		}
	}
	if len(finals) > 0 {
		messages = finals
	}
	var now content
	var texts []string
	for _, m := range messages {
		now.cites = append(now.cites, m.cites...)
		texts = append(texts, m.text)
	}
	now.text = strings.Join(slices.DeleteFunc(texts, func(s string) bool { return s == "" }), "\n\n")
	r.searched = r.searched || len(r.citedAny) > 0
	if billed := resp.ToolUsage.WebSearch.NumRequests; billed != nil {
		searches = int(min(max(*billed, 0), 1<<53))
	}
	r.noText = now.text == ""
	if !r.noText || r.last == nil {
		r.content, r.incomplete = now, ""
		if resp.Status == "incomplete" {
			r.incomplete = "incomplete: " + cmp.Or(text.OneLine(resp.IncompleteDetails.Reason), "unknown reason")
		}
	}
	r.last = resp
	r.meta.ResolvedModel, r.meta.ResponseID, r.meta.RequestID = resp.Model, resp.ID, resp.RequestID
	r.meta.Usage.Add(resp.Tokens)
	r.meta.Retries += resp.Retries
	r.meta.Searches += searches
}

// readContent reads a message. Parts of output text continue each other, as in OpenAI's SDKs; a
// refusal is a paragraph.
func readContent(item llm.Item) (m content) {
	var b strings.Builder
	for _, part := range item.Content {
		switch {
		case part.IsText():
			b.WriteString(part.Text)
		case part.Type == "refusal":
			b.WriteString("\n\n" + part.Refusal + "\n\n")
		}
		for _, a := range part.Annotations {
			if a.Type == "url_citation" {
				m.cites = append(m.cites, cite.Citation{URL: cite.PageURL(a.URL), Title: cite.Title(a.Title)})
			}
		}
	}
	m.text = strings.TrimSpace(cite.Clean(b.String()))
	return m
}

// sources returns what the answer can cite, each source once: the pages that its text cites, in
// order of appearance; if there are none, those that any message cites (a commentary may cite what
// the answer rests on); if there are none either, the pages that the searches found. Sources
// without a URL are always among them. Blocked pages are not.
func (r *reading) sources(blocked cite.Hosts) (list []cite.Citation) {
	seen := map[string]bool{"": true}
	add := func(c cite.Citation) {
		key := cite.PageKey(c.URL)
		if !seen[key] && !blocked.Has(c.URL) {
			list = append(list, c)
		}
		seen[key] = true
	}
	for _, candidates := range [][]cite.Citation{r.cites, r.citedAny, r.found} {
		if len(list) > 0 {
			break
		}
		for _, c := range candidates {
			add(c)
		}
	}
	for _, c := range r.found {
		if !c.IsPage() {
			add(c)
		}
	}
	return list
}
