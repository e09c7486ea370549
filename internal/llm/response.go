package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
)

// Response is a finished answer.
type Response struct {
	ID         string
	Model      string // the snapshot that answered
	Status     string // "completed", "incomplete"
	Incomplete string // why it is incomplete, for example "max_output_tokens"
	Output     []Item
	Usage      Usage
	RequestID  string          // x-request-id
	Raw        json.RawMessage // the whole object as it came
}

// Usage counts the tokens of a response. Cached is part of Input, Reasoning is
// part of Output.
type Usage struct {
	Input, Cached, Output, Reasoning, Total int64
}

// Plus is what two responses took together.
func (u Usage) Plus(v Usage) Usage {
	return Usage{
		Input:     u.Input + v.Input,
		Cached:    u.Cached + v.Cached,
		Output:    u.Output + v.Output,
		Reasoning: u.Reasoning + v.Reasoning,
		Total:     u.Total + v.Total,
	}
}

// decodeResponse reads the body of a plain call. An answer that is no response
// and a response that failed are an *Error.
func decodeResponse(data []byte, resp *http.Response) (*Response, error) {
	if crowded(data) {
		return nil, &Error{Kind: KindBadResponse, Status: resp.StatusCode, RequestID: requestID(resp), Message: errTooMany.Error(), Err: errTooMany}
	}
	raw, err := firstValue(data)
	o := objectOf(raw)
	if o == nil {
		e := &Error{Kind: KindBadResponse, Status: resp.StatusCode, RequestID: requestID(resp), body: clip(string(data), 300), Err: err}
		e.Message = notResponse(data, resp.Header)
		// An object that ends in its middle is a connection that did: a body
		// without a declared length ends like that, with no other sign.
		if errors.Is(err, io.ErrUnexpectedEOF) && bytes.HasPrefix(bytes.TrimSpace(data), []byte("{")) {
			e.Kind, e.Message = KindConnection, "the answer was cut off"
		}
		return nil, e
	}
	r, e := readResponse(o, raw)
	if e != nil {
		e.Status, e.RequestID, e.body = resp.StatusCode, requestID(resp), clip(string(data), 300)
		return nil, e
	}
	r.RequestID = requestID(resp)
	return r, nil
}

// firstValue returns the JSON value that data begins with, whatever comes behind.
func firstValue(data []byte) (raw json.RawMessage, err error) {
	if valid(data) {
		return bytes.TrimSpace(data), nil
	}
	return raw, json.NewDecoder(bytes.NewReader(data)).Decode(&raw)
}

// readResponse reads a response object, from a plain answer or from the last
// event of a stream.
func readResponse(o object, raw json.RawMessage) (*Response, *Error) {
	output := o.list("output")
	if len(output) > maxPieces {
		return nil, &Error{Kind: KindBadResponse, Message: errTooMany.Error(), Err: errTooMany}
	}
	r := &Response{
		ID:         o.str("id"),
		Model:      o.str("model"),
		Status:     o.str("status"),
		Incomplete: o.object("incomplete_details").str("reason"),
		Output:     decodeItems(output),
		Usage:      readUsage(o.object("usage")),
		Raw:        raw,
	}
	switch r.Status {
	case "failed":
		return nil, failure(raw, "the response failed")
	case "cancelled":
		return nil, failure(raw, "the response was cancelled")
	case "queued", "in_progress":
		return nil, &Error{Kind: KindBadResponse, Message: "the response is still " + r.Status + ": background responses are not supported"}
	case "incomplete":
		if r.Incomplete == "" {
			r.Incomplete = "unknown"
		}
		return r, nil
	}
	if output == nil {
		// Some gateways answer 200 with nothing but an error in it.
		e := failure(raw, "the response has no output")
		if o.text("error") == "" {
			e.Kind = KindBadResponse
		}
		return nil, e
	}
	return r, nil
}

// failure is the error of a response that the API accepted and then gave up;
// message is for an API that does not say why.
func failure(raw json.RawMessage, message string) *Error {
	e := apiError(string(raw))
	if e.Message == "" {
		e.Message = message
	}
	e.Kind = failureKind(e.Type, e.Code)
	return e
}

func readUsage(o object) Usage {
	u := Usage{
		Input:     o.integer("input_tokens"),
		Cached:    o.object("input_tokens_details").integer("cached_tokens"),
		Output:    o.integer("output_tokens"),
		Reasoning: o.object("output_tokens_details").integer("reasoning_tokens"),
		Total:     o.integer("total_tokens"),
	}
	if u.Total == 0 {
		u.Total = u.Input + u.Output
	}
	return u
}
