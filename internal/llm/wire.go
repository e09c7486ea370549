package llm

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
)

// wire is one event of a stream as it is sent, all types of them in one: a
// field that an event lacks, or has with another type, reads as its zero value.
type wire struct {
	Type         string          `json:"type"`
	OutputIndex  int             `json:"output_index"`  // -1: not said
	ContentIndex int             `json:"content_index"` // -1: not said
	SummaryIndex int             `json:"summary_index"` // -1: not said
	ItemID       string          `json:"item_id"`
	Delta        string          `json:"delta"`
	Text         string          `json:"text"`
	Refusal      string          `json:"refusal"`
	Arguments    string          `json:"arguments"`
	Input        string          `json:"input"`
	Item         json.RawMessage `json:"item"`
	Part         json.RawMessage `json:"part"`
	Annotation   json.RawMessage `json:"annotation"`
	Response     json.RawMessage `json:"response"`
	Error        json.RawMessage `json:"error"`

	payload []byte // all of it, until the next event
}

// decode reads the payload of an event into w; name is that of its `event:`
// line, for a payload that does not say its type. It reports false when the
// payload is no JSON object.
func (w *wire) decode(name string, data []byte) bool {
	typ, itemID := w.Type, w.ItemID
	empty := wire{OutputIndex: -1, ContentIndex: -1, SummaryIndex: -1, payload: data}
	*w = empty
	if start := bytes.TrimLeft(data, " \t\r\n"); len(start) == 0 || start[0] != '{' {
		return false
	}
	if !w.quick(data, typ, itemID) {
		*w = empty
		// Unmarshal leaves out a field of another type and goes on.
		if err := json.Unmarshal(data, w); err != nil {
			if _, ok := errors.AsType[*json.UnmarshalTypeError](err); !ok {
				return false
			}
		}
	}
	if w.Type == "" {
		w.Type = name
	}
	// A gateway in the middle writes its own kind of event, and some put the type
	// of the error where that of the event belongs.
	if (present(w.Error) || name == "error") && !strings.HasPrefix(w.Type, "response.") {
		w.Type = "error"
	}
	return true
}

// present reports whether a field is there and not null.
func present(data json.RawMessage) bool {
	return len(data) > 0 && !bytes.Equal(data, []byte("null"))
}

// streamError reads an `error` event: OpenAI nests the error or not, gateways
// add the status that it would have had.
func streamError(data json.RawMessage) *Error {
	o := parseObject(data)
	e := apiError(string(data))
	if e.Message == "" && e.Code == "" {
		e = apiError(string(o.get("response")))
	}
	if e.Type == "error" {
		e.Type = "" // that of the event
	}
	if e.Message == "" {
		e.Message = "the stream ended with an error"
	}
	e.Kind = failureKind(e.Type, e.Code)
	if status := o.integer("status"); e.Kind == KindFailed && status >= 400 && status < 600 {
		e.Kind = kindOf(int(status), e.Type, e.Code)
	}
	e.body = clip(string(data), 300)
	return e
}
