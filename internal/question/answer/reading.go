package answer

import (
	"cmp"
	"slices"
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
	queries    []string        // of the searches, at most maxSteps
	opened     []string        // URLs of pages that the model opened, at most maxSteps
	retries    int
}

// content is what messages of the output say: their texts that are not empty, and the pages that
// they cite.
type content struct {
	texts []string
	seen  map[string]bool // the texts
	cites []cite.Citation
	cut   bool // a message is incomplete
}

// contentOf reads a message. Parts of output text continue each other, as in OpenAI's SDKs; a
// refusal is a paragraph.
func contentOf(message call.Item) (c content) {
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
		c.texts = []string{words}
	}
	c.cut = message.Status == "incomplete"
	return c
}

// add adds what a message says. A text that another message has, too, is said once: some servers
// send a message twice (https://github.com/pipecat-ai/pipecat/issues/4852).
func (c *content) add(message content) {
	if c.seen == nil {
		c.seen = map[string]bool{}
	}
	for _, words := range message.texts {
		if !c.seen[words] {
			c.texts = append(c.texts, words)
			c.seen[words] = true
		}
	}
	c.cites = append(c.cites, message.cites...)
	c.cut = c.cut || message.cut
}

// add reads the next response. Its text is in the messages of phase final_answer that have text,
// else in those that are no commentary, else in all messages: phases are optional.
func (r *reading) add(resp *call.Response) {
	var said, own, final content // by all messages, by those without commentaries, of final_answer

	for _, item := range resp.Output {
		if item.Type == "message" {
			message := contentOf(item)
			said.add(message)
			if item.Phase != "commentary" {
				own.add(message)
			}
			if item.Phase == "final_answer" {
				final.add(message)
			}
		}

		if item.IsSearch() {
			if item.Status != "failed" || len(item.Action.Sources) > 0 {
				r.searched = true
				r.addSteps(item)
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

	switch {
	case len(final.texts) > 0:
		said = final
	case len(own.texts) > 0:
		said = own
	}

	if len(said.texts) > 0 || r.last == nil {
		r.content = said
		r.incomplete = ""
		if resp.Status == "incomplete" || said.cut {
			reason := text.OneLine(resp.IncompleteDetails.Reason)
			r.incomplete = "incomplete: " + cmp.Or(reason, "unknown reason")
		}
	}
	r.last = resp
	r.retries += resp.Retries
}

// maxSteps bounds each of the lists of what the searches did.
const maxSteps = 10

// addSteps adds what a search did: its queries, or the pages that it opened.
func (r *reading) addSteps(search call.Item) {
	add := func(list *[]string, step string) {
		if step != "" && len(*list) < maxSteps && !slices.Contains(*list, step) {
			*list = append(*list, step)
		}
	}

	action := search.Action
	for _, query := range append([]string{action.Query}, action.Queries...) {
		add(&r.queries, text.OneLine(query))
	}
	add(&r.opened, cite.PageURL(action.URL))
	if action.Type == "open_page" {
		for _, source := range action.Sources {
			add(&r.opened, cite.PageURL(source.URL))
		}
	}
}

// document is the text of the answer. The names of at most limit sources without a URL count as
// links.
func (r *reading) document(limit int) (whole string, doc *cite.Document) {
	var names []string
	for _, c := range r.found {
		if c.URL != "" && !c.IsPage() && len(names) < limit {
			names = append(names, c.URL)
		}
	}
	whole = strings.Join(r.content.texts, "\n\n")
	return whole, cite.NewDocument(whole, names...)
}

// sources returns what the answer can cite, each source once: first the pages of the list that ends
// its text, then the pages that the text cites, in order of appearance. If it cites none, those
// that any message cites count (a commentary may cite what the answer rests on), or else, after a
// search, those that the text links to. The pages that the searches found count if there are no
// others. Sources without a URL are always among them. Pages of blocked domains are not.
func (r *reading) sources(whole string, doc *cite.Document) []cite.Citation {
	hidden := cite.NewHosts(r.blocked)
	var list []cite.Citation
	// The index in list by PageKey. A source without URL and name has none.
	seen := map[string]int{"": -1}
	add := func(candidates []cite.Citation) (listed bool) { // whether one is in list now
		for _, c := range candidates {
			key := cite.PageKey(c.URL)
			i, known := seen[key]
			if !known && !hidden.Has(c.URL) {
				i = len(list)
				seen[key] = i
				list = append(list, c)
				known = true
			}
			listed = listed || known && i >= 0
		}
		return listed
	}

	cut := r.incomplete != ""
	if r.searched && doc.Closing && !cut {
		add(cite.Public(doc.Pages()))
	}
	cited := add(r.content.cites) || add(r.citedAny)
	if r.searched && !cited {
		add(cite.Linked(whole, cut))
	}
	if len(list) == 0 {
		add(r.found)
	}
	add(slices.DeleteFunc(slices.Clone(r.found), cite.Citation.IsPage))

	// A later mention of a page may be the one that names its title.
	untitled := func(c cite.Citation) bool { return c.Title == "" }
	if !slices.ContainsFunc(list, untitled) {
		return list
	}
	for _, c := range slices.Concat(r.content.cites, r.citedAny, r.found) {
		i, known := seen[cite.PageKey(c.URL)]
		if known && i >= 0 && list[i].Title == "" {
			list[i].Title = c.Title
		}
	}
	return list
}
