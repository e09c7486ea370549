package llm

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
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
	maxPlain = 8 << 10 // bytes of a plain event, which bound its nesting, too
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

	// The halves of characters that begin and end Delta, which has U+FFFD for them. readHalves
	// sets them, and 0 is none.
	First rune `json:"-"`
	Last  rune `json:"-"`
}

// unpaired matches the JSON of a delta with the second half of a character at its start, or with
// the first half of one at its end: some servers cut a text between the UTF-16 units of an emoji.
var unpaired = text.Regexp(`^"(?:\\u(?i:(d[c-f][0-9a-f]{2})))?.*?(?:\\u(?i:(d[89ab][0-9a-f]{2})))?"$`)

// readHalves reads from the data of the event the halves of characters that its delta begins and
// ends with.
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
		ev.First = half(1)
	}
	if strings.HasSuffix(ev.Delta, "\ufffd") {
		ev.Last = half(2)
	}
}

// isError reports whether an event has an error. The events of some servers have an empty one.
func (ev *streamEvent) isError() bool {
	switch string(ev.Error) {
	case "", "null", "{}", `""`:
		return ev.Type == "error"
	}
	return true
}

// decode replaces an event with what call.Decode reads of data. Nearly all events are plain:
// readPlain takes a third of the time.
func (ev *streamEvent) decode(data []byte) error {
	*ev = streamEvent{}
	plain := len(data) <= maxPlain && utf8.Valid(data) && gjson.ValidBytes(data)
	if plain && ev.readPlain(string(data)) {
		return nil
	}
	*ev = streamEvent{}
	return call.Decode(data, ev)
}

// readPlain reads an event as encoding/json does, and reports whether the event is plain: texts and
// numbers only. encoding/json takes member names in any case, so a name with other letters is not
// plain.
func (ev *streamEvent) readPlain(data string) bool {
	plain := true
	gjson.Parse(data).ForEach(func(name, value gjson.Result) bool {
		read := func(member *string) {
			if value.Type == gjson.String {
				*member = value.Str
			}
		}
		number := func(member *float64) {
			if value.Type == gjson.Number && !math.IsInf(value.Num, 0) {
				*member = value.Num
			}
		}

		switch name.Str {
		case "type":
			read(&ev.Type)
		case "sequence_number":
			number(&ev.Sequence)
		case "output_index":
			number(&ev.OutputIndex)
		case "content_index":
			number(&ev.ContentIndex)
		case "item_id":
			read(&ev.ItemID)
		case "delta":
			read(&ev.Delta)
		case "text":
			read(&ev.Text)
		case "refusal":
			read(&ev.Refusal)
		case "annotation", "part", "item", "response", "error":
			plain = false
		case "logprobs", "obfuscation":
		default:
			plain = strings.Trim(name.Str, "abcdefghijklmnopqrstuvwxyz_") == ""
		}
		return plain
	})
	return plain
}

// lastResponse returns the response of an event that ends a stream. The status of the response says
// how it ended. A response without a status, or with one that fits any end, ended as the name of
// the event says.
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

// readEvent reads the data of the next event of a stream into buf, which the next call uses again
// (https://html.spec.whatwg.org/multipage/server-sent-events.html). The name of the event is not
// read: the payload has the type. The blank line after the last event may be missing. At the end of
// the stream, data and error are nil.
func readEvent(stream *bufio.Reader, buf *bytes.Buffer) ([]byte, error) {
	buf.Reset()
	for {
		start := buf.Len()
		err := bufio.ErrBufferFull
		for errors.Is(err, bufio.ErrBufferFull) {
			var part []byte
			part, err = stream.ReadSlice('\n')
			buf.Write(part)
		}
		line := buf.Bytes()[start:]
		line = bytes.TrimSuffix(bytes.TrimSuffix(line, []byte("\n")), []byte("\r"))
		buf.Truncate(start)

		name, value, _ := bytes.Cut(line, []byte(":"))
		if string(name) == "data" {
			buf.Write(bytes.TrimPrefix(value, []byte(" ")))
			buf.WriteByte('\n')
		}
		end := errors.Is(err, io.EOF)
		over := end || err == nil && len(line) == 0
		switch {
		case over && buf.Len() > 0:
			return buf.Bytes(), nil
		case end:
			return nil, nil
		case err != nil:
			return nil, err
		}
	}
}
