package apitest

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/tidwall/gjson"
)

// eventsOf returns the events of the stream of a finished response.
func eventsOf(response []byte) (all []object) {
	final := gjson.ParseBytes(response)
	add := func(event string, members object) {
		members["type"] = "response." + event
		members["sequence_number"] = len(all)
		all = append(all, members)
	}

	background := final.Get("background").Bool()
	started := object{
		"id":         final.Get("id").String(),
		"object":     "response",
		"background": background,
		"created_at": final.Get("created_at").Int(),
		"status":     "in_progress",
		"output":     []object{},
	}
	first := started
	if background {
		first = maps.Clone(started)
		first["status"] = "queued"
	}

	add("created", object{"response": first})
	if background {
		add("queued", object{"response": first})
	}
	add("in_progress", object{"response": started})
	for i, item := range final.Get("output").Array() {
		addItem(i, item, add)
	}
	add(final.Get("status").String(), object{"response": json.RawMessage(response)})
	return all
}

// addItem adds the events of an output item, whose index is i.
func addItem(i int, item gjson.Result, addEvent func(event string, members object)) {
	id := item.Get("id").String()
	kind := item.Get("type").String()
	add := func(event string, members object) {
		members["output_index"] = i
		members["item_id"] = id
		addEvent(event, members)
	}
	// addText adds the pieces of a text, and then all of it.
	addText := func(event, index string, n int, part gjson.Result) {
		text := part.Get("text").String()
		for piece := range slices.Chunk([]rune(text), 7) {
			add(event+".delta", object{
				index:   n,
				"delta": string(piece),
			})
		}
		add(event+".done", object{
			index:  n,
			"text": text,
		})
	}

	add("output_item.added", object{"item": object{
		"id":     id,
		"type":   kind,
		"status": "in_progress",
	}})
	switch kind {
	case "reasoning":
		for n, part := range item.Get("summary").Array() {
			addText("reasoning_summary_text", "summary_index", n, part)
		}
	case "web_search_call":
		for _, stage := range []string{"in_progress", "searching", "completed"} {
			add("web_search_call."+stage, object{})
		}
	case "message":
		for n, part := range item.Get("content").Array() {
			add("content_part.added", object{
				"content_index": n,
				"part":          object{"type": "output_text", "text": ""},
			})
			addText("output_text", "content_index", n, part)
			add("content_part.done", object{
				"content_index": n,
				"part":          json.RawMessage(part.Raw),
			})
		}
	}
	add("output_item.done", object{"item": json.RawMessage(item.Raw)})
}
