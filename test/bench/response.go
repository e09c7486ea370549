package main

import (
	"fmt"
	"strings"

	"github.com/tidwall/gjson"
)

const (
	searches = 3
	events   = 400 // of a stream
)

// response is an answer of usual size: 20 paragraphs that cite a page each, and three searches.
func response() string {
	var text, annotations, sources []string
	for i := range 20 {
		page := fmt.Sprintf("https://example.org/weather/%d?utm_source=openai", i)
		text = append(text, fmt.Sprintf(
			"Snow falls in district %d until the evening, and the wind turns to the north ([weather](%s)).", i, page))
		annotations = append(annotations, fmt.Sprintf(
			`{"type":"url_citation","url":"%s","title":"Weather of district %d","start_index":0,"end_index":9}`, page, i))
		sources = append(sources, fmt.Sprintf(`{"type":"url","url":"https://example.org/found/%d"}`, i))
	}

	search := fmt.Sprintf(
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":`+
			`{"type":"search","query":"weather in Sapporo","sources":[%s]}},`,
		strings.Join(sources, ","))
	message := fmt.Sprintf(
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":`+
			`[{"type":"output_text","text":"%s","annotations":[%s]}]}`,
		strings.Join(text, `\n\n`), strings.Join(annotations, ","))
	return fmt.Sprintf(
		`{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[%s%s],`+
			`"usage":{"input_tokens":10,"output_tokens":10,"total_tokens":20}}`,
		strings.Repeat(search, searches), message)
}

// stream is the same response as a stream, whose text comes in pieces.
func stream(response string) string {
	var b strings.Builder
	add := func(event, members string, args ...any) {
		members = fmt.Sprintf(members, args...)
		fmt.Fprintf(&b, "event: %[1]s\ndata: {\"type\":\"%[1]s\",%[2]s}\n\n", event, members)
	}

	const item = `"output_index":3,"item":`
	const part = `"output_index":3,"item_id":"msg_1","content_index":0`
	message := gjson.Get(response, "output.#(type==message)")
	text := message.Get("content.0.text")

	add("response.created", `"response":{"id":"resp_1","status":"in_progress","output":[]}`)
	add("response.output_item.added",
		item+`{"type":"message","id":"msg_1","role":"assistant","content":[]}`)
	add("response.content_part.added", part+`,"part":{"type":"output_text","text":""}`)

	const deltas = events - 7
	all := text.String()
	for i := range deltas {
		piece := all[i*len(all)/deltas : (i+1)*len(all)/deltas]
		add("response.output_text.delta",
			part+`,"sequence_number":%d,"delta":%q,"logprobs":[],"obfuscation":"0123456789"`,
			i+3, piece)
	}

	add("response.output_text.done", part+`,"text":%s`, text.Raw)
	add("response.content_part.done", part+`,"part":%s`, message.Get("content.0").Raw)
	add("response.output_item.done", item+"%s", message.Raw)
	add("response.completed", `"response":%s`, response)
	return b.String()
}
