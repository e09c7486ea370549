package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
)

const searches = 3

// api answers as a row says.
type api struct {
	row
	contentType string
	text        string // with all text of the answer
	end         string // the events after it

	mu    sync.Mutex // guards the fields below
	begun int
	all   chan struct{} // closed when the next streams have all their text
}

func newAPI(r row) *api {
	a := &api{row: r, contentType: "application/json", text: response(1), all: make(chan struct{})}
	if r.events > 0 {
		a.contentType = "text/event-stream"
		a.text, a.end = stream(r.events)
	}
	return a
}

func (a *api) answer(w http.ResponseWriter, r *http.Request) {
	time.Sleep(a.hold)
	w.Header().Set("Content-Type", a.contentType)
	io.WriteString(w, a.text)
	if a.gather > 0 {
		http.NewResponseController(w).Flush()
		a.wait(r.Context())
	}
	io.WriteString(w, a.end)
}

// wait waits until as many streams as the row gathers have all their text.
func (a *api) wait(ctx context.Context) {
	a.mu.Lock()
	a.begun++
	all := a.all
	if a.begun%a.gather == 0 {
		close(all)
		a.all = make(chan struct{})
	}
	a.mu.Unlock()

	select {
	case <-all:
	case <-ctx.Done():
	}
}

// response is an answer: 20 paragraphs that cite a page each, which is the usual size, times n, and
// three searches.
func response(n int) string {
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
		strings.Repeat(strings.Join(text, `\n\n`), n), strings.Join(annotations, ","))
	return fmt.Sprintf(
		`{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[%s%s],`+
			`"usage":{"input_tokens":10,"output_tokens":10,"total_tokens":20}}`,
		strings.Repeat(search, searches), message)
}

// stream is a response as a stream of events, whose text comes in pieces, and the end of it.
func stream(events int) (text, end string) {
	var b strings.Builder
	add := func(event, members string, args ...any) {
		members = fmt.Sprintf(members, args...)
		fmt.Fprintf(&b, "event: %[1]s\ndata: {\"type\":\"%[1]s\",%[2]s}\n\n", event, members)
	}

	const item = `"output_index":3,"item":`
	const part = `"output_index":3,"item_id":"msg_1","content_index":0`
	body := response(max(1, events/400)) // a piece has the usual size
	message := gjson.Get(body, "output.#(type==message)")
	all := message.Get("content.0.text")

	add("response.created", `"response":{"id":"resp_1","status":"in_progress","output":[]}`)
	add("response.output_item.added",
		item+`{"type":"message","id":"msg_1","role":"assistant","content":[]}`)
	add("response.content_part.added", part+`,"part":{"type":"output_text","text":""}`)

	deltas := events - 7
	for i := range deltas {
		piece := all.Str[i*len(all.Str)/deltas : (i+1)*len(all.Str)/deltas]
		add("response.output_text.delta",
			part+`,"sequence_number":%d,"delta":%q,"logprobs":[],"obfuscation":"0123456789"`,
			i+3, piece)
	}

	text = b.String()
	b.Reset()
	add("response.output_text.done", part+`,"text":%s`, all.Raw)
	add("response.content_part.done", part+`,"part":%s`, message.Get("content.0").Raw)
	add("response.output_item.done", item+"%s", message.Raw)
	add("response.completed", `"response":%s`, body)
	return text, b.String()
}
