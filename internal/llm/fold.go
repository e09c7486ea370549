package llm

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// fold turns the events of one stream into those of a caller and, at its end,
// into the response. Unknown events and items are ignored here; the response
// keeps the items.
//
// The SDK's types for events and items have 10 and 4 KB, so they are passed by
// reference and not kept.
type fold struct {
	feed   *feed
	blocks []*block       // all that have started
	ended  map[int64]bool // complete items, by output_index
	done   []string       // complete items as they were received
}

// block is a block of a caller. Its item is known by the output_index: some
// servers give it another id in each event.
type block struct {
	index   int // the caller's number
	kind    string
	item    int64
	content int64  // content_index of a text, else 0
	sent    []byte // all deltas
}

func newFold(f *feed) *fold { return &fold{feed: f, ended: map[int64]bool{}} }

// read reads a stream up to the event that ends it.
func (f *fold) read(stream *ssestream.Stream[json.RawMessage]) (*Response, error) {
	for stream.Next() {
		if r, err := f.take(stream.Current()); r != nil || err != nil {
			return r, err
		}
	}
	err := stream.Err()
	if _, bad := errors.AsType[*json.SyntaxError](err); bad {
		return nil, &Error{Kind: KindConnection, Message: "the stream ended before the response did, in an event that is not JSON", Err: err}
	}
	if err == nil {
		return nil, &Error{Kind: KindConnection, Message: "the stream ended before the response did"}
	}
	return nil, err
}

// events skips events without a JSON object, which some servers send to keep a
// stream open and which the SDK takes for broken JSON.
type events struct{ ssestream.Decoder }

func (e events) Next() bool {
	for e.Decoder.Next() {
		if bytes.HasPrefix(bytes.TrimSpace(e.Event().Data), []byte("{")) {
			return true
		}
	}
	return false
}

