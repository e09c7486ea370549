package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/tidwall/gjson"
)

// begin returns the events before the output of a finished response.
func begin(final gjson.Result) []object {
	begun := object{"id": final.Get("id").String(), "object": "response", "status": "in_progress", "output": []object{}}
	return []object{{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}}
}

// end returns the last event of a finished response.
func end(final gjson.Result) object {
	return object{"type": "response." + final.Get("status").String(), "response": json.RawMessage(final.Raw)}
}

// items returns the events of all output items of a finished response.
func items(final gjson.Result) (events []object) {
	for i, it := range final.Get("output").Array() {
		id, typ := it.Get("id").String(), it.Get("type").String()
		add := func(kind string, more object) {
			e := object{"type": "response." + kind, "output_index": i, "item_id": id}
			maps.Copy(e, more)
			events = append(events, e)
		}
		// text adds the deltas of a text and then the whole, which is the given
		// field of the event.
		text := func(kind, field, whole string, at object) {
			for delta := range slices.Chunk([]rune(whole), 7) {
				e := maps.Clone(at)
				e["delta"] = string(delta)
				add(kind+".delta", e)
			}
			e := maps.Clone(at)
			e[field] = whole
			add(kind+".done", e)
		}
		add("output_item.added", object{"item": object{"id": id, "type": typ, "status": "in_progress"}})
		switch typ {
		case "reasoning":
			for j, part := range it.Get("summary").Array() {
				text("reasoning_summary_text", "text", part.Get("text").String(), object{"summary_index": j})
			}
		case "web_search_call":
			for _, stage := range []string{"in_progress", "searching", "completed"} {
				add("web_search_call."+stage, nil)
			}
		case "message":
			for j, part := range it.Get("content").Array() {
				kind, field := "output_text", "text"
				if part.Get("type").String() == "refusal" {
					kind, field = "refusal", "refusal"
				}
				add("content_part.added", object{"content_index": j, "part": object{"type": kind, field: ""}})
				text(kind, field, part.Get(field).String(), object{"content_index": j})
				add("content_part.done", object{"content_index": j, "part": json.RawMessage(part.Raw)})
			}
		}
		add("output_item.done", object{"item": json.RawMessage(it.Raw)})
	}
	return events
}

// stream sends events, with the pauses and the early end of the step.
func (x *exchange) stream(events ...object) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	ok := x.write(nil)
	for i, e := range events {
		if x.step.stop != nil && i >= x.step.stopAfter {
			x.step.stop(x)
			return
		}
		if !ok || i > 0 && !x.pause(x.step.slow) {
			return
		}
		e["sequence_number"] = i
		ok = x.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e["type"], encode(e)))
	}
	x.done = true // A client that leaves after the last event misses nothing.
}
