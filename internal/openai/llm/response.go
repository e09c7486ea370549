package llm

import (
	"bytes"
	"cmp"
	"slices"
	"strings"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/apierror"
)

// backgroundStates are the states of a response in the background.
var backgroundStates = []string{
	"queued", "in_progress", "completed", "incomplete", "failed", "cancelled",
}

// reasoningText returns the summary of an item of reasoning, followed by its text.
func reasoningText(i call.Item) string {
	var b strings.Builder
	for _, part := range slices.Concat(i.Summary, i.Content) {
		b.WriteString(part.Text)
	}
	return b.String()
}

// textOf returns the text of the messages among items.
func textOf(items ...call.Item) string {
	var texts []string
	for _, item := range items {
		for _, b := range blockUpdates(item, 0) {
			if b.Kind == call.BlockText {
				texts = append(texts, b.text)
			}
		}
	}
	return strings.Join(texts, "") // a single text is not copied
}

// isAnswer reports whether the item is a message with text that is not a commentary.
func isAnswer(i call.Item) bool {
	return i.Phase != "commentary" && textOf(i) != ""
}

// reported returns what a response has used, as the API reports.
func reported(r *call.Response) call.Reported {
	return call.Reported{
		Usage:    r.Usage,
		Searches: countSearches(r),
	}
}

// maxSearches bounds the number of searches that a response reports: a faulty server may send any.
const maxSearches = 1e6

// countSearches returns how many searches the API bills: the number that it reports, or else the
// number of searches in the output.
func countSearches(r *call.Response) int {
	billed := r.ToolUsage.WebSearch.NumRequests
	if billed != nil {
		return int(max(0, min(*billed, maxSearches)))
	}
	if r.Usage.ReportedSearches != nil {
		return int(min(*r.Usage.ReportedSearches, maxSearches))
	}
	n := 0
	for _, item := range r.Items() {
		mayBeQuery := item.Action.Type == "" && item.Status != "incomplete"
		isQuery := item.Action.Type == "search" || mayBeQuery
		if item.IsSearch() && isQuery {
			n++
		}
	}
	return n
}

// rawJSON holds the JSON of a request or of a response, or the event that contains the response.
type rawJSON struct {
	data    []byte
	isEvent bool // data is an event
}

// json returns the JSON of the request or response. Only errors and the debug log should call it:
// it copies a response out of its event, which may have 8 MiB.
func (j rawJSON) json() []byte {
	if j.isEvent {
		return []byte(gjson.GetBytes(j.data, "response").Raw)
	}
	return j.data
}

// checkResponse returns why r is not an answer, or nil. It returns nil for an incomplete response,
// too, which may lack an answer. If the server has left out the status, checkResponse sets it.
func checkResponse(r *call.Response, from rawJSON, c *call.Call) error {
	if countElements(r.Items()...) > maxElements {
		return call.TooLargeError(tooManyElements)
	}

	r.Status = cmp.Or(r.Status, "completed")
	switch r.Status {
	case "cancelled":
		return &call.APIError{Kind: call.KindCanceled, Message: "the response was cancelled"}
	case "failed":
		return apierror.FromResponse(from.json(), responseFailed, c.RequestInput)
	case "queued", "in_progress":
		return &call.APIError{Kind: call.KindBadResponse, Message: "the response is still " + r.Status}
	case "incomplete": // there may be no output yet
		return nil
	}
	if len(r.Output) > 0 {
		return nil
	}

	data := from.json()
	hasError := saysMore(gjson.GetBytes(data, "error")) || gjson.GetBytes(data, "errors.0").Exists()
	if r.Output != nil && !hasError {
		return nil
	}
	e := apierror.FromResponse(data, "the response has no output", c.RequestInput)
	if !hasError { // gateways send an error with a 200
		e.Kind = call.KindBadResponse
	}
	return e
}

// saysMore reports whether the error of a response is more than null, false, "", [] or an object of
// such values. An error of more than 4,000 bytes counts as more: reading it would take time that
// grows with the square of its levels.
func saysMore(e gjson.Result) (says bool) {
	if !e.IsObject() && !e.IsArray() || len(e.Raw) > 4000 {
		return e.Type != gjson.False && e.String() != ""
	}
	e.ForEach(func(_, value gjson.Result) bool {
		says = saysMore(value)
		return !says
	})
	return says
}

// maxElements bounds the items, parts, annotations, queries and sources of a response, all
// together. The longest responses have a few hundred.
const maxElements = 10_000

// tooManyElements is the message of the error about a response with too many elements.
const tooManyElements = "the answer has more than 10,000 items, parts, annotations, queries and sources"

// countElements returns the number of items and of the elements of their lists.
func countElements(items ...call.Item) int {
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

// notResponseError returns the error of a body that is not a response.
func notResponseError(data []byte) *call.APIError {
	e := &call.APIError{
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
