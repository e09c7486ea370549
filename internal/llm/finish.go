package llm

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/unescaped"
)

// final handles the event that ends a stream. The event carries the whole
// response; compatible servers leave parts of it out.
func (f *fold) final(w *wire) (*Response, *Error) {
	status := strings.TrimPrefix(w.Type, "response.")
	if status == "canceled" {
		status = "cancelled"
	}
	return f.finish(w.Response, status)
}

// finish makes the response of a stream that ended with a status. What the
// response lacks comes from response.created and from the items.
func (f *fold) finish(response json.RawMessage, status string) (*Response, *Error) {
	o := parseObject(response)
	if o == nil {
		o, response = parseObject(f.begun), nil
	}
	if o == nil {
		o = object{}
	}
	switch o.str("status") {
	case "completed", "incomplete", "failed", "cancelled":
		if status == "failed" || status == "cancelled" {
			o = o.with("status", quoted(status))
		}
	default:
		o = o.with("status", quoted(status))
	}
	if list := o.list("output"); len(list) > maxPieces {
		// readResponse refuses it.
	} else if len(list) > 0 && !f.forgot(list, o.str("status")) {
		f.settleOutput(list)
	} else if list := f.output(o.str("status")); len(list) > 0 {
		data, _ := unescaped.JSON(list) // of valid JSON
		o = o.with("output", data)
	}
	if response == nil {
		response, _ = unescaped.JSON(o)
	}
	return readResponse(o, response)
}

// allDone reports that items came and that all of them came whole: a server
// may end its stream so, without a final event.
func (f *fold) allDone() bool {
	return len(f.tracks.list) > 0 && !slices.ContainsFunc(f.tracks.list, func(t *track) bool { return !t.ended })
}

// settleOutput makes up for what was not streamed of the final output.
func (f *fold) settleOutput(list []json.RawMessage) {
	for i, data := range list {
		if t := f.tracks.claim(i, headOf(data)); !t.ended {
			t.ended = true
			f.settle(t, data)
		}
	}
	// Items that the final output does not know have to end, too.
	f.feed.stopAll()
}

// output is the list of the items as far as they were streamed.
func (f *fold) output(status string) []json.RawMessage {
	list := slices.Clone(f.tracks.list)
	slices.SortStableFunc(list, func(a, b *track) int {
		if a.index < 0 || b.index < 0 {
			return 0
		}
		return a.index - b.index
	})
	var items []json.RawMessage
	for _, t := range list {
		if !t.ended {
			t.ended = true
			f.settle(t, nil)
		}
		if data := t.item(status); data != nil {
			items = append(items, data)
		}
	}
	return items
}

// item is the item as the API sent it, else as it can be made of what was
// streamed: nil when that is nothing.
func (t *track) item(status string) json.RawMessage {
	if t.done != nil && (t.typ != "message" || !t.spoke() || speaks(t.done)) {
		return t.done
	}
	o := parseObject(t.done)
	if o == nil {
		o = parseObject(t.added)
	}
	if o == nil {
		o = object{}
	}
	if t.typ == "" {
		t.typ = t.guess()
		if t.typ == "" {
			return nil
		}
		o = o.with("type", quoted(t.typ))
		if t.id != "" {
			o = o.with("id", quoted(t.id))
		}
	}
	switch t.typ {
	case "message":
		if o.str("role") == "" {
			o = o.with("role", quoted("assistant"))
		}
		o = t.fill(o, "content")
	case "reasoning":
		if o.list("summary") == nil {
			o = o.with("summary", json.RawMessage("[]")) // required, also when empty
		}
		o = t.fill(o, "summary")
		o = t.fill(o, "content")
	case "function_call":
		o = t.fillInput(o, "arguments")
	case "custom_tool_call":
		o = t.fillInput(o, "input")
	}
	if o.str("status") == "in_progress" {
		o = o.with("status", quoted(status))
	}
	data, _ := unescaped.JSON(o)
	return data
}

// guess is the type of an item that nobody named.
func (t *track) guess() string {
	for _, p := range t.parts {
		switch p.kind {
		case BlockText:
			return "message"
		case BlockThinking:
			return "reasoning"
		}
	}
	return "" // a call without a name is no call
}

// fill puts the streamed pieces into a list of the item. A list that is there
// and got no piece stays.
func (t *track) fill(o object, list string) object {
	var pieces []*part
	for _, p := range t.parts {
		if p.list == list && p.kind != BlockToolUse {
			pieces = append(pieces, p)
		}
	}
	if len(pieces) == 0 {
		return o
	}
	slices.SortStableFunc(pieces, func(a, b *part) int { return a.index - b.index })
	var out []map[string]any
	for _, p := range pieces {
		piece := map[string]any{"type": p.typ}
		switch p.typ {
		case "refusal":
			piece["refusal"] = string(p.text)
		case "", "output_text":
			piece["type"] = "output_text"
			piece["annotations"] = append([]json.RawMessage{}, p.annotations...)
			fallthrough
		default:
			piece["text"] = string(p.text)
		}
		out = append(out, piece)
	}
	data, _ := unescaped.JSON(out)
	return o.with(list, data)
}

func (t *track) fillInput(o object, key string) object {
	p := t.part(toolInput, false)
	if len(p.text) == 0 {
		return o
	}
	data, _ := unescaped.JSON(string(p.text))
	return o.with(key, data)
}

func quoted(s string) json.RawMessage {
	data, _ := unescaped.JSON(s)
	return data
}
