package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/tidwall/gjson"
)

// maxElements bounds the items, parts, annotations, queries and sources of a
// response, all together. The longest answers have a few hundred.
const maxElements = 10_000

// Response is a finished response
// (https://platform.openai.com/docs/api-reference/responses/object).
type Response struct {
	ID               string
	Model            string // often a dated snapshot of the one that was asked
	Status           string // "completed" or "incomplete"
	IncompleteReason string // "max_output_tokens", "content_filter" or ""
	Output           []Item
	Searches         int    // billable web searches; -1 when the API does not report them
	Tokens           Usage  // from Run, the sum of all rounds
	RequestID        string // X-Request-Id header, "" when there is none
	Retries          int    // tries that failed before this response
	Blocks           int    // number of the block that would follow in the events
}

// Item is an item of the output. Which fields are set depends on its type.
type Item struct {
	Type string // "message", "web_search_call", "reasoning", "function_call", "custom_tool_call" or another one
	ID   string
	Raw  json.RawMessage // as it was received

	Phase string // of a message: "commentary", "final_answer" or ""
	Parts []Part // of a message

	Search  Search   // what a web search call does
	Sources []Source // what it found

	Thoughts  string // of reasoning: its text and its summary
	Encrypted bool   // reasoning can be sent back

	CallID string // of a tool call
	Name   string // of the tool
	Input  string // arguments of a function, or free text of a custom tool
}

// Part is a part of a message.
type Part struct {
	Type      string // "output_text", "text", "refusal" or another one
	Text      string
	Citations []Source // url_citation annotations
}

// IsText reports whether the part has text, which a refusal is too.
func (p Part) IsText() bool {
	return p.Type == "output_text" || p.Type == "text" || p.Type == "refusal"
}

// Source is a page, or a source with a name and without a URL.
type Source struct{ URL, Name, Title string }

// Usage counts tokens. Cached is part of Input, Reasoning is part of Output.
type Usage struct{ Input, Cached, Output, Reasoning, Total int64 }

// Add adds v to u.
func (u *Usage) Add(v Usage) {
	u.Input += v.Input
	u.Cached += v.Cached
	u.Output += v.Output
	u.Reasoning += v.Reasoning
	u.Total += v.Total
}

// InputItems returns the output as input of the next request. Each item is sent
// as the raw JSON that was received, so items of unknown types survive. The API
// refuses reasoning without encrypted content, and reasoning that no other item
// follows: it is left out.
func (r *Response) InputItems() []json.RawMessage {
	var items []json.RawMessage
	followed := false
	for _, item := range slices.Backward(r.Output) {
		reasoning := item.Type == "reasoning"
		followed = followed || !reasoning
		if !reasoning || followed && item.Encrypted {
			items = append(items, item.Raw)
		}
	}
	slices.Reverse(items)
	return items
}

// decodeResponse reads a response object. An answer that is not one, and a
// response that failed, are an *Error without status and request id.
//
// For the end of a stream, status is the one that the last event names, and
// streamed are the items that the stream had. They are the output when the last
// event has none: some servers leave it out there.
func decodeResponse(data []byte, contentType, status string, streamed []json.RawMessage) (*Response, error) {
	var body struct {
		ID, Model, Status string
		Output            json.RawMessage
		IncompleteDetails struct{ Reason string } `json:"incomplete_details"`
		Usage             struct {
			Input   integer `json:"input_tokens"`
			Output  integer `json:"output_tokens"`
			Total   integer `json:"total_tokens"`
			InputOf struct {
				Cached integer `json:"cached_tokens"`
			} `json:"input_tokens_details"`
			OutputOf struct {
				Reasoning integer `json:"reasoning_tokens"`
			} `json:"output_tokens_details"`
		}
		ToolUsage struct {
			WebSearch struct {
				Requests *integer `json:"num_requests"`
			} `json:"web_search"`
		} `json:"tool_usage"`
	}
	if !isObject(data) {
		return nil, notResponse(data, contentType)
	}
	err := decode(data, &body)
	if isCut(err) {
		return nil, &Error{Kind: KindConnection, Message: "the answer was cut off", Err: err}
	}
	if err != nil {
		return nil, notResponse(data, contentType)
	}
	status = cmp.Or(status, body.Status, "completed")
	switch status {
	case "failed", "cancelled":
		return nil, failure(data, "the response failed")
	case "queued", "in_progress":
		return nil, &Error{Kind: KindBadResponse, Message: fmt.Sprintf("the response is still %s: background responses are not supported", status)}
	}
	d := decoder{left: maxElements}
	output, err := d.items(body.Output)
	for i := 0; err == nil && len(output) == i && i < len(streamed); i++ {
		output, err = d.appendItem(output, streamed[i])
	}
	if err != nil {
		return nil, err
	}
	if status != "incomplete" && len(output) == 0 && !isArray(body.Output) {
		e := failure(data, "the response has no output") // a gateway may answer 200 with nothing but an error
		if gjson.GetBytes(data, "error").String() == "" {
			e.Kind = KindBadResponse
		}
		return nil, e
	}
	u := body.Usage
	r := &Response{
		ID: body.ID, Model: body.Model, Status: status, IncompleteReason: body.IncompleteDetails.Reason,
		Output: output, Searches: -1,
		Tokens: Usage{
			Input: int64(u.Input), Cached: int64(u.InputOf.Cached), Output: int64(u.Output), Reasoning: int64(u.OutputOf.Reasoning),
			Total: int64(cmp.Or(u.Total, u.Input+u.Output)),
		},
	}
	if n := body.ToolUsage.WebSearch.Requests; n != nil {
		r.Searches = int(*n)
	}
	return r, nil
}

