package answer

import (
	"cmp"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// reading is what the responses of one question say. Each response is read once, by add.
type reading struct {
	blocked    []string // domains that are not cited
	last       *call.Response
	content    content         // of the last response that has text, else of the first
	incomplete string          // why the response of content is incomplete, or ""
	searched   bool            // spec §3.3
	citedAny   []cite.Citation // the pages that any message cites
	found      []cite.Citation // what the searches list
	retries    int
}

// content is what messages of the output say: their texts that are not empty, and the pages that
// they cite.
type content struct {
	texts []string
	cites []cite.Citation
}

// add reads a message. Parts of output text continue each other, as in OpenAI's SDKs; a refusal is a
// paragraph.
func (c *content) add(message call.Item) {
	var b strings.Builder
	for _, part := range message.Content {
		switch {
		case part.IsText():
			b.WriteString(part.Text)
		case part.Type == "refusal":
			b.WriteString("\n\n" + part.Refusal + "\n\n")
		}
		for _, annotation := range part.Annotations {
			if annotation.Type == "url_citation" {
				nested := annotation.URLCitation // empty, or has the page
				c.cites = append(c.cites,
					cite.Page(annotation.URL, annotation.Title),
					cite.Page(nested.URL, nested.Title))
			}
		}
	}

	words := strings.TrimSpace(cite.Clean(b.String()))
	if words != "" {
		c.texts = append(c.texts, words)
	}
}

// add reads the next response. Its text is in the messages of phase final_answer that have text,
// else in all messages: phases are optional.
func (r *reading) add(resp *call.Response) {
	var said, final content // by all messages, by those of phase final_answer

	for _, item := range resp.Output {
		switch item.Type {
		case "message":
			said.add(item)
			if item.Phase == "final_answer" {
				final.add(item)
			}

		case "web_search_call":
			if item.Status != "failed" || len(item.Action.Sources) > 0 {
				r.searched = true
			}
			for _, source := range item.Action.Sources {
				c := cite.Page(source.URL, source.Title)
				if c.URL == "" {
					c = cite.Named(source.Name)
				}
				r.found = append(r.found, c)
			}
		}
	}
	r.citedAny = append(r.citedAny, said.cites...)
	if len(r.citedAny) > 0 {
		r.searched = true
	}
	if len(final.texts) > 0 {
		said = final
	}

	if len(said.texts) > 0 || r.last == nil {
		r.content = said
		r.incomplete = ""
		if resp.Status == "incomplete" {
			reason := text.OneLine(resp.IncompleteDetails.Reason)
			r.incomplete = "incomplete: " + cmp.Or(reason, "unknown reason")
		}
	}
	r.last = resp
	r.retries += resp.Retries
}

// sources returns what the answer can cite, each source once: the pages that its text cites, in
// order of appearance; if there are none, those that any message cites (a commentary may cite what
// the answer rests on); if there are none either, the pages that the searches found; and if the API
// names nothing, the pages that the text links to after a search. Sources without a URL are always
// among them. Pages of blocked domains are not.
func (r *reading) sources() []cite.Citation {
	hidden := cite.NewHosts(r.blocked)
	var list []cite.Citation
	seen := map[string]bool{"": true} // by PageKey; a source without URL and name does not count
	add := func(c cite.Citation) {
		key := cite.PageKey(c.URL)
		if !seen[key] && !hidden.Has(c.URL) {
			list = append(list, c)
		}
		seen[key] = true
	}

	for _, candidates := range [][]cite.Citation{r.content.cites, r.citedAny, r.found} {
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
	if r.searched && len(list) == 0 {
		body := strings.Join(r.content.texts, "\n\n")
		for _, c := range cite.Linked(body, r.incomplete != "") {
			add(c)
		}
	}
	return list
}
