package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/openai/openai-go/v3/packages/ssestream"
)

const maxEvent = 32 << 20 // bytes of one event of a stream

// accumulator turns the events of one stream into those of a caller and, at its
// end, into the response. Unknown events and items are ignored here; the
// response keeps the items.
type accumulator struct {
	emitter *emitter
	blocks  map[blockKey]*block
	items   map[int]*streamed // by output_index
	indexes map[string]int    // output_index by item id
	done    []Item            // complete items
	size    int               // elements of done
	log     func([]byte)      // writes what came back to the debug log
}

// blockKey tells the blocks of a stream apart. Some servers give an item another
// id in each event, so that the output_index counts.
type blockKey struct {
	kind    string
	item    int // output_index
	content int // content_index of a text, else 0
}

// block is a block of a caller.
type block struct {
	index int // its number in the caller's events
	kind  string
	sent  []byte // all deltas
}

// streamed is an item that a stream has begun.
type streamed struct {
	ended  bool
	blocks []*block
}

func newAccumulator(e *emitter) *accumulator {
	return &accumulator{emitter: e, log: func([]byte) {}, blocks: map[blockKey]*block{}, items: map[int]*streamed{}, indexes: map[string]int{}}
}

// streamEvent is what the program needs of the events of a stream
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type streamEvent struct {
	Type         string
	OutputIndex  integer `json:"output_index"`
	ContentIndex integer `json:"content_index"`
	ItemID       string  `json:"item_id"`
	Delta        string
	Part         Part
	Item         Item
	Response     json.RawMessage
	Error        json.RawMessage
}

// read reads a stream up to the event that ends it. Events without a JSON object
// are skipped: some servers send them to keep a stream open.
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
		return nil, &Error{Kind: KindConnection, Message: "the stream ended before the response did"}
	}
	return nil, err
}

// take handles one event. It returns a response or an error when the event
// ends the stream.
func (a *accumulator) take(data []byte) (*Response, error) {
	var ev streamEvent
	err := decode(data, &ev)
	if errors.Is(err, errTooMany) {
		return nil, err
	}
	if err != nil {
		return nil, &Error{Kind: KindConnection, Message: "the stream ended before the response did, in an event that is not JSON", Err: err}
	}
	noError := []string{"", "null", "{}", `""`}
	if ev.Type == "error" || !slices.Contains(noError, string(ev.Error)) {
		return nil, streamError(data)
	}
	switch ev.Type {
	case "response.completed", "response.incomplete", "response.failed":
		return a.final(ev)
	}
	if ev.Type == "response.output_item.done" && ev.Item.Type != "" {
		a.log(ev.Item.Raw)
		a.done = append(a.done, ev.Item)
		a.size += 1 + ev.Item.size()
	}
	if a.emitter.watched() {
		a.show(ev)
	}
	if max(len(a.blocks), len(a.items), len(a.indexes), a.size) > maxElements {
		return nil, errTooMany
	}
	return nil, nil
}

// show passes an event on to the caller.
func (a *accumulator) show(ev streamEvent) {
	index, content := int(ev.OutputIndex), int(ev.ContentIndex)
	switch ev.Type {
	case "response.output_item.added":
		a.known(index, ev.Item.ID)
		a.start(index, ev.Item)
	case "response.output_item.done":
		if ev.Item.Type != "" {
			a.known(index, ev.Item.ID)
			a.end(index, ev.Item)
		}
	case "response.content_part.added":
		a.text(index, content, ev.ItemID, ev.Part)
	case "response.output_text.delta", "response.refusal.delta":
		a.delta(a.open(blockKey{BlockText, index, content}, ev.ItemID, ""), ev.Delta)
	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		a.delta(a.open(blockKey{BlockThinking, index, 0}, ev.ItemID, ""), ev.Delta)
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		a.delta(a.blocks[blockKey{BlockToolUse, index, 0}], ev.Delta) // without its item it has no name
	case "response.content_part.done":
		a.whole(a.text(index, content, ev.ItemID, ev.Part), ev.Part.Text+ev.Part.Refusal)
	}
}

