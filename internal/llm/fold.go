package llm

import (
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// fold turns the events of one stream into those of a caller and, at its end,
// into the response. Unknown events and items are ignored here; the response
// keeps the items.
type fold struct {
	feed  *feed
	items map[int64]*outputItem // by output_index
	ended map[string]bool       // ids of the items that are complete
	done  []doneItem
}

// outputItem is an item whose blocks are being written.
type outputItem struct {
	typ    string   // "" before the item itself was received
	block  *block   // of reasoning, a tool or a search
	texts  []*block // of a message
	search Search   // what was reported last
	ended  bool
}

type block struct {
	index   int
	kind    string
	content int64 // content_index of a text
	begun   bool  // it has a delta
	ended   bool
}

// doneItem is a complete item as it was received.
type doneItem struct {
	index int64
	raw   string
}

func newFold(f *feed) *fold {
	return &fold{feed: f, items: map[int64]*outputItem{}, ended: map[string]bool{}}
}

// read reads a stream up to the event that ends it.
func (f *fold) read(stream *ssestream.Stream[responses.ResponseStreamEventUnion]) (*Response, error) {
	defer stream.Close()
	for stream.Next() {
		if r, err := f.take(stream.Current()); r != nil || err != nil {
			return r, err
		}
	}
	err := stream.Err()
	_, badType := errors.AsType[*json.UnmarshalTypeError](err)
	if _, bad := errors.AsType[*json.SyntaxError](err); bad || badType || err == nil {
		return nil, &Error{Kind: KindConnection, Message: "the stream ended before the response did", Err: err}
	}
	return nil, err
}

// take handles one event. It returns a response or an error when the event ends
// the stream.
func (f *fold) take(ev responses.ResponseStreamEventUnion) (*Response, error) {
	switch ev.Type {
	case "response.output_item.added":
		f.added(ev.OutputIndex, ev.Item)
	case "response.content_part.added":
		f.text(ev.OutputIndex, ev.ContentIndex, ev.ItemID, ev.Part.Type)
	case "response.output_text.delta", "response.refusal.delta":
		f.delta(f.text(ev.OutputIndex, ev.ContentIndex, ev.ItemID, ""), ev.Delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta",
		"response.reasoning.delta", "response.reasoning_summary.delta": // of compatible servers
		f.delta(f.thinking(ev.OutputIndex, ev.ItemID), ev.Delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		if it := f.items[ev.OutputIndex]; it != nil { // else the input comes with the whole item
			f.delta(it.block, ev.Delta)
		}
	case "response.content_part.done":
		b := f.text(ev.OutputIndex, ev.ContentIndex, ev.ItemID, ev.Part.Type)
		f.whole(b, ev.Part.Text+ev.Part.Refusal)
	case "response.output_item.done":
		f.done = append(f.done, doneItem{ev.OutputIndex, ev.Item.RawJSON()})
		f.end(ev.OutputIndex, ev.Item)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.canceled":
		return f.final(ev)
	case "error":
		return nil, streamError([]byte(ev.RawJSON()))
	default:
		return nil, foreignError(ev)
	}
	return nil, nil
}

// foreignError is the error of an event that is not one of this API; nil for
// one that is only unknown. Gateways put their error where the type belongs.
func foreignError(ev responses.ResponseStreamEventUnion) error {
	switch object := gjson.Get(ev.RawJSON(), "object").Str; {
	case strings.HasPrefix(ev.Type, "response."):
		return nil
	case ev.Message != "":
		return streamError([]byte(ev.RawJSON()))
	case ev.Type == "" && object != "":
		return &Error{Kind: KindBadResponse, Message: "the stream is one of " + strconv.Quote(text.Truncate(object, 60))}
	}
	return nil
}

// item returns the item at an index, one of unknown type when it was not added
// yet.
func (f *fold) item(index int64) *outputItem {
	it := f.items[index]
	if it == nil {
		it = &outputItem{}
		f.items[index] = it
	}
	return it
}

// added starts an item, and its block unless it is a message. An index that is
// used again belongs to the new item: some servers send 0 for all of them.
func (f *fold) added(index int64, item responses.ResponseOutputItemUnion) *outputItem {
	it := f.item(index)
	if it.typ != "" {
		f.close(it)
		it = &outputItem{}
		f.items[index] = it
	}
	it.typ = item.Type
	switch {
	case it.block != nil:
	case it.typ == "reasoning":
		it.block = f.start(BlockThinking, item.ID, "")
	case it.typ == "function_call" || it.typ == "custom_tool_call":
		it.block = f.start(BlockToolUse, cmp.Or(item.CallID, item.ID), item.Name)
	case it.typ == "web_search_call":
		it.block = f.start(BlockSearch, item.ID, "")
	}
	f.report(it, item, false)
	return it
}

// end completes an item: what was not streamed of it follows in one piece, and
// its blocks stop.
func (f *fold) end(index int64, item responses.ResponseOutputItemUnion) {
	it := f.item(index)
	if f.ended[item.ID] {
		return
	}
	if it.ended || it.typ != item.Type {
		it = f.added(index, item)
	}
	switch item.Type {
	case "message":
		for i, part := range item.Content {
			f.whole(f.text(index, int64(i), item.ID, part.Type), part.Text+part.Refusal)
		}
	case "reasoning":
		if !it.block.begun {
			for _, part := range item.Summary {
				f.delta(it.block, part.Text)
			}
			for _, part := range item.Content {
				f.delta(it.block, part.Text)
			}
		}
	case "function_call":
		f.whole(it.block, gjson.Get(item.RawJSON(), "arguments").String())
	case "custom_tool_call":
		f.whole(it.block, item.Input)
	}
	f.report(it, item, true)
	f.close(it)
	if item.ID != "" {
		f.ended[item.ID] = true
	}
}

// settle completes the items of the final output that were not streamed.
func (f *fold) settle(output []responses.ResponseOutputItemUnion) {
	for i, item := range output {
		if it := f.items[int64(i)]; it == nil || !it.ended || it.typ != item.Type {
			f.end(int64(i), item)
		}
	}
	f.feed.stopAll()
}

func (f *fold) close(it *outputItem) {
	it.ended = true
	for _, b := range append(it.texts, it.block) {
		f.stop(b)
	}
}

// text returns the block of a text part, which it starts when it is new. It is
// nil for a part that is not text.
func (f *fold) text(index, content int64, id, typ string) *block {
	it := f.item(index)
	if it.ended || it.typ != "" && it.typ != "message" {
		return nil
	}
	for _, b := range it.texts {
		if b.content == content {
			return b
		}
	}
	switch typ {
	case "output_text", "refusal", "text", "": // without a type in a delta
	default:
		return nil
	}
	b := f.start(BlockText, id, "")
	b.content = content
	it.texts = append(it.texts, b)
	return b
}

// thinking returns the block of a reasoning item. Servers that think inside a
// message get one for it.
func (f *fold) thinking(index int64, id string) *block {
	it := f.item(index)
	if it.block == nil && !it.ended {
		it.block = f.start(BlockThinking, id, "")
	}
	return it.block
}

// report sends what a search does, once it says more than its kind.
func (f *fold) report(it *outputItem, item responses.ResponseOutputItemUnion, last bool) {
	if it.typ != "web_search_call" {
		return
	}
	s := Search{Action: item.Action.Type, Query: item.Action.Query, URL: item.Action.URL}
	if s.Query == "" && len(item.Action.Queries) > 0 {
		s.Query = item.Action.Queries[0]
	}
	if s == it.search || s == (Search{}) || s == (Search{Action: s.Action}) && !last {
		return
	}
	it.search = s
	f.feed.send(s)
}

func (f *fold) start(kind, id, name string) *block {
	return &block{index: f.feed.start(kind, id, name), kind: kind}
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
	b.begun = true
	f.feed.send(d)
}

// whole ends a block. All of its text is sent where no delta was.
func (f *fold) whole(b *block, text string) {
	if b != nil && !b.begun {
		f.delta(b, text)
	}
	f.stop(b)
}

func (f *fold) stop(b *block) {
	if b != nil {
		b.ended = true
		f.feed.stop(b.index)
	}
}

// final makes the response of the last event. Only when its output is empty it
// is filled with the items that were streamed: some servers leave it out there.
func (f *fold) final(ev responses.ResponseStreamEventUnion) (*Response, error) {
	raw := cmp.Or(ev.Response.RawJSON(), "{}")
	status := strings.TrimPrefix(strings.Replace(ev.Type, "canceled", "cancelled", 1), "response.")
	if status == "failed" || status == "cancelled" || gjson.Get(raw, "status").Str == "" {
		raw, _ = sjson.Set(raw, "status", status)
	}
	if len(gjson.Get(raw, "output").Array()) == 0 && len(f.done) > 0 {
		slices.SortStableFunc(f.done, func(a, b doneItem) int { return cmp.Compare(a.index, b.index) })
		for _, d := range f.done {
			raw, _ = sjson.SetRaw(raw, "output.-1", d.raw)
		}
	}
	r, err := decodeResponse([]byte(raw), "text/event-stream")
	if err == nil {
		f.settle(r.Output)
	}
	return r, err
}
