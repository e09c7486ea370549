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
	"github.com/tidwall/gjson"
)

const maxEvent = 32 << 20 // bytes of one event of a stream

// itemNumber numbers the items of a stream from 1 on, in the order in which they begin. The
// accumulator needs its own numbers, because some servers give an item another id in each event, or
// all items the output_index 0.
type itemNumber int

const unknownItem itemNumber = 0

// accumulator turns the events of one stream into those of a caller and, at its end, into the
// response. Unknown events and items are ignored here; the response keeps the items.
//
// The numbers in byIndex, byID, types and blocks are at most last. Without a caller these maps stay
// empty. A block is in blocks from its start on, also after its stop.
type accumulator struct {
	emitter *emitter
	log     func([]byte) // writes what came back to the debug log

	last    itemNumber
	byIndex map[float64]itemNumber // the current item of each output_index
	byID    map[string]itemNumber
	types   map[itemNumber]string // of the items that are known
	blocks  map[blockKey]*block

	job  *job // nil: runs in the foreground
	size int  // bytes of the events so far

	done     []Item // complete items, for a response that does not have them
	doneSize int    // elements of done
}

type blockKey struct {
	item    itemNumber
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
	return &accumulator{
		emitter: e,
		log:     log,
		byIndex: map[float64]itemNumber{},
		byID:    map[string]itemNumber{},
		types:   map[itemNumber]string{},
		blocks:  map[blockKey]*block{},
	}
}

// streamEvent is what the program needs of the events of a stream
// (https://platform.openai.com/docs/api-reference/responses-streaming).
type streamEvent struct {
	Type         string
	Sequence     *float64 `json:"sequence_number"`
	OutputIndex  float64  `json:"output_index"` // some servers write 3.0
	ContentIndex float64  `json:"content_index"`
	ItemID       string   `json:"item_id"`
	Delta        string
	Part         Part
	Item         Item
	Response     json.RawMessage
	Error        json.RawMessage
}

// isError reports whether an event has an error. The events of some servers have an empty one.
func (ev *streamEvent) isError() bool {
	switch string(ev.Error) {
	case "", "null", "{}", `""`:
		return ev.Type == "error"
	}
	return true
}

