package fakeapi

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

const sseType = "text/event-stream; charset=utf-8"

// begin returns the events before the output of a finished response.
func begin(final []byte) []object {
	begun := json.RawMessage(set(string(final), "status", `"in_progress"`, "output", `[]`, "usage", `null`, "error", `null`))
	return []object{{"type": "response.created", "response": begun}, {"type": "response.in_progress", "response": begun}}
}

// end returns the last event of a finished response.
func end(final []byte) object {
	status := gjson.GetBytes(final, "status").String()
	if status != "failed" && status != "incomplete" {
		status = "completed"
	}
	return object{"type": "response." + status, "response": json.RawMessage(final)}
}

// items returns the events of all output items of a finished response.
func items(final []byte) []object {
	var out []object
	for i, it := range gjson.GetBytes(final, "output").Array() {
		add := func(typ string, at object, members ...any) {
			e := maps.Clone(at)
			e["type"], e["output_index"], e["item_id"] = "response."+typ, i, it.Get("id").String()
			for j := 0; j < len(members); j += 2 {
				e[members[j].(string)] = members[j+1]
			}
			out = append(out, e)
		}
		add("output_item.added", object{}, "item", json.RawMessage(opened(it)))
		switch it.Get("type").String() {
		case "reasoning":
			for j, part := range it.Get("summary").Array() {
				at := object{"summary_index": j}
				add("reasoning_summary_part.added", at, "part", object{"type": "summary_text", "text": ""})
				text(add, at, "reasoning_summary_text", "text", part)
				add("reasoning_summary_part.done", at, "part", json.RawMessage(part.Raw))
			}
		case "web_search_call":
			for _, stage := range []string{"in_progress", "searching", "completed"} {
				add("web_search_call."+stage, object{})
			}
		case "message":
			for j, part := range it.Get("content").Array() {
				at := object{"content_index": j}
				add("content_part.added", at, "part", json.RawMessage(set(part.Raw, "text", `""`, "refusal", `""`, "annotations", `[]`)))
				if part.Get("refusal").Exists() {
					text(add, at, "refusal", "refusal", part)
				} else {
					text(add, at, "output_text", "text", part)
				}
				add("content_part.done", at, "part", json.RawMessage(part.Raw))
			}
		}
		add("output_item.done", object{}, "item", json.RawMessage(it.Raw))
	}
	return out
}

// opened is an item as its first event shows it. Its encrypted content is not
// the final one: only a finished item can be sent back.
func opened(it gjson.Result) string {
	raw := set(it.Raw, "content", `[]`, "summary", `[]`, "encrypted_content", `"gAAAAABunfinished"`)
	raw, _ = sjson.Delete(raw, "action") // The path is valid.
	return set(raw, "status", `"in_progress"`)
}

// text adds the deltas of a text with the annotations that end there, and the
// whole text. It is the given field of part.
func text(add func(typ string, at object, members ...any), at object, kind, field string, part gjson.Result) {
	annotations := part.Get("annotations").Array()
	var stops []int
	for _, a := range annotations {
		stops = append(stops, int(a.Get("end_index").Int()))
	}
	whole := part.Get(field).String()
	pos, next := 0, 0
	for _, delta := range chunks(whole, stops) {
		add(kind+".delta", at, "delta", delta)
		pos += utf8.RuneCountInString(delta)
		for ; next < len(stops) && stops[next] <= pos; next++ {
			add(kind+".annotation.added", at, "annotation_index", next, "annotation", json.RawMessage(annotations[next].Raw))
		}
	}
	add(kind+".done", at, field, whole)
}

// set replaces those of the members that a JSON object has.
func set(raw string, members ...string) string {
	for i := 0; i < len(members); i += 2 {
		if gjson.Get(raw, members[i]).Exists() {
			raw, _ = sjson.SetRaw(raw, members[i], members[i+1]) // The paths are valid.
		}
	}
	return raw
}

// chunks cuts a text into deltas of a word or two, and at the stops, which are
// counted in characters.
func chunks(s string, stops []int) []string {
	var out []string
	c := []rune(s)
	start := 0
	for i := range c {
		size := i + 1 - start
		if size >= 18 || size >= 6 && (c[i] == ' ' || c[i] >= utf8.RuneSelf) || slices.Contains(stops, i+1) || i+1 == len(c) {
			out = append(out, string(c[start:i+1]))
			start = i + 1
		}
	}
	return out
}

// stream sends events, numbered from 0.
func (x *exchange) stream(begin []object, more ...object) {
	var payloads []string
	for i, e := range append(begin, more...) {
		e["sequence_number"] = i
		payloads = append(payloads, string(encode(e)))
	}
	x.sendEvents(payloads)
}

// sendEvents sends payloads as server-sent events, with the pauses and the early
// end of the step.
func (x *exchange) sendEvents(payloads []string) {
	x.w.Header().Set("Content-Type", sseType)
	ok := x.write(nil)
	for i, data := range payloads {
		if x.step.stop != "" && i >= x.step.stopAfter {
			switch x.step.stop {
			case "cut":
				x.cut()
			case "hang":
				x.hang()
			}
			return
		}
		if !ok || i > 0 && !x.pause(x.step.slow) {
			return
		}
		ok = x.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", gjson.Get(data, "type").String(), data))
	}
	x.done = true // A client that leaves after the last event misses nothing.
}
