package llm

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// backgroundStates are the states of a response in the background.
var backgroundStates = []string{
	"queued", "in_progress", "completed", "incomplete", "failed", "cancelled",
}

// thoughts is the summary of reasoning and its text.
func thoughts(i call.Item) string {
	var b strings.Builder
	for _, part := range slices.Concat(i.Summary, i.Content) {
		b.WriteString(part.Text)
	}
	return b.String()
}

// textOf is the text of the messages among items.
func textOf(items ...call.Item) string {
	var texts []string
	for _, item := range items {
		for _, said := range blocksOf(item, 0) {
			if said.Kind == call.BlockText {
				texts = append(texts, said.text)
			}
		}
	}
	return strings.Join(texts, "") // a single text is not copied
}

// isAnswer reports whether the item is a message with text and no commentary.
func isAnswer(i call.Item) bool {
	return i.Phase != "commentary" && textOf(i) != ""
}

// maxSearches bounds the searches of a response that a faulty server reports.
const maxSearches = 1e6

// searches returns how many searches the API bills: the number that it reports, or else that of the
// searches in the output.
func searches(r *call.Response) int {
	billed := r.ToolUsage.WebSearch.NumRequests
	if billed != nil {
		return int(max(0, min(*billed, maxSearches)))
	}
	n := int(min(r.Tokens.Searches, maxSearches))
	if n > 0 {
		return n
	}
	for _, item := range r.Output {
		searched := item.Action.Type == "search" || item.Action.Type == ""
		if item.IsSearch() && searched {
			n++
		}
	}
	return n
}

// rawJSON is a request, or what a response was read from: its JSON, or an event that has it.
type rawJSON struct {
	data  []byte
	event bool
}

// json returns the JSON of the response. Only errors and the debug log need it: json copies a
// response in an event, of up to 8 MiB.
func (s rawJSON) json() []byte {
	if s.event {
		return []byte(gjson.GetBytes(s.data, "response").Raw)
	}
	return s.data
}

// check returns why a response is not an answer. A status that the server has left out is set.
func check(r *call.Response, from rawJSON, c *call.Call) error {
	if elementsOf(r.Output...) > maxElements {
		return call.TooLarge(tooMany)
	}

	r.Status = cmp.Or(r.Status, "completed")
	switch r.Status {
	case "cancelled":
		return &call.Error{Kind: call.KindCanceled, Message: "the response was cancelled"}
	case "failed":
		return responseError(from.json(), responseFailed, c)
	case "queued", "in_progress":
		return &call.Error{Kind: call.KindBadResponse, Message: "the response is still " + r.Status}
	case "incomplete": // maybe before its first item
		return nil
	}
	if r.Output != nil {
		return nil
	}

	data := from.json()
	e := responseError(data, "the response has no output", c)
	hasError := gjson.GetBytes(data, "error").String() != "" || gjson.GetBytes(data, "errors.0").Exists()
	if !hasError { // with an error it is the 200 of a gateway
		e.Kind = call.KindBadResponse
	}
	return e
}

// maxElements bounds the items, parts, annotations, queries and sources of a response, all
// together. The longest responses have a few hundred.
const maxElements = 10_000

// Messages about responses that are too large.
const (
	tooMany = "the answer has more than 10,000 items, parts, annotations, queries and sources"
	tooLong = "the answer is larger than 16 MiB"
)

// elementsOf is the number of items and of the elements of their lists.
func elementsOf(items ...call.Item) int {
	n := len(items)
	for _, item := range items {
		n += len(item.Action.Queries) + len(item.Action.Sources)
		for _, part := range slices.Concat(item.Content, item.Summary) {
			n += 1 + len(part.Annotations)
		}
	}
	return n
}

func isObject(data []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{"))
}

// notResponse describes a body that should have been a response.
func notResponse(data []byte) *call.Error {
	e := &call.Error{
		Kind:    call.KindBadResponse,
		Message: "the answer is empty",
		Body:    string(data),
	}

	start := strings.TrimSpace(e.Body)
	if start != "" {
		e.Message = "the answer is not a response object: " + start
	}
	if strings.HasPrefix(start, "<") {
		e.Err = call.ErrWebPage
	}
	return e
}