var errTooMany = errors.New("the answer has more than 10,000 items, parts, annotations and sources")

// decoder decodes the lists of one response. It counts their elements before it
// decodes them, so that a small answer cannot become large in memory.
type decoder struct{ left int }

// each calls f with each element of an array. Any other value has none.
func (d *decoder) each(array json.RawMessage, f func(json.RawMessage) error) error {
	if !isArray(array) {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(array))
	_, _ = dec.Token() // the bracket
	for dec.More() {
		if d.left == 0 {
			return errTooMany
		}
		d.left--
		var element json.RawMessage
		if err := dec.Decode(&element); err != nil {
			return err
		}
		if err := f(element); err != nil {
			return err
		}
	}
	return nil
}

func (d *decoder) items(array json.RawMessage) (items []Item, err error) {
	err = d.each(array, func(raw json.RawMessage) error {
		items, err = d.appendItem(items, raw)
		return err
	})
	return items, err
}

func (d *decoder) appendItem(items []Item, raw json.RawMessage) ([]Item, error) {
	item, err := d.item(raw)
	return append(items, item), err
}

func (d *decoder) item(raw json.RawMessage) (Item, error) {
	var body struct {
		Type, ID, Phase, Name, Input string
		CallID                       string `json:"call_id"`
		EncryptedContent             string `json:"encrypted_content"`
		Arguments, Content, Summary  json.RawMessage
		Action                       struct {
			Type, Query, URL string
			Queries, Sources json.RawMessage
		}
	}
	if err := decode(raw, &body); err != nil {
		return Item{}, err
	}
	item := Item{Type: body.Type, ID: body.ID, Raw: raw}
	var err error
	switch item.Type {
	case "message":
		item.Phase = body.Phase
		item.Parts, err = d.parts(body.Content)
	case "web_search_call":
		a := body.Action
		item.Search = Search{Action: a.Type, Query: a.Query, URL: a.URL}
		err = d.each(a.Queries, func(raw json.RawMessage) error {
			item.Search.Query = cmp.Or(item.Search.Query, stringOf(raw))
			return nil
		})
		if err == nil {
			item.Sources, err = d.sources(a.Sources, "")
		}
	case "reasoning":
		item.Encrypted = body.EncryptedContent != ""
		var thoughts strings.Builder
		for _, list := range []json.RawMessage{body.Summary, body.Content} {
			var parts []Part
			if parts, err = d.parts(list); err != nil {
				break
			}
			for _, part := range parts {
				thoughts.WriteString(part.Text)
			}
		}
		item.Thoughts = thoughts.String()
	case "function_call":
		item.CallID, item.Name, item.Input = body.CallID, body.Name, stringOf(body.Arguments)
	case "custom_tool_call":
		item.CallID, item.Name, item.Input = body.CallID, body.Name, body.Input
	}
	return item, err
}

func (d *decoder) parts(array json.RawMessage) (parts []Part, err error) {
	err = d.each(array, func(raw json.RawMessage) error {
		var body struct {
			Type, Text, Refusal string
			Annotations         json.RawMessage
		}
		if err := decode(raw, &body); err != nil {
			return err
		}
		text := body.Text
		if body.Type == "refusal" {
			text = body.Refusal
		}
		citations, err := d.sources(body.Annotations, "url_citation")
		parts = append(parts, Part{Type: body.Type, Text: text, Citations: citations})
		return err
	})
	return parts, err
}

// sources decodes the sources of a search, or the annotations of a text. It
// returns those of one type, or all.
func (d *decoder) sources(array json.RawMessage, only string) (list []Source, err error) {
	err = d.each(array, func(raw json.RawMessage) error {
		var body struct{ Type, URL, Name, Title string }
		if err := decode(raw, &body); err != nil {
			return err
		}
		if only == "" || body.Type == only {
			list = append(list, Source{URL: body.URL, Name: body.Name, Title: body.Title})
		}
		return nil
	})
	return list, err
}

// decode is json.Unmarshal, but leaves out members whose type is not the
// expected one: servers differ in what an answer does not need.
func decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	if _, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return nil
	}
	return err
}

// integer is a number that some servers write as 3.0. Other values are 0.
type integer int64

func (n *integer) UnmarshalJSON(data []byte) error {
	f, _ := strconv.ParseFloat(string(data), 64)
	*n = integer(f)
	return nil
}

// isCut reports whether JSON ended too early.
func isCut(err error) bool {
	_, ok := errors.AsType[*json.SyntaxError](err)
	return ok && strings.HasPrefix(err.Error(), "unexpected end")
}

func isObject(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) }

func isArray(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("[")) }

// stringOf returns the text of a JSON string, and any other value as it is.
func stringOf(raw json.RawMessage) string {
	var s string
	if json.Unmarshal(raw, &s) != nil {
		return string(raw)
	}
	return s
}

// notResponse describes a body that should have been a response.
func notResponse(data []byte, contentType string) *Error {
	e := &Error{Kind: KindBadResponse, Message: "the answer is empty", body: string(data[:min(len(data), maxErrorBody)])}
	if start := strings.TrimSpace(e.body); start != "" {
		e.Message = "the answer is not a response object (" + cmp.Or(contentType, "no content type") + "): " + start
	}
	if isPage(data) {
		e.Err = ErrWebPage
	}
	return e
}
