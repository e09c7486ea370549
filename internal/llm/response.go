package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// Response is a finished response, or from Start and Get one that runs in the background
// (https://platform.openai.com/docs/api-reference/responses/object).
type Response struct {
	ID                string
	Model             string  // often a dated snapshot of the one that was asked
	Status            string  // "completed" or "incomplete"; in the background any of the API's
	Background        bool    // runs or ran in the background, says the API
	CreatedAt         float64 `json:"created_at"`   // Unix time in seconds
	CompletedAt       float64 `json:"completed_at"` // 0: the API does not say
	IncompleteDetails struct {
		Reason string // "max_output_tokens", "content_filter"
	} `json:"incomplete_details"`
	Output    list[Item] // nil: the API sent no list; an empty list is an output
	Tokens    Usage      `json:"usage"` // from Run, the sum of all rounds
	ToolUsage struct {
		WebSearch struct {
			NumRequests *float64 `json:"num_requests"` // billable; nil when the API does not say
		} `json:"web_search"`
	} `json:"tool_usage"`

	Failure *Error `json:"-"` // from Get: why it failed or was cancelled, nil for an answer

	RequestID string `json:"-"` // X-Request-Id header, "" when there is none
	Retries   int    `json:"-"` // tries that failed before this response
	Blocks    int    `json:"-"` // number of the block that would follow in the events
	Streamed  bool   `json:"-"` // came as a stream
}

// Running reports whether the response runs in the background.
func (r *Response) Running() bool { return r.Status == "queued" || r.Status == "in_progress" }

// Item is an item of the output. Which fields are set depends on its type: "message",
// "web_search_call", "reasoning", "function_call", "custom_tool_call" or another one.
type Item struct {
	Type string
	ID   string
	Raw  json.RawMessage `json:"-"` // as it was received

	Phase   string     // of a message: "commentary", "final_answer" or ""
	Content list[Part] // of a message, or of reasoning
	Summary list[Part] // of reasoning

	EncryptedContent string `json:"encrypted_content"` // reasoning that can be sent back

	Action struct { // of a web search call
		Type, Query, URL string
		Queries          list[string]
		Sources          list[Source]
	}

	CallID    string `json:"call_id"` // of a tool call
	Name      string // of its tool
	Arguments json.RawMessage
	Input     string
}

// Part is a part of a message.
type Part struct {
	Type        string // "output_text", "text", "refusal" or another one
	Text        string
	Refusal     string
	Annotations list[Source]
}

// Source is a page or, without a URL, a source with a name. Among annotations
// its type is url_citation.
type Source struct{ Type, URL, Name, Title string }

// UnmarshalJSON keeps the raw JSON.
func (i *Item) UnmarshalJSON(data []byte) error {
	type fields Item
	i.Raw = bytes.Clone(data)
	return decode(data, (*fields)(i))
}

// search is what a web search call does, with the first of its queries.
func (i Item) search() Search {
	s := Search{Action: i.Action.Type, Query: i.Action.Query, URL: i.Action.URL}
	if s.Query == "" && len(i.Action.Queries) > 0 {
		s.Query = i.Action.Queries[0]
	}
	return s
}

// thoughts is the summary of reasoning and its text.
func (i Item) thoughts() string {
	var b strings.Builder
	for _, part := range slices.Concat(i.Summary, i.Content) {
		b.WriteString(part.Text)
	}
	return b.String()
}

// toolInput is the input of a tool call as the model wrote it. Some servers send the arguments of a
// function as an object.
func (i Item) toolInput() string {
	if i.Type == "custom_tool_call" {
		return i.Input
	}
	return gjson.ParseBytes(i.Arguments).String()
}

// IsText reports whether the part has text.
func (p Part) IsText() bool { return p.Type == "output_text" || p.Type == "text" }

// InputItems returns the output as input of the next request. Each item is sent as the raw JSON
// that was received, so items of unknown types survive. The API refuses reasoning without encrypted
// content, and reasoning that no other item follows: it is left out.
func (r *Response) InputItems() []json.RawMessage {
	var items []json.RawMessage
	for _, item := range slices.Backward(r.Output) {
		usable := item.EncryptedContent != "" && len(items) > 0
		if item.Type == "reasoning" && !usable {
			continue
		}
		items = append(items, item.Raw)
	}
	slices.Reverse(items)
	return items
}

// Usage counts tokens. Cached is part of Input, Reasoning is part of Output. Its JSON is that of the
// event.
type Usage struct {
	Input     int64 `json:"input_tokens"`
	Cached    int64 `json:"-"`
	Output    int64 `json:"output_tokens"`
	Reasoning int64 `json:"-"`
	Total     int64 `json:"total_tokens"`
}

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Cached += v.Cached
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.Total += v.Total
}

