package answer

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// reading is what the responses of one question say. Each response is read once, by add.
type reading struct {
	last       *llm.Response
	content               // of the last response that has text
	noText     bool       // the last response has no text
	incomplete string     // why that response is incomplete, or ""
	searched   bool       // spec §3.3: there is a url_citation or a web_search_call
	citedAny   []Citation // the pages that any message cites
	found      []Citation // what the searches list
	meta       Meta
}

// content is what messages of the output say.
type content struct {
	text  string
	cites []Citation
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
				c := Citation{URL: PageURL(s.URL), Title: title(s.Title)}
				if c.URL == "" {
					c = Citation{URL: title(s.Name), Title: "api"}
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
				m.cites = append(m.cites, Citation{URL: PageURL(a.URL), Title: title(a.Title)})
			}
		}
	}
	m.text = strings.TrimSpace(Clean(b.String()))
	return m
}

// tracker matches the query parameter that the API adds to links. The submatches stay.
var tracker = regexp.MustCompile(`([?&])utm_source=openai&|[?&]utm_source=openai($|[^\w.&-]|\.(?:\s|$))`)

func untracked(s string) string {
	if !strings.Contains(s, "utm_source=openai") {
		return s
	}
	return tracker.ReplaceAllString(s, "$1$2")
}

// citationMarker matches a citation marker and the space before it. The API writes it with
// private-use characters: U+E200, fields with others between them, and U+E201, which is missing if
// the text was cut short.
var citationMarker = regexp.MustCompile(` ?\x{E200}[^\x{E200}\x{E201}\n]*(?:\x{E201}|$)|[\x{E200}-\x{E2FF}]`)

// Clean removes what the API adds to the text of the model: citation markers, and
// utm_source=openai in links.
func Clean(s string) string {
	if strings.Contains(s, "\xee") { // of U+E200 to U+E2FF
		s = citationMarker.ReplaceAllString(s, "")
	}
	return untracked(s)
}

// sources returns what the answer can cite, each source once: the pages that its text cites, in
// order of appearance; if there are none, those that any message cites (a commentary may cite what
// the answer rests on); if there are none either, the pages that the searches found. Sources
// without a URL are always among them. Blocked pages are not.
func (r *reading) sources(blocked hosts) (list []Citation) {
	seen := map[string]bool{"": true}
	add := func(c Citation) {
		key := PageKey(c.URL)
		if !seen[key] && !blocked.has(c.URL) {
			list = append(list, c)
		}
		seen[key] = true
	}
	for _, candidates := range [][]Citation{r.cites, r.citedAny, r.found} {
		if len(list) > 0 {
			break
		}
		for _, c := range candidates {
			add(c)
		}
	}
	for _, c := range r.found {
		if !c.isPage() {
			add(c)
		}
	}
	return list
}
