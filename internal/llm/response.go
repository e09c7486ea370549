package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
)

// Response is a finished response. RawJSON returns it as the API sent it.
type Response struct {
	responses.Response
	RequestID string // X-Request-Id header, "" when there is none
	Tokens    Usage  // Usage of the API; from Run, the sum of all rounds
	Retries   int    // tries that failed before this response
}

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
func (r *Response) InputItems() []responses.ResponseInputItemUnionParam {
	var items []responses.ResponseInputItemUnionParam
	followed := false
	for i := len(r.Output) - 1; i >= 0; i-- {
		item := &r.Output[i]
		reasoning := item.Type == "reasoning"
		followed = followed || !reasoning
		if !reasoning || followed && item.EncryptedContent != "" {
			items = append(items, rawItem([]byte(item.RawJSON())))
		}
	}
	slices.Reverse(items)
	return items
}

func rawItem(data []byte) responses.ResponseInputItemUnionParam {
	return param.Override[responses.ResponseInputItemUnionParam](json.RawMessage(data))
}

// decodeResponse reads a response object. An answer that is not one, and a
// response that failed, are an *Error without status and request id.
func decodeResponse(data []byte, contentType string) (*Response, error) {
	var r Response
	err := json.NewDecoder(bytes.NewReader(data)).Decode(&r.Response)
	if errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, &Error{Kind: KindConnection, Message: "the answer was cut off", Err: err}
	}
	if err != nil || r.RawJSON() == "null" {
		return nil, notResponse(data, contentType)
	}
	switch r.Status {
	case "failed", "cancelled":
		return nil, failure(data, "the response failed")
	case "queued", "in_progress":
		return nil, &Error{Kind: KindBadResponse, Message: fmt.Sprintf("the response is still %s: background responses are not supported", r.Status)}
	case "incomplete":
	default:
		if !r.JSON.Output.Valid() { // a gateway may answer 200 with nothing but an error
			e := failure(data, "the response has no output")
			if gjson.GetBytes(data, "error").String() == "" {
				e.Kind = KindBadResponse
			}
			return nil, e
		}
	}
	r.Tokens = Usage{
		Input:     r.Usage.InputTokens,
		Cached:    r.Usage.InputTokensDetails.CachedTokens,
		Output:    r.Usage.OutputTokens,
		Reasoning: r.Usage.OutputTokensDetails.ReasoningTokens,
		Total:     cmp.Or(r.Usage.TotalTokens, r.Usage.InputTokens+r.Usage.OutputTokens),
	}
	return &r, nil
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