// UnmarshalJSON reads the usage of a response. Some servers write 3.0; other values count as 0.
func (u *Usage) UnmarshalJSON(data []byte) error {
	const most = 1 << 53 // a float64 holds every integer up to it
	count := func(path string) int64 {
		n := gjson.GetBytes(data, path).Num
		return int64(min(max(n, 0), most))
	}

	u.Input = count("input_tokens")
	u.Cached = count("input_tokens_details.cached_tokens")
	u.Output = count("output_tokens")
	u.Reasoning = count("output_tokens_details.reasoning_tokens")
	u.Total = cmp.Or(count("total_tokens"), u.Input+u.Output)
	return nil
}

// decodeResponse reads a response object, which check completes. Its errors have no status and
// request id.
func decodeResponse(data []byte, contentType string) (*Response, error) {
	if !isObject(data) {
		return nil, notResponse(data, contentType)
	}

	var r Response
	err := decode(data, &r)
	if err == nil {
		return &r, nil
	}
	_, large := errors.AsType[*Error](err)
	cutOff := strings.HasPrefix(err.Error(), "unexpected end")
	if large || cutOff {
		return nil, err
	}
	return nil, notResponse(data, contentType)
}

// check returns why a response, whose JSON is data, is not an answer. It sets the status that some
// servers leave out.
func (r *Response) check(data []byte) error {
	r.Status = cmp.Or(r.Status, "completed")

	switch r.Status {
	case "failed", "cancelled":
		return responseError(data, "the response failed")
	case "queued", "in_progress":
		message := "the response is still " + r.Status + ": background responses are not supported"
		return &Error{Kind: KindBadResponse, Message: message}
	case "incomplete": // maybe before its first item
		return nil
	}
	if r.Output != nil {
		return nil
	}

	e := responseError(data, "the response has no output")
	if gjson.GetBytes(data, "error").String() == "" { // else a gateway's 200 with an error
		e.Kind = KindBadResponse
	}
	return e
}

// maxElements bounds the items, parts, annotations, queries and sources of a response, all
// together. The longest answers have a few hundred.
const maxElements = 10_000

// Messages of tooLarge.
const (
	tooMany = "the answer has more than 10,000 items, parts, annotations, queries and sources"
	tooLong = "the answer is larger than 64 MiB"
)

// list is a JSON array whose elements are counted while it is decoded, with those in their own
// lists, so that a small answer cannot become large in memory. Any other JSON value leaves nil. The
// JSON is valid: encoding/json checks a value before it decodes a part of it.
type list[T any] []T

// size is the number of elements, those in their own lists included.
func (l list[T]) size() int {
	n := len(l)
	for _, e := range l {
		n += sizeOf(e)
	}
	return n
}

// sizeOf is the number of elements in the lists of an element.
func sizeOf(element any) int {
	parent, ok := element.(interface{ size() int })
	if !ok {
		return 0
	}
	return parent.size()
}

func (i Item) size() int {
	return i.Content.size() + i.Summary.size() + i.Action.Queries.size() + i.Action.Sources.size()
}

func (p Part) size() int { return p.Annotations.size() }

// UnmarshalJSON refuses a list of more than maxElements.
func (l *list[T]) UnmarshalJSON(data []byte) error {
	if data[0] != '[' {
		return nil
	}
	*l = list[T]{}

	var e T
	_, isParent := any(e).(interface{ size() int })
	if !isParent { // all at once: this is most of an answer
		if gjson.GetBytes(data, "#").Int() > maxElements {
			return tooLarge(tooMany)
		}
		return decode(data, (*[]T)(l))
	}

	size := 0
	var err error
	gjson.ParseBytes(data).ForEach(func(_, element gjson.Result) bool {
		var e T
		err = decode(data[element.Index:element.Index+len(element.Raw)], &e)
		*l = append(*l, e)
		size += 1 + sizeOf(e)
		if size > maxElements {
			err = tooLarge(tooMany)
		}
		return err == nil
	})
	return err
}

// decode is json.Unmarshal, but leaves out members whose type is not the expected one: servers
// differ in what an answer does not need.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	_, ok := errors.AsType[*json.UnmarshalTypeError](err)
	if ok {
		return nil
	}
	return err
}

func isObject(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }

// notResponse describes a body that should have been a response.
func notResponse(data []byte, contentType string) *Error {
	e := &Error{
		Kind:    KindBadResponse,
		Message: "the answer is empty",
		body:    errorExcerpt(data),
	}

	start := strings.TrimSpace(e.body)
	if start != "" {
		contentType = cmp.Or(contentType, "no content type")
		e.Message = "the answer is not a response object (" + contentType + "): " + start
	}
	if isPage(data) {
		e.Err = ErrWebPage
	}
	return e
}