// take handles one event. It returns a response or an error when the event
// ends the stream.
func (f *fold) take(data []byte) (*Response, error) {
	ev := &responses.ResponseStreamEventUnion{}
	if err := ev.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	switch ev.Type {
	case "response.output_item.added":
		f.start(ev.OutputIndex, &ev.Item)
	case "response.content_part.added":
		f.text(ev.OutputIndex, ev.ContentIndex, ev.ItemID, ev.Part.Type)
	case "response.output_text.delta", "response.refusal.delta":
		f.delta(f.open(BlockText, ev.OutputIndex, ev.ContentIndex, ev.ItemID, ""), ev.Delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		f.delta(f.open(BlockThinking, ev.OutputIndex, 0, ev.ItemID, ""), ev.Delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		f.delta(f.find(BlockToolUse, ev.OutputIndex, 0), ev.Delta) // without its item it has no name
	case "response.content_part.done":
		f.whole(f.text(ev.OutputIndex, ev.ContentIndex, ev.ItemID, ev.Part.Type), ev.Part.Text+ev.Part.Refusal)
	case "response.output_item.done":
		if ev.Item.Type != "" {
			f.done = append(f.done, ev.Item.RawJSON())
			f.end(ev.OutputIndex, &ev.Item)
		}
	case "response.completed", "response.incomplete", "response.failed":
		return f.final(ev)
	case "error":
		return nil, streamError(data)
	}
	return nil, nil
}

// start starts the block of an item that has one only. A message has one for
// each text, which the API announces by itself.
func (f *fold) start(index int64, item *responses.ResponseOutputItemUnion) {
	switch item.Type {
	case "reasoning":
		f.open(BlockThinking, index, 0, item.ID, "")
	case "function_call", "custom_tool_call":
		f.open(BlockToolUse, index, 0, item.CallID, item.Name)
	case "web_search_call":
		f.open(BlockSearch, index, 0, item.ID, "")
	}
}

// end completes an item: what was not streamed of it follows in one piece, and
// its blocks stop.
func (f *fold) end(index int64, item *responses.ResponseOutputItemUnion) {
	f.start(index, item)
	switch item.Type {
	case "message":
		for i := range item.Content {
			part := &item.Content[i]
			f.whole(f.text(index, int64(i), item.ID, part.Type), part.Text+part.Refusal)
		}
	case "reasoning":
		var thoughts strings.Builder
		for _, part := range item.Summary {
			thoughts.WriteString(part.Text)
		}
		for i := range item.Content {
			thoughts.WriteString(item.Content[i].Text)
		}
		f.whole(f.find(BlockThinking, index, 0), thoughts.String())
	case "function_call", "custom_tool_call":
		f.whole(f.find(BlockToolUse, index, 0), toolInput(item))
	case "web_search_call":
		// The API says what a search does when it is done.
		s := Search{Action: item.Action.Type, Query: item.Action.Query, URL: item.Action.URL}
		if s.Query == "" && len(item.Action.Queries) > 0 {
			s.Query = item.Action.Queries[0]
		}
		if s != (Search{}) && !f.ended[index] {
			f.feed.send(s)
		}
	}
	f.ended[index] = true
	for _, b := range f.blocks {
		if b.item == index {
			f.feed.stop(b.index)
		}
	}
}

// toolInput is the input of a call as the model wrote it. The SDK's union has
// arguments of several types.
func toolInput(item *responses.ResponseOutputItemUnion) string {
	if item.Type == "custom_tool_call" {
		return item.Input
	}
	return gjson.Get(item.RawJSON(), "arguments").String()
}

// settle completes the items of the final output that were not streamed to
// their end.
func (f *fold) settle(output []responses.ResponseOutputItemUnion) {
	for i := range output {
		if !f.ended[int64(i)] {
			f.end(int64(i), &output[i])
		}
	}
	f.feed.stopAll()
}

// text returns the block of a text part. It is nil for a part that is not text.
func (f *fold) text(item, content int64, id, typ string) *block {
	if typ == "output_text" || typ == "refusal" || typ == "text" {
		return f.open(BlockText, item, content, id, "")
	}
	return nil
}

// open returns a block, which it starts when it is new. It is nil if the item
// has ended without it.
func (f *fold) open(kind string, item, content int64, id, name string) *block {
	b := f.find(kind, item, content)
	if b == nil && !f.ended[item] {
		b = &block{index: f.feed.start(kind, id, name), kind: kind, item: item, content: content}
		f.blocks = append(f.blocks, b)
	}
	return b
}

func (f *fold) find(kind string, item, content int64) *block {
	for _, b := range f.blocks {
		if b.kind == kind && b.item == item && b.content == content {
			return b
		}
	}
	return nil
}

// delta adds text to a block that has not stopped.
func (f *fold) delta(b *block, text string) {
	if b == nil || text == "" || !f.feed.isOpen(b.index) {
		return
	}
	d := BlockDelta{Index: b.index}
	switch b.kind {
	case BlockText:
		d.Text = text
	case BlockThinking:
		d.Thinking = text
	case BlockToolUse:
		d.InputJSON = text
	}
	b.sent = append(b.sent, text...)
	f.feed.send(d)
}

// whole ends a block with what is missing of its text.
func (f *fold) whole(b *block, text string) {
	if b == nil {
		return
	}
	if rest, ok := strings.CutPrefix(text, string(b.sent)); ok {
		f.delta(b, rest)
	}
	f.feed.stop(b.index)
}

// final makes the response of the last event. Only when its output is empty it
// is filled with the items that were streamed: some servers leave it out there.
func (f *fold) final(ev *responses.ResponseStreamEventUnion) (*Response, error) {
	raw := cmp.Or(ev.Response.RawJSON(), "{}")
	raw, _ = sjson.Set(raw, "status", strings.TrimPrefix(ev.Type, "response."))
	if len(gjson.Get(raw, "output").Array()) == 0 && len(f.done) > 0 {
		raw, _ = sjson.SetRaw(raw, "output", "["+strings.Join(f.done, ",")+"]")
	}
	r, err := decodeResponse([]byte(raw), "text/event-stream")
	if err == nil {
		f.settle(r.Output)
	}
	return r, err
}
