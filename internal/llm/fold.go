package llm

import (
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
// The SDK's types for events and items have 10 and 4 KB. They are passed by
// reference and not kept, so that waiting for the next event takes little memory.
type fold struct {
	feed  *feed
	items map[int64]*outputItem // by output_index
	done  []string              // complete items as they were received
}

// outputItem is an item whose blocks are being written.
type outputItem struct {
	typ    string // "" before the item itself was received
	id     string
	blocks []*block
	search Search // what was reported last
	ended  bool
}

type block struct {
	index   int
	kind    string
	content int64  // content_index of a text, else 0
	sent    []byte // all deltas
	ended   bool
}

func newFold(f *feed) *fold {
	return &fold{feed: f, items: map[int64]*outputItem{}}
}

// read reads a stream up to the event that ends it.
func (f *fold) read(stream *ssestream.Stream[json.RawMessage]) (*Response, error) {
	for stream.Next() {
		if r, err := f.take(stream.Current()); r != nil || err != nil {
			return r, err
		}
	}
	err := stream.Err()
	if _, bad := errors.AsType[*json.SyntaxError](err); bad || err == nil {
		return nil, &Error{Kind: KindConnection, Message: "the stream ended before the response did", Err: err}
	}
	return nil, err
}

// take handles one event. It returns a response or an error when the event
// ends the stream.
func (f *fold) take(data []byte) (*Response, error) {
	ev := &responses.ResponseStreamEventUnion{}
	if err := ev.UnmarshalJSON(data); err != nil {
		return nil, err
	}
	item := func() *outputItem { return f.item(ev.OutputIndex, ev.ItemID) }
	if strings.HasPrefix(ev.Type, "response.output_item.") && ev.Item.Type == "" {
		return nil, nil
	}
	switch ev.Type {
	case "response.output_item.added":
		f.added(ev.OutputIndex, &ev.Item)
	case "response.content_part.added":
		f.text(item(), ev.ContentIndex, ev.Part.Type)
	case "response.output_text.delta", "response.refusal.delta":
		f.delta(f.text(item(), ev.ContentIndex, ""), ev.Delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta",
		"response.reasoning.delta", "response.reasoning_summary.delta": // of compatible servers
		it := item()
		f.delta(f.open(it, BlockThinking, 0, it.id, ""), ev.Delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		f.delta(item().block(BlockToolUse, 0), ev.Delta) // without its item it has no name
	case "response.content_part.done":
		f.whole(f.text(item(), ev.ContentIndex, ev.Part.Type), ev.Part.Text+ev.Part.Refusal)
	case "response.output_item.done":
		f.done = append(f.done, ev.Item.RawJSON())
		f.end(ev.OutputIndex, &ev.Item)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.canceled":
		return f.final(ev)
	case "error":
		return nil, streamError(data)
	default:
		// Gateways put the type of an error where that of the event belongs.
		if ev.Message != "" && !strings.HasPrefix(ev.Type, "response.") {
			return nil, streamError(data)
		}
	}
	return nil, nil
}

// item returns the item at an output_index: some servers give it another id in
// each event. It is new when there is none yet.
func (f *fold) item(index int64, id string) *outputItem {
	it := f.items[index]
	if it == nil {
		it = &outputItem{id: id}
		f.items[index] = it
	}
	return it
}

// added starts an item, and its block unless it is a message. It replaces one
// that has ended: some servers give all items the index 0.
func (f *fold) added(index int64, item *responses.ResponseOutputItemUnion) *outputItem {
	it := f.item(index, item.ID)
	if it.ended {
		it = &outputItem{}
		f.items[index] = it
	}
	it.typ, it.id = item.Type, item.ID
	f.show(it, item, false)
	return it
}

// show starts the block of an item that is not a message, and reports what a
// search does once it says more than its kind.
func (f *fold) show(it *outputItem, item *responses.ResponseOutputItemUnion, complete bool) {
	switch it.typ {
	case "reasoning":
		f.open(it, BlockThinking, 0, item.ID, "")
	case "function_call", "custom_tool_call":
		if item.Name != "" || complete {
			f.open(it, BlockToolUse, 0, cmp.Or(item.CallID, item.ID), item.Name)
		}
	case "web_search_call":
		f.open(it, BlockSearch, 0, item.ID, "")
		s := Search{Action: item.Action.Type, Query: item.Action.Query, URL: item.Action.URL}
		if s.Query == "" && len(item.Action.Queries) > 0 {
			s.Query = item.Action.Queries[0]
		}
		if s != it.search && (complete || s != Search{Action: s.Action}) {
			it.search = s
			f.feed.send(s)
		}
	}
}

// end completes an item: what was not streamed of it follows in one piece, and
// its blocks stop.
func (f *fold) end(index int64, item *responses.ResponseOutputItemUnion) {
	it := f.item(index, item.ID)
	if it.ended && it.id == item.ID {
		return
	}
	if it.ended || it.typ == "" {
		it = f.added(index, item)
	}
	f.show(it, item, true)
	switch item.Type {
	case "message":
		for i := range item.Content {
			part := &item.Content[i]
			f.whole(f.text(it, int64(i), part.Type), part.Text+part.Refusal)
		}
	case "reasoning":
		var thoughts strings.Builder
		for _, part := range item.Summary {
			thoughts.WriteString(part.Text)
		}
		for i := range item.Content {
			thoughts.WriteString(item.Content[i].Text)
		}
		f.whole(it.block(BlockThinking, 0), thoughts.String())
	case "function_call":
		f.whole(it.block(BlockToolUse, 0), gjson.Get(item.RawJSON(), "arguments").String())
	case "custom_tool_call":
		f.whole(it.block(BlockToolUse, 0), item.Input)
	}
	it.ended = true
	for _, b := range it.blocks {
		f.stop(b)
	}
}

// settle completes the items of the final output that were not streamed to
// their end.
func (f *fold) settle(output []responses.ResponseOutputItemUnion) {
	none := len(f.items) == 0
	for i := range output {
		if it := f.items[int64(i)]; none || it != nil && !it.ended {
			f.end(int64(i), &output[i])
		}
	}
	f.feed.stopAll()
}

// text returns the block of a text part. It is nil for a part that is not text.
func (f *fold) text(it *outputItem, content int64, typ string) *block {
	switch typ {
	case "output_text", "refusal", "text", "": // without a type in a delta
		return f.open(it, BlockText, content, it.id, "")
	}
	return nil
}

// open returns a block of an item, which it starts when it is new.
func (f *fold) open(it *outputItem, kind string, content int64, id, name string) *block {
	b := it.block(kind, content)
	if b == nil && !it.ended {
		b = &block{index: f.feed.start(kind, id, name), kind: kind, content: content}
		it.blocks = append(it.blocks, b)
	}
	return b
}

func (it *outputItem) block(kind string, content int64) *block {
	for _, b := range it.blocks {
		if b.kind == kind && b.content == content {
			return b
		}
	}
	return nil
}

func (f *fold) delta(b *block, text string) {
	if b == nil || b.ended || text == "" {
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
	f.stop(b)
}

func (f *fold) stop(b *block) {
	b.ended = true
	f.feed.stop(b.index)
}

// final makes the response of the last event. Only when its output is empty it
// is filled with the items that were streamed: some servers leave it out there.
func (f *fold) final(ev *responses.ResponseStreamEventUnion) (*Response, error) {
	raw := cmp.Or(ev.Response.RawJSON(), "{}")
	status := strings.TrimPrefix(strings.Replace(ev.Type, "canceled", "cancelled", 1), "response.")
	if status == "failed" || status == "cancelled" || gjson.Get(raw, "status").Str == "" {
		raw, _ = sjson.Set(raw, "status", status)
	}
	if len(gjson.Get(raw, "output").Array()) == 0 && len(f.done) > 0 {
		raw, _ = sjson.SetRaw(raw, "output", "["+strings.Join(f.done, ",")+"]")
	}
	r, err := decodeResponse([]byte(raw), "text/event-stream")
	if err == nil {
		f.settle(r.Output)
	}
	return r, err
}
