package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/tidwall/gjson"
)

// events returns the stream of a finished response.
func events(final gjson.Result) []object {
	begun := object{"id": final.Get("id").String(), "object": "response", "status": "in_progress", "output": []object{}}
	all := []object{{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}}
	for i, item := range final.Get("output").Array() {
		all = append(all, itemEvents(i, item)...)
	}
	return append(all, object{"type": "response." + final.Get("status").String(), "response": json.RawMessage(final.Raw)})
}

func itemEvents(i int, item gjson.Result) (all []object) {
	id, typ := item.Get("id").String(), item.Get("type").String()
	add := func(kind string, members object) {
		e := object{"type": "response." + kind, "output_index": i, "item_id": id}
		maps.Copy(e, members)
		all = append(all, e)
	}
	// text adds the pieces of a text, and then all of it in a field.
	text := func(kind, index string, n int, field, text string) {
		for piece := range slices.Chunk([]rune(text), 7) {
			add(kind+".delta", object{index: n, "delta": string(piece)})
		}
		add(kind+".done", object{index: n, field: text})
	}
	add("output_item.added", object{"item": object{"id": id, "type": typ, "status": "in_progress"}})
	switch typ {
	case "reasoning":
		for n, part := range item.Get("summary").Array() {
			text("reasoning_summary_text", "summary_index", n, "text", part.Get("text").String())
		}
	case "web_search_call":
		for _, stage := range []string{"in_progress", "searching", "completed"} {
			add("web_search_call."+stage, nil)
		}
	case "message":
		for n, part := range item.Get("content").Array() {
			kind := part.Get("type").String() // output_text or refusal
			field := strings.TrimPrefix(kind, "output_")
			add("content_part.added", object{"content_index": n, "part": object{"type": kind, field: ""}})
			text(kind, "content_index", n, field, part.Get(field).String())
			add("content_part.done", object{"content_index": n, "part": json.RawMessage(part.Raw)})
		}
	}
	add("output_item.done", object{"item": json.RawMessage(item.Raw)})
	return all
}

// stream sends events, with the pauses and the early end of the step.
func (x *exchange) stream(events []object) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	ok := x.write(nil)
	for i, e := range events {
		if x.step.stop != "" && i >= x.step.stopAfter {
			faults[x.step.stop](x, "")
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