// read reads a stream up to the event that ends it. Events without a JSON object are skipped: some
// servers send them to keep a stream open.
func (a *accumulator) read(ctx context.Context, stream ssestream.Decoder) (*Response, error) {
	for ctx.Err() == nil && stream.Next() { // the decoder may have read ahead
		data := stream.Event().Data
		a.size += len(data)
		switch {
		case len(data) > maxEvent:
			return nil, bufio.ErrTooLong
		case a.size > maxBody: // over several connections
			return nil, tooLarge(tooLong)
		}
		if !isObject(data) {
			continue
		}

		r, err := a.handleEvent(data)
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

// handleEvent handles one event. It returns a response or an error when the event ends the stream.
func (a *accumulator) handleEvent(data []byte) (*Response, error) {
	var ev streamEvent
	err := decode(data, &ev)
	if err != nil {
		return nil, fmt.Errorf("reading an event: %w", err)
	}
	if a.job != nil && a.job.skips(ev) {
		return nil, nil
	}
	if ev.isError() {
		return nil, responseError(data, "the stream ended with an error")
	}

	switch ev.Type {
	case "response.created":
		a.nameJob(ev.Response)
	case "response.completed", "response.incomplete", "response.failed":
		return a.finishStream(ev)
	case "response.output_item.done":
		a.keepItem(ev.Item)
	}
	if a.emitter.watched() {
		a.emitEvent(ev)
	}

	elements := max(len(a.blocks), len(a.byID), int(a.last), a.doneSize)
	if elements > maxElements {
		return nil, tooLarge(tooMany)
	}
	return nil, nil
}

// nameJob notes the id of a response that runs in the background, as the API itself says.
func (a *accumulator) nameJob(response []byte) {
	id := gjson.GetBytes(response, "id").Str
	named := a.job == nil || a.job.id != ""
	if named || !inBackground(response) {
		return
	}
	a.job.id = id
	a.emitter.send(Created{id})
}

// keepItem keeps a complete item for a response that does not have it.
func (a *accumulator) keepItem(item Item) {
	if item.Type == "" {
		return
	}
	a.log(item.Raw)
	a.done = append(a.done, item)
	a.doneSize += 1 + item.size()
}

// finishStream makes the response of the last event of a stream. The name of the event decides
// about the status, and the complete items are the output if the event has none: some servers
// leave it out.
func (a *accumulator) finishStream(ev streamEvent) (*Response, error) {
	data := []byte(ev.Response)
	if !isObject(data) {
		data = []byte("{}")
	}
	a.log(data)

	r, err := decodeResponse(data, "text/event-stream")
	if err != nil {
		return nil, err
	}
	r.Streamed = true
	r.Status = strings.TrimPrefix(ev.Type, "response.")
	if len(r.Output) == 0 && len(a.done) > 0 {
		r.Output = a.done
	}
	return a.finish(r, data)
}

// finishPlain makes the response of an answer that is not a stream.
func (a *accumulator) finishPlain(data []byte, contentType string) (*Response, error) {
	a.log(data)

	r, err := decodeResponse(data, contentType)
	if err != nil {
		return nil, err
	}
	if r.Running() {
		a.nameJob(data)
		if a.job.running() {
			return r, nil
		}
	}
	return a.finish(r, data)
}

// finish checks a response, whose JSON is data, and emits what was not streamed of it.
func (a *accumulator) finish(r *Response, data []byte) (*Response, error) {
	if a.job != nil {
		a.job.ended = r
	}
	err := r.check(data)
	if err != nil {
		return nil, err
	}
	if a.emitter.watched() {
		a.completeOutput(r.Output)
	}
	return r, nil
}

// emitEvent passes an event on to the caller.
func (a *accumulator) emitEvent(ev streamEvent) {
	switch ev.Type {
	case "response.output_item.added":
		a.startItem(a.itemOf(ev), ev.Item)

	case "response.output_item.done":
		a.completeItem(a.itemOf(ev), ev.Item)
		delete(a.byIndex, ev.OutputIndex)

	case "response.content_part.added":
		a.textBlock(a.itemOf(ev), ev.ContentIndex, ev.ItemID, ev.Part)

	case "response.content_part.done":
		b := a.textBlock(a.itemOf(ev), ev.ContentIndex, ev.ItemID, ev.Part)
		a.completeBlock(b, ev.Part.Text+ev.Part.Refusal)

	case "response.output_text.delta", "response.refusal.delta":
		key := blockKey{a.itemOf(ev), BlockText, ev.ContentIndex}
		a.addDelta(a.openBlock(key, ev.ItemID, ""), ev.Delta)

	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		key := blockKey{a.itemOf(ev), BlockThinking, 0}
		a.addDelta(a.openBlock(key, ev.ItemID, ""), ev.Delta)

	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		key := blockKey{a.itemOf(ev), BlockToolUse, 0}
		a.addDelta(a.blocks[key], ev.Delta) // before its item the block would have no name
	}
}

// itemOf returns the number of the item that an event is about, which may be new.
func (a *accumulator) itemOf(ev streamEvent) itemNumber {
	item := a.byIndex[ev.OutputIndex]
	if item == unknownItem && ev.Type != "response.output_item.added" {
		item = a.byID[cmp.Or(ev.ItemID, ev.Item.ID)]
	}
	if item == unknownItem {
		a.last++
		item = a.last
		a.byIndex[ev.OutputIndex] = item
	}
	return item
}

// startItem starts the block of an item that has one only, and returns it. A message has a block
// for each of its texts, which the API announces by themselves: the result is nil.
func (a *accumulator) startItem(number itemNumber, item Item) *block {
	a.rememberID(number, item.ID)
	a.types[number] = item.Type

	switch item.Type {
	case "reasoning":
		return a.openBlock(blockKey{number, BlockThinking, 0}, item.ID, "")
	case "function_call", "custom_tool_call":
		return a.openBlock(blockKey{number, BlockToolUse, 0}, item.CallID, item.Name)
	case "web_search_call":
		return a.openBlock(blockKey{number, BlockSearch, 0}, item.ID, "")
	}
	return nil
}

func (a *accumulator) rememberID(number itemNumber, id string) {
	if id != "" {
		a.byID[id] = number
	}
}

// completeItem emits what was not streamed of an item as one delta, and stops its blocks.
func (a *accumulator) completeItem(number itemNumber, item Item) {
	b := a.startItem(number, item)

	switch item.Type {
	case "message":
		for i, part := range item.Content {
			text := a.textBlock(number, float64(i), item.ID, part)
			a.completeBlock(text, part.Text+part.Refusal)
		}

	case "reasoning":
		a.completeBlock(b, item.thoughts())

	case "function_call", "custom_tool_call":
		a.completeBlock(b, item.toolInput())

	case "web_search_call": // the API says what a search does when it is done
		s := item.search()
		if b.open && s != (Search{}) {
			a.emitter.send(s)
		}
		a.completeBlock(b, "")
	}
}

// completeOutput completes the items of the final output that were not streamed to their end. It
// finds an item by its id. One without a known id is the next of its type that no id names: the
// output may lack items that were streamed, and some servers give them other ids there.
func (a *accumulator) completeOutput(output []Item) {
	named := map[itemNumber]bool{}
	for _, item := range output {
		named[a.byID[item.ID]] = true
	}

	next := unknownItem
	for _, item := range output {
		number := a.byID[item.ID]
		for number == unknownItem {
			next++
			sameType := cmp.Or(a.types[next], item.Type) == item.Type
			if next > a.last || !named[next] && sameType {
				number = next
			}
		}
		a.completeItem(number, item)
	}
}

// textBlock returns the block of a text part. It is nil for a part that is not text.
func (a *accumulator) textBlock(item itemNumber, content float64, id string, part Part) *block {
	if !part.IsText() && part.Type != "refusal" {
		return nil
	}
	return a.openBlock(blockKey{item, BlockText, content}, id, "")
}

// openBlock returns a block, which it starts when it is new.
func (a *accumulator) openBlock(key blockKey, id, name string) *block {
	b := a.blocks[key]
	if b != nil {
		return b
	}

	start := BlockStart{
		Index: a.emitter.next,
		Kind:  key.kind,
		ID:    id,
		Name:  name,
	}
	a.emitter.next++
	b = &block{BlockStart: start, open: true}
	a.blocks[key] = b
	a.rememberID(key.item, id)
	a.emitter.send(start)
	return b
}

// addDelta adds text to a block that has not stopped.
func (a *accumulator) addDelta(b *block, text string) {
	if b == nil || !b.open || text == "" {
		return
	}

	delta := BlockDelta{Index: b.Index}
	switch b.Kind {
	case BlockText:
		delta.Text = text
	case BlockThinking:
		delta.Thinking = text
	case BlockToolUse:
		delta.InputJSON = text
	}
	b.sent.WriteString(text)
	a.emitter.send(delta)
}

// completeBlock emits what is missing of the text of a block and stops the block, once. A text that
// does not begin with what was streamed adds nothing.
func (a *accumulator) completeBlock(b *block, text string) {
	if b == nil || !b.open {
		return
	}

	missing, ok := strings.CutPrefix(text, b.sent.String())
	if ok {
		a.addDelta(b, missing)
	}
	b.open = false
	a.emitter.send(BlockStop{b.Index})
}

// stopBlocks stops the blocks that are still open, in their order.
func (a *accumulator) stopBlocks() {
	order := func(x, y *block) int { return cmp.Compare(x.Index, y.Index) }
	for _, b := range slices.SortedFunc(maps.Values(a.blocks), order) {
		a.completeBlock(b, "")
	}
}
