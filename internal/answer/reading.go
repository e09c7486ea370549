package answer

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// reading is what the responses of one question say. Each response is read once,
// by add.
type reading struct {
	last       *llm.Response
	text       string     // of the last response that has text
	noText     bool       // the last response has no text
	incomplete string     // why that response is incomplete, or ""
	searched   bool       // spec §3.3: there is a url_citation or a web_search_call
	cited      []Citation // the pages that the text cites
	citedAny   []Citation // those that any message cites
	found      []Citation // what the searches list
	meta       Meta
}

// messageRead is a message of the output that is being read.
type messageRead struct {
	text  string
	final bool // of phase final_answer, with text
	cites []Citation
}

// add reads the next response.
func (r *reading) add(resp *llm.Response) {
	var messages []messageRead
	searches := 0
	for _, item := range resp.Output {
		switch item.Type {
		case "message":
			m := messageRead{text: messageText(item), cites: citedBy(item)}
			m.final = item.Phase == "final_answer" && m.text != ""
			messages = append(messages, m)
			r.citedAny = append(r.citedAny, m.cites...)
		case "web_search_call":
			r.searched = true
			for _, s := range item.Action.Sources {
				r.found = append(r.found, source(s))
			}
			if item.Action.Type == "search" || item.Action.Type == "" {
				searches++
			}
		}
	}
	r.searched = r.searched || len(r.citedAny) > 0
	if billed := resp.ToolUsage.WebSearch.NumRequests; billed != nil {
		searches = int(*billed)
	}
	text, cites := finalText(messages)
	r.noText = text == ""
	if !r.noText || r.last == nil {
		r.text, r.cited = text, cites
		r.incomplete = incomplete(resp)
	}
	r.last = resp
	r.meta.ResolvedModel, r.meta.ResponseID, r.meta.RequestID = resp.Model, resp.ID, resp.RequestID
	r.meta.Usage.Add(resp.Tokens)
	r.meta.Retries += resp.Retries
	r.meta.Searches += searches
}

// incomplete says why a response was cut short, or "".
func incomplete(resp *llm.Response) string {
	if resp.Status != "incomplete" {
		return ""
	}
	return "incomplete: " + cmp.Or(text.OneLine(resp.IncompleteDetails.Reason), "unknown reason")
}

// finalText returns the text of an answer and what it cites: the messages of
// phase final_answer that have text, else all messages, joined by a blank line.
// Phases are optional.
func finalText(messages []messageRead) (text string, cites []Citation) {
	final := slices.ContainsFunc(messages, func(m messageRead) bool { return m.final })
	var texts []string
	for _, m := range messages {
		if m.final != final {
			continue
		}
		cites = append(cites, m.cites...)
		if m.text != "" {
			texts = append(texts, m.text)
		}
	}
	return strings.Join(texts, "\n\n"), cites
}

// messageText joins the parts of a message. Parts of output text continue each
// other, as in OpenAI's SDKs; a refusal is a paragraph.
func messageText(m llm.Item) string {
	var b strings.Builder
	for _, part := range m.Content {
		switch {
		case part.IsText():
			b.WriteString(part.Text)
		case part.Type == "refusal":
			b.WriteString("\n\n" + part.Refusal + "\n\n")
		}
	}
	return strings.TrimSpace(Clean(b.String()))
}

// citedBy returns what a message cites.
func citedBy(m llm.Item) (list []Citation) {
	for _, part := range m.Content {
		for _, a := range part.Annotations {
			if a.Type == "url_citation" {
				list = append(list, Citation{URL: PageURL(a.URL), Title: title(a.Title)})
			}
		}
	}
	return list
}

// source returns what a search lists: a page, or the name of a source without a
// URL.
func source(s llm.Source) Citation {
	u := PageURL(s.URL)
	if u == "" {
		return Citation{URL: title(s.Name), Title: "api"}
	}
	return Citation{URL: u, Title: title(s.Title)}
}

// tracker matches the query parameter that the API adds to links. The submatches
// stay.
var tracker = regexp.MustCompile(`([?&])utm_source=openai&|[?&]utm_source=openai($|[^\w.&-]|\.(?:\s|$))`)

// Clean removes what the API adds to the text of the model: citation markers, and
// utm_source=openai in links.
func Clean(s string) string { return untracked(unmarked(s)) }

func untracked(s string) string {
	if !strings.Contains(s, "utm_source=openai") {
		return s
	}
	return tracker.ReplaceAllString(s, "$1$2")
}

// The API writes citation markers with private-use characters: openMarker, fields
// with others between them, closeMarker, which is missing if the text was cut
// short.
const (
	openMarker  = '\ue200'
	closeMarker = '\ue201'
)

// unmarked removes citation markers and the space before each.
func unmarked(s string) string {
	var b strings.Builder
	for {
		i := strings.IndexFunc(s, func(r rune) bool { return r >= openMarker && r <= '\ue2ff' })
		if i < 0 {
			b.WriteString(s)
			return b.String()
		}
		text := s[:i]
		r, size := utf8.DecodeRuneInString(s[i:])
		s = s[i+size:]
		if r == openMarker {
			end := strings.IndexFunc(s, func(r rune) bool { return r == openMarker || r == closeMarker || r == '\n' })
			if end < 0 {
				text, s = strings.TrimSuffix(text, " "), ""
			} else if strings.HasPrefix(s[end:], string(closeMarker)) {
				text, s = strings.TrimSuffix(text, " "), s[end+size:]
			}
		}
		b.WriteString(text)
	}
}

// sources returns what the answer can cite, each source once: the pages that its
// text cites, in order of appearance; if there are none, those that any message
// cites (a commentary may cite what the answer rests on); if there are none
// either, the pages that the searches found. Sources without a URL are always
// among them. Blocked pages are not.
func (r *reading) sources(blocked hosts) []Citation {
	var list []Citation
	for _, candidates := range [][]Citation{r.cited, r.citedAny, r.found} {
		list = usable(candidates, blocked)
		if len(list) > 0 {
			break
		}
	}
	names := slices.DeleteFunc(slices.Clone(r.found), Citation.isPage)
	return usable(append(list, names...), blocked)
}

// usable returns each source once. Those without a URL or name and blocked
// pages are left out.
func usable(sources []Citation, blocked hosts) []Citation {
	var list []Citation
	seen := map[string]bool{}
	for _, c := range sources {
		key := PageKey(c.URL)
		if c.URL != "" && !seen[key] && !blocked.has(c.URL) {
			list = append(list, c)
		}
		seen[key] = true
	}
	return list
}
