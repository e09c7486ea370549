package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const (
	maxEvent = 8 << 20 // bytes of one event of a stream
	maxFlat  = 8 << 10 // bytes of an event for readFlat; this bounds its nesting, too
)

// streamEvent is what the program needs of the events of a stream
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type streamEvent struct {
	Type         string
	Sequence     float64 `json:"sequence_number"`
	OutputIndex  float64 `json:"output_index"` // some servers write 3.0
	ContentIndex float64 `json:"content_index"`
	ItemID       string  `json:"item_id"`
	Delta        string
	Text         string
	Refusal      string
	Annotation   json.RawMessage
	Part         call.Part
	Item         call.Item
	Response     call.Response
	Error        json.RawMessage

	Data []byte `json:"-"` // the event itself, until the next one is read
}

// lineReader reads until p is full or the end of a line has come. The decoder of openai-go looks at
// the whole of an unfinished line again after each Read. So a long line in small pieces would take
// time that grows with the square of its length.
type lineReader struct{ stream io.Reader }

func (r lineReader) Read(p []byte) (n int, err error) {
	for n < len(p) && err == nil {
		begin := n
		var more int
		more, err = r.stream.Read(p[n:])
		n += more
		if bytes.IndexByte(p[begin:n], '\n') >= 0 {
			break
		}
	}
	return n, err
}

// isError reports whether the event is an error. Some servers send an empty error with other
// events.
func (ev *streamEvent) isError() bool {
	switch string(ev.Error) {
	case "", "null", "{}", `""`:
		return ev.Type == "error"
	}
	return true
}

// decode replaces ev with the event in data, as call.DecodeLenient reads it. Nearly all events are
// flat: readFlat reads these in a third of the time.
func (ev *streamEvent) decode(data []byte) error {
	*ev = streamEvent{}
	mayBeFlat := len(data) <= maxFlat && utf8.Valid(data) && gjson.ValidBytes(data)
	if mayBeFlat && ev.readFlat(string(data)) {
		return nil
	}
	*ev = streamEvent{}
	return call.DecodeLenient(data, ev)
}

// readFlat reads an event as encoding/json does, and reports whether the event is flat. Of a flat
// event ev needs only strings and numbers, and all names of members are in lower case:
// encoding/json ignores the case of names, readFlat does not.
func (ev *streamEvent) readFlat(data string) bool {
	isFlat := true
	gjson.Parse(data).ForEach(func(name, value gjson.Result) bool {
		readString := func(member *string) {
			if value.Type == gjson.String {
				*member = value.Str
			}
		}
		readNumber := func(member *float64) {
			if value.Type == gjson.Number && !math.IsInf(value.Num, 0) {
				*member = value.Num
			}
		}

		switch name.Str {
		case "type":
			readString(&ev.Type)
		case "sequence_number":
			readNumber(&ev.Sequence)
		case "output_index":
			readNumber(&ev.OutputIndex)
		case "content_index":
			readNumber(&ev.ContentIndex)
		case "item_id":
			readString(&ev.ItemID)
		case "delta":
			readString(&ev.Delta)
		case "text":
			readString(&ev.Text)
		case "refusal":
			readString(&ev.Refusal)
		case "annotation", "part", "item", "response", "error":
			isFlat = false
		case "logprobs", "obfuscation":
		default:
			isFlat = strings.Trim(name.Str, "abcdefghijklmnopqrstuvwxyz_") == ""
		}
		return isFlat
	})
	return isFlat
}

// endedResponse returns the response of an event that ends a stream. A status that names an end
// other than completed stays. Any other status, or a missing one, is replaced by the name of the
// event: response.completed means completed.
func (ev *streamEvent) endedResponse() *call.Response {
	r := ev.Response // a copy: the next event replaces it
	r.Streamed = true
	switch r.Status {
	case "incomplete", "failed", "cancelled":
		return &r
	}
	r.Status = strings.TrimPrefix(ev.Type, "response.")
	if r.Status == "done" {
		r.Status = "completed"
	}
	return &r
}