// known remembers the id of an item.
func (a *accumulator) known(index int, id string) {
	if id != "" {
		a.indexes[id] = index
	}
}

// start starts the block of an item that has one only. A message has one for
// each text, which the API announces by itself.
func (a *accumulator) start(index int, item Item) *block {
	switch item.Type {
	case "reasoning":
		return a.open(blockKey{BlockThinking, index, 0}, item.ID, "")
	case "function_call", "custom_tool_call":
		return a.open(blockKey{BlockToolUse, index, 0}, item.CallID, item.Name)
	case "web_search_call":
		return a.open(blockKey{BlockSearch, index, 0}, item.ID, "")
	}
	return nil
}

// end completes an item: what was not streamed of it follows in one piece, and
// its blocks stop.
func (a *accumulator) end(index int, item Item) {
	b := a.start(index, item)
	state := a.item(index)
	if state.ended {
		return
	}
	switch item.Type {
	case "message":
		for i, part := range item.Content {
			a.whole(a.text(index, i, item.ID, part), part.Text+part.Refusal)
		}
	case "reasoning":
		a.whole(b, item.thoughts())
	case "function_call", "custom_tool_call":
		a.whole(b, item.toolInput())
	case "web_search_call":
		// The API says what a search does when it is done.
		if s := item.search(); s != (Search{}) {
			a.emitter.send(s)
		}
	}
	state.ended = true
	for _, b := range state.blocks {
		a.emitter.stop(b.index)
	}
}

// settle completes the items of the final output that were not streamed to
// their end. It finds an item by its id. An item without a known id takes the
// place of the streamed one at its position, unless the output has that one
// somewhere else: the output may lack items that were streamed.
func (a *accumulator) settle(output []Item) {
	found := map[int]bool{}
	for _, item := range output {
		if index, ok := a.indexes[item.ID]; ok {
			found[index] = true
		}
	}
	for position, item := range output {
		index, ok := a.indexes[item.ID]
		if !ok && found[position] {
			index = -1 - position // a place of its own
		} else if !ok {
			index = position
		}
		a.end(index, item)
	}
	a.emitter.stopAll()
}

// item returns the item with that output_index, which may be new.
func (a *accumulator) item(index int) *streamed {
	s := a.items[index]
	if s == nil {
		s = &streamed{}
		a.items[index] = s
	}
	return s
}

// text returns the block of a text part. It is nil for a part that is not text.
func (a *accumulator) text(item, content int, id string, part Part) *block {
	if !part.IsText() && part.Type != "refusal" {
		return nil
	}
	return a.open(blockKey{BlockText, item, content}, id, "")
}

// open returns a block, which it starts when it is new. It is nil if the item
// has ended without it.
func (a *accumulator) open(key blockKey, id, name string) *block {
	b := a.blocks[key]
	item := a.item(key.item)
	if b == nil && !item.ended {
		b = &block{index: a.emitter.start(key.kind, id, name), kind: key.kind}
		a.blocks[key] = b
		a.known(key.item, id)
		item.blocks = append(item.blocks, b)
	}
	return b
}

// delta adds text to a block that has not stopped.
func (a *accumulator) delta(b *block, text string) {
	if b == nil || text == "" || !a.emitter.open[b.index] {
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
	a.emitter.send(d)
}

// whole ends a block with what is missing of its text.
func (a *accumulator) whole(b *block, text string) {
	if b == nil || !a.emitter.open[b.index] {
		return
	}
	sent := len(b.sent)
	if len(text) >= sent && text[:sent] == string(b.sent) { // compared without a copy
		a.delta(b, text[sent:])
	}
	a.emitter.stop(b.index)
}

// final makes the response of the last event.
func (a *accumulator) final(ev streamEvent) (*Response, error) {
	data := ev.Response
	if !isObject(data) {
		data = json.RawMessage("{}")
	}
	a.log(data)
	status := strings.TrimPrefix(ev.Type, "response.")
	r, err := decodeResponse(data, "text/event-stream", status, a.done)
	if err == nil && a.emitter.watched() {
		a.settle(r.Output)
	}
	return r, err
}
