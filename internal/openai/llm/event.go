package llm

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
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

	// LowAtStart is the second half of a character that begins Delta, and HighAtEnd the first half
	// of one that ends it. Delta has U+FFFD in their places. readHalves sets them; 0: none.
	LowAtStart rune `json:"-"`
	HighAtEnd  rune `json:"-"`
}

// lineReader reads until p is full or the end of a line has come. The decoder of openai-go looks at
// the whole of an unfinished line again after each Read, so a long line in small pieces would take
// its length squared.
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

// unpaired matches the JSON of a delta with the second half of a character at its start, or with
// the first half of one at its end: some servers cut a text between the UTF-16 units of an emoji.
var unpaired = text.LazyRegexp(`^"(?:\\u(?i:(d[c-f][0-9a-f]{2})))?.*?(?:\\u(?i:(d[89ab][0-9a-f]{2})))?"$`)

// readHalves sets LowAtStart and HighAtEnd from the data of the event.
func (ev *streamEvent) readHalves(data []byte) {
	if !strings.Contains(ev.Delta, "\ufffd") {
		return
	}
	m := unpaired().FindStringSubmatch(gjson.GetBytes(data, "delta").Raw)
	half := func(i int) rune {
		if m == nil {
			return 0
		}
		n, _ := strconv.ParseInt(m[i], 16, 32) // 0 for no digits
		return rune(n)
	}
	if strings.HasPrefix(ev.Delta, "\ufffd") {
		ev.LowAtStart = half(1)
	}
	if strings.HasSuffix(ev.Delta, "\ufffd") {
		ev.HighAtEnd = half(2)
	}
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
// flat, and readFlat takes a third of the time.
func (ev *streamEvent) decode(data []byte) error {
	*ev = streamEvent{}
	mayBeFlat := len(data) <= maxFlat && utf8.Valid(data) && gjson.ValidBytes(data)
	if mayBeFlat && ev.readFlat(string(data)) {
		return nil
	}
	*ev = streamEvent{}
	return call.DecodeLenient(data, ev)
}

// readFlat reads an event as encoding/json does, and reports whether the event is flat: ev needs
// only its strings and numbers. encoding/json ignores the case of member names, so the names of a
// flat event are in lower case.
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

// lastResponse returns the response of an event that ends a stream. A status that names an end
// other than completed stays. Any other status, or a missing one, is replaced by the name of the
// event: response.completed means completed.
func (ev *streamEvent) lastResponse() *call.Response {
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
