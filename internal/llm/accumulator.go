package llm

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

const maxEvent = 32 << 20 // bytes of one event of a stream

// accumulator turns the events of one stream into those of a caller and, at its end, into the
// response. Unknown events and items are ignored here; the response keeps the items. It numbers the
// items from 1 on, because some servers give an item another id in each event, or all items the
// output_index 0.
type accumulator struct {
	emitter *emitter
	log     func([]byte)    // writes what came back to the debug log
	begun   int             // number of the last item
	current map[float64]int // item of each output_index
	ids     map[string]int  // items by id
	types   map[int]string  // of the items that are known
	blocks  map[blockKey]*block
	done    []Item // complete items
	size    int    // elements of done
}

type blockKey struct {
	item    int
	kind    string
	content float64 // content_index of a text, else 0
}

// block is a block of a caller.
type block struct {
	BlockStart
	open bool
	sent strings.Builder // all deltas
}

func newAccumulator(e *emitter, log func([]byte)) *accumulator {
	return &accumulator{emitter: e, log: log, current: map[float64]int{}, ids: map[string]int{}, types: map[int]string{}, blocks: map[blockKey]*block{}}
}

// streamEvent is what the program needs of the events of a stream
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type streamEvent struct {
	Type         string
	OutputIndex  float64 `json:"output_index"` // some servers write 3.0
	ContentIndex float64 `json:"content_index"`
	ItemID       string  `json:"item_id"`
	Delta        string
	Part         Part
	Item         Item
	Response     json.RawMessage
	Error        json.RawMessage
}

// read reads a stream up to the event that ends it. Events without a JSON object are skipped: some
// servers send them to keep a stream open.
func (a *accumulator) read(ctx context.Context, stream ssestream.Decoder) (*Response, error) {
	for ctx.Err() == nil && stream.Next() { // the decoder may have read ahead
		data := stream.Event().Data
		if len(data) > maxEvent {
			return nil, bufio.ErrTooLong
		}
		if !isObject(data) {
			continue
		}
		r, err := a.take(data)
		if r != nil || err != nil {
			return r, err
		}
	}
	err := stream.Err()
	if err == nil {
		err = errors.New("the stream ended before the response did")
	}
	return nil, err
}

// take handles one event. It returns a response or an error when the event ends the stream.
func (a *accumulator) take(data []byte) (*Response, error) {
	var ev streamEvent
	err := decode(data, &ev)
	if err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	noError := []string{"", "null", "{}", `""`}
	if ev.Type == "error" || !slices.Contains(noError, string(ev.Error)) {
		return nil, failure(data, "the stream ended with an error")
	}
	switch ev.Type {
	case "response.completed", "response.incomplete", "response.failed":
		if !isObject(ev.Response) {
			ev.Response = []byte("{}")
		}
		return a.finish(ev.Response, "text/event-stream", strings.TrimPrefix(ev.Type, "response."))
	case "response.output_item.done":
		if ev.Item.Type != "" {
			a.log(ev.Item.Raw)
			a.done = append(a.done, ev.Item)
			a.size += 1 + ev.Item.size()
		}
	}
	if a.emitter.watched() {
		a.show(ev)
	}
	if max(len(a.blocks), len(a.ids), a.begun, a.size) > maxElements {
		return nil, tooLarge(tooMany)
	}
	return nil, nil
}

// finish makes the response of a response object, which may be the whole answer, and shows what
// was not streamed of it.
func (a *accumulator) finish(data []byte, contentType, status string) (*Response, error) {
	a.log(data)
	r, err := decodeResponse(data, contentType, status, a.done)
	if err == nil && a.emitter.watched() {
		a.settle(r.Output)
	}
	return r, err
}

