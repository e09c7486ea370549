package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// events returns the stream of a finished response.
func events(final gjson.Result) []object {
	started := object{
		"id":     final.Get("id").String(),
		"object": "response",
		"status": "in_progress",
		"output": []object{},
	}
	var all []object
	add := func(event string, response any) {
		all = append(all, object{"type": "response." + event, "response": response})
	}

	if final.Get("background").Bool() {
		started["background"] = true
		started["created_at"] = final.Get("created_at").Int()
		queued := maps.Clone(started)
		queued["status"] = "queued"
		add("created", queued)
		add("queued", queued)
	} else {
		add("created", started)
	}
	add("in_progress", started)

	for i, item := range final.Get("output").Array() {
		all = append(all, itemEvents(i, item)...)
	}
	add(final.Get("status").String(), json.RawMessage(final.Raw))

	for i, e := range all {
		e["sequence_number"] = i
	}
	return all
}

// itemEvents returns the events of an output item, whose index is i.
func itemEvents(i int, item gjson.Result) (all []object) {
	id := item.Get("id").String()
	kind := item.Get("type").String()
	add := func(event string, members object) {
		e := object{"type": "response." + event, "output_index": i, "item_id": id}
		maps.Copy(e, members)
		all = append(all, e)
	}
	// addText adds the pieces of a text, and then all of it in a member.
	addText := func(event, index string, n int, member, text string) {
		for piece := range slices.Chunk([]rune(text), 7) {
			add(event+".delta", object{index: n, "delta": string(piece)})
		}
		add(event+".done", object{index: n, member: text})
	}

	add("output_item.added", object{"item": object{"id": id, "type": kind, "status": "in_progress"}})
	switch kind {
	case "reasoning":
		for n, part := range item.Get("summary").Array() {
			summary := part.Get("text").String()
			addText("reasoning_summary_text", "summary_index", n, "text", summary)
		}
	case "web_search_call":
		for _, stage := range []string{"in_progress", "searching", "completed"} {
			add("web_search_call."+stage, nil)
		}
	case "message":
		for n, part := range item.Get("content").Array() {
			event := part.Get("type").String() // output_text or refusal
			member := strings.TrimPrefix(event, "output_")
			empty := object{"type": event, member: ""}
			whole := json.RawMessage(part.Raw)

			add("content_part.added", object{"content_index": n, "part": empty})
			addText(event, "content_index", n, member, part.Get(member).String())
			add("content_part.done", object{"content_index": n, "part": whole})
		}
	}
	add("output_item.done", object{"item": json.RawMessage(item.Raw)})
	return all
}

// stream sends the events of a response from the first one on, each when it exists, up to the early
// end of the step.
func (x *exchange) stream(j *job, first int) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	if !x.write(nil) {
		return
	}

	all := j.events
	status, failure := errorNamed(x.step.failure, "")
	if status != 0 {
		all = append(all[:2:2], object{"type": "error", "error": failure, "sequence_number": 2})
	}
	for i := first; i < len(all); i++ {
		if x.step.stop != "" && i-first >= x.step.stopAfter {
			faults[x.step.stop](x, "")
			return
		}
		if !x.pause(time.Until(j.due(i))) {
			return
		}

		frame := fmt.Appendf(nil, "event: %s\ndata: %s\n\n", all[i]["type"], encode(all[i]))
		isTaken := x.write(frame)
		isLast := i == len(all)-1
		if !isTaken && !isLast { // A client that leaves after the last event misses nothing.
			return
		}
	}
	x.done = true
}
