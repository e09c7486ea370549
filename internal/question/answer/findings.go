package answer

import (
	"cmp"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// findings are what the responses to one question contain. addResponse reads each response, once.
// The answer has the content of the last response with text, but an incomplete text does not
// replace a complete one.
type findings struct {
	blockedDomains []string        // domains that are not cited
	lastResponse   *call.Response  // without its output
	content        content         // for the answer; of the first response if none has text
	incompleteNote string          // "incomplete: " and why, or "" if content is complete
	searched       bool            // a search was made, or a message cites a page (spec §3.3)
	allCitations   []cite.Citation // what the messages of all responses cite
	foundSources   []cite.Citation // the pages and names that the searches list
	queries        []string        // queries of the searches, at most maxSteps
	opened         []string        // URLs of pages that the model opened, at most maxSteps
}

// content is what some messages of an output contain: their texts, except empty ones, and the pages
// that they cite.
type content struct {
	texts        []string
	textSet      map[string]bool // the elements of texts
	citations    []cite.Citation
	isIncomplete bool // a message is incomplete
}

// contentOf returns the content of a message. Its parts of output text are joined, as in OpenAI's
// SDKs; a refusal is a paragraph of its own.
func contentOf(message call.Item) (c content) {
	var texts []string
	for _, part := range message.Content {
		switch {
		case part.IsText():
			texts = append(texts, part.Text)
		case part.Type == "refusal":
			texts = append(texts, "\n\n"+part.Refusal+"\n\n")
		}
		for _, annotation := range part.Annotations {
			if annotation.IsCitation() {
				nested := annotation.URLCitation // where some servers have the page; else empty
				c.citations = append(c.citations,
					cite.Page(annotation.URL, annotation.Title).WithDate(annotation.PublishTime),
					cite.Page(nested.URL, nested.Title))
			}
		}
	}

	words := strings.TrimSpace(cite.Clean(strings.Join(texts, ""))) // a single text is not copied
	if words != "" {
		c.texts = []string{words}
	}
	c.isIncomplete = message.Status == "incomplete"
	return c
}

// addMessage adds the content of a message. It adds a text only once, because some servers send a
// message twice (https://github.com/pipecat-ai/pipecat/issues/4852).
func (c *content) addMessage(message content) {
	if c.textSet == nil {
		c.textSet = map[string]bool{}
	}
	for _, words := range message.texts {
		if !c.textSet[words] {
			c.texts = append(c.texts, words)
			c.textSet[words] = true
		}
	}
	c.citations = append(c.citations, message.citations...)
	c.isIncomplete = c.isIncomplete || message.isIncomplete
}

// addResponse reads the next response. Its content is that of the first of these messages that have
// a text, or else of all messages:
//
//   - those of the phase final_answer
//   - those of any phase but commentary, or of none
func (f *findings) addResponse(response *call.Response) {
	var all, withoutCommentary, final content

	for _, item := range response.Items() {
		if item.Type == "message" {
			message := contentOf(item)
			all.addMessage(message)
			if item.Phase != "commentary" {
				withoutCommentary.addMessage(message)
			}
			if item.Phase == "final_answer" {
				final.addMessage(message)
			}
		}

		if item.IsSearch() {
			f.addSearch(item)
		}
	}

	f.allCitations = append(f.allCitations, all.citations...)
	if len(f.allCitations) > 0 {
		f.searched = true
	}

	chosen := all
	switch {
	case len(final.texts) > 0:
		chosen = final
	case len(withoutCommentary.texts) > 0:
		chosen = withoutCommentary
	}

	isIncomplete := response.Status == "incomplete" || chosen.isIncomplete
	hasComplete := len(f.content.texts) > 0 && f.incompleteNote == ""
	isBetter := len(chosen.texts) > 0 && !(isIncomplete && hasComplete)
	if isBetter || f.lastResponse == nil {
		f.content = chosen
		f.incompleteNote = ""
		if isIncomplete {
			reason := text.OneLine(response.IncompleteDetails.Reason)
			f.incompleteNote = "incomplete: " + cmp.Or(reason, "unknown reason")
		}
	}
	last := *response
	last.Output = nil // its items are read, and may be large
	f.lastResponse = &last
}

// addSearch adds what a search did, and the sources that it lists. A search without sources does
// not count if it failed, or if the end of the response has cut it off.
func (f *findings) addSearch(search call.Item) {
	hasEnded := search.Status != "failed" && search.Status != "incomplete"
	if hasEnded || len(search.Action.Sources) > 0 {
		f.searched = true
		f.addSteps(search)
	}
	for _, source := range search.Action.Sources {
		c := cite.Page(source.URL, source.Title).WithDate(cmp.Or(source.Date, source.PageAge))
		c.Number = int(source.Number)
		if c.URL == "" {
			c = cite.NamedSource(source.Name)
		}
		f.foundSources = append(f.foundSources, c)
	}
}

// maxSteps bounds the lists of the queries and of the pages that were opened.
const maxSteps = 10

// addSteps adds the queries of a search, or the pages that it opened.
func (f *findings) addSteps(search call.Item) {
	add := func(list *[]string, step string) {
		if step != "" && len(*list) < maxSteps && !slices.Contains(*list, step) {
			*list = append(*list, step)
		}
	}

	// vLLM writes cursor: before the query and the URL of the browser of gpt-oss
	// (https://github.com/vllm-project/vllm/issues/23220).
	withoutCursor := func(s string) string { return strings.TrimPrefix(s, "cursor:") }
	action := search.Action
	for _, query := range append([]string{action.Query}, action.Queries...) {
		add(&f.queries, text.OneLine(withoutCursor(query)))
	}
	add(&f.opened, cite.PageURL(withoutCursor(action.URL)))
	if action.Type == "open_page" {
		for _, source := range action.Sources {
			add(&f.opened, cite.PageURL(source.URL))
		}
	}
}

// document returns the text of the answer, whole and as a document. A source without a page has a
// name as its URL. In the document, the names of at most maxNames such sources count as links: more
// could not be cited. A text that was cut short does not end with a list.
func (f *findings) document(maxNames int) (whole string, doc *cite.Document) {
	var names []string
	for _, c := range f.foundSources {
		isNew := c.URL != "" && !c.IsPage() && !slices.Contains(names, c.URL)
		if isNew && len(names) < maxNames {
			names = append(names, c.URL)
		}
	}
	whole = strings.Join(f.content.texts, "\n\n")
	doc = cite.NewDocument(whole, names...)
	doc.EndsWithDatedList = doc.EndsWithDatedList && f.incompleteNote == ""
	return whole, doc
}

// hasSources reports whether the answer can cite a source.
func (f *findings) hasSources() bool {
	const noNames = 0 // names in the text only decide where a source is listed, not whether
	return len(f.sources(f.document(noNames))) > 0
}

// sources returns the sources that the answer can cite, each of them once, in this order:
//
//  1. after a search, the public pages in the dated list that ends a complete text
//  2. the pages that the messages of the answer cite
//  3. without any of 2, those that any message cites: a commentary may cite the base of the answer
//  4. without any of 2 and 3, after a search, the public pages that the text links to
//  5. without any of 1 to 4, the pages that the searches found: those that the text cites by their
//     number, or else all
//  6. the sources without a URL that the searches found
//
// Pages of blocked domains are left out.
func (f *findings) sources(whole string, doc *cite.Document) []cite.Citation {
	blockedSet := cite.NewDomainSet(f.blockedDomains)
	var list []cite.Citation
	index := map[string]int{} // in list, by PageKey
	// add adds the candidates that the list lacks, unless they are blocked. It reports whether any
	// candidate is in the list afterwards.
	add := func(candidates []cite.Citation) (listed bool) {
		for _, c := range candidates {
			key := cite.PageKey(c.URL)
			_, known := index[key]
			if key == "" || !known && blockedSet.HasPage(c.URL) { // "": neither URL nor name
				continue
			}
			if !known {
				index[key] = len(list)
				list = append(list, c)
			}
			listed = true
		}
		return listed
	}

	if f.searched && doc.EndsWithDatedList {
		add(doc.ListPages()) // 1
	}
	cited := add(f.content.citations) || add(f.allCitations) // 2, 3
	if f.searched && !cited {
		add(cite.LinkedPages(whole, f.incompleteNote != "")) // 4
	}
	if len(list) == 0 && !add(cite.NumberedSources(whole, f.foundSources)) { // 5
		add(f.foundSources)
	}
	// 6
	add(slices.DeleteFunc(slices.Clone(f.foundSources), cite.Citation.IsPage))

	// A page may have its title or its date only where it is mentioned again. Mentions that add
	// nothing are skipped, because a key of each takes time: most servers report no dates.
	untitled := func(c cite.Citation) bool { return c.Title == "" }
	lacksTitle := slices.ContainsFunc(list, untitled)
	for _, c := range slices.Concat(f.content.citations, f.allCitations, f.foundSources) {
		mayComplete := c.PublishedAt != "" || lacksTitle && c.Title != ""
		if !mayComplete {
			continue
		}
		i, known := index[cite.PageKey(c.URL)]
		if known {
			list[i].Title = cmp.Or(list[i].Title, c.Title)
			list[i].PublishedAt = cmp.Or(list[i].PublishedAt, c.PublishedAt)
		}
	}
	return list
}