// show passes an event on to the caller.
func (a *accumulator) show(ev streamEvent) {
	switch ev.Type {
	case "response.output_item.added":
		a.start(a.number(ev), ev.Item)
	case "response.output_item.done":
		a.end(a.number(ev), ev.Item)
		delete(a.current, ev.OutputIndex)
	case "response.content_part.added":
		a.text(a.number(ev), ev.ContentIndex, ev.ItemID, ev.Part)
	case "response.output_text.delta", "response.refusal.delta":
		a.delta(a.open(blockKey{a.number(ev), BlockText, ev.ContentIndex}, ev.ItemID, ""), ev.Delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		a.delta(a.open(blockKey{a.number(ev), BlockThinking, 0}, ev.ItemID, ""), ev.Delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		a.delta(a.blocks[blockKey{a.number(ev), BlockToolUse, 0}], ev.Delta) // without its item it has no name
	case "response.content_part.done":
		a.whole(a.text(a.number(ev), ev.ContentIndex, ev.ItemID, ev.Part), ev.Part.Text+ev.Part.Refusal)
	}
}

// number returns the number of the item that an event is about, which may be new.
func (a *accumulator) number(ev streamEvent) int {
	item := a.current[ev.OutputIndex]
	if item == 0 && ev.Type != "response.output_item.added" {
		item = a.ids[cmp.Or(ev.ItemID, ev.Item.ID)]
	}
	if item == 0 {
		a.begun++
		item = a.begun
		a.current[ev.OutputIndex] = item
	}
	return item
}

// start starts the block of an item that has one only. A message has one for each text, which the
// API announces by itself.
func (a *accumulator) start(item int, is Item) *block {
	a.know(item, is.ID)
	a.types[item] = is.Type
	switch is.Type {
	case "reasoning":
		return a.open(blockKey{item, BlockThinking, 0}, is.ID, "")
	case "function_call", "custom_tool_call":
		return a.open(blockKey{item, BlockToolUse, 0}, is.CallID, is.Name)
	case "web_search_call":
		return a.open(blockKey{item, BlockSearch, 0}, is.ID, "")
	}
	return nil
}

// know remembers the id of an item.
func (a *accumulator) know(item int, id string) {
	if id != "" {
		a.ids[id] = item
	}
}

// end completes an item: what was not streamed of it follows as one delta, and its blocks stop.
func (a *accumulator) end(item int, is Item) {
	b := a.start(item, is)
	switch is.Type {
	case "message":
		for i, part := range is.Content {
			a.whole(a.text(item, float64(i), is.ID, part), part.Text+part.Refusal)
		}
	case "reasoning":
		a.whole(b, is.thoughts())
	case "function_call", "custom_tool_call":
		a.whole(b, is.toolInput())
	case "web_search_call": // the API says what a search does when it is done
		s := is.search()
		if b.open && s != (Search{}) {
			a.emitter.send(s)
		}
		a.whole(b, "")
	}
}

// settle completes the items of the final output that were not streamed to their end. It finds an
// item by its id. One without a known id is the next of its type that no id names: the output may
// lack items that were streamed, and some servers give them other ids there.
func (a *accumulator) settle(output []Item) {
	named := map[int]bool{}
	for _, is := range output {
		named[a.ids[is.ID]] = true
	}
	next := 0
	for _, is := range output {
		item := a.ids[is.ID]
		for item == 0 {
			next++
			if next > a.begun || !named[next] && cmp.Or(a.types[next], is.Type) == is.Type {
				item = next
			}
		}
		a.end(item, is)
	}
}

// text returns the block of a text part. It is nil for a part that is not text.
func (a *accumulator) text(item int, content float64, id string, part Part) *block {
	if !part.IsText() && part.Type != "refusal" {
		return nil
	}
	return a.open(blockKey{item, BlockText, content}, id, "")
}

// open returns a block, which it starts when it is new.
func (a *accumulator) open(key blockKey, id, name string) *block {
	b := a.blocks[key]
	if b == nil {
		b = &block{BlockStart: BlockStart{Index: a.emitter.next, Kind: key.kind, ID: id, Name: name}, open: true}
		a.emitter.next++
		a.blocks[key] = b
		a.know(key.item, id)
		a.emitter.send(b.BlockStart)
	}
	return b
}

// delta adds text to a block that has not stopped.
func (a *accumulator) delta(b *block, text string) {
	if b == nil || !b.open || text == "" {
		return
	}
	d := BlockDelta{Index: b.Index}
	switch b.Kind {
	case BlockText:
		d.Text = text
	case BlockThinking:
		d.Thinking = text
	case BlockToolUse:
		d.InputJSON = text
	}
	b.sent.WriteString(text)
	a.emitter.send(d)
}

// whole stops a block after what is missing of its text, once.
func (a *accumulator) whole(b *block, text string) {
	if b == nil || !b.open {
		return
	}
	missing, ok := strings.CutPrefix(text, b.sent.String())
	if ok {
		a.delta(b, missing)
	}
	b.open = false
	a.emitter.send(BlockStop{b.Index})
}

// stopAll stops the blocks that are still open, in their order.
func (a *accumulator) stopAll() {
	for _, b := range slices.SortedFunc(maps.Values(a.blocks), func(x, y *block) int { return x.Index - y.Index }) {
		a.whole(b, "")
	}
}
