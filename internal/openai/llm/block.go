package llm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

type blockKey struct {
	item    itemNumber
	kind    string
	content float64 // content_index of a text, else 0
}

// block is a block of the call.
type block struct {
	call.BlockStart
	open  bool
	sent  strings.Builder // all deltas
	whole string          // replaces sent once an event has the complete text
	half  rune            // of a character that the next delta ends, 0 for none

	annotations []json.RawMessage
}

// blockText is what an event or an item says of a block.
type blockText struct {
	call.BlockStart // without the index
	content         float64
	text            string // the whole text once the block is complete
	search          call.Search
}

// blocksOf returns the blocks of an item. A message has a block for each text, and its first part
// has the number first. Items of other known types have one block.
func blocksOf(i call.Item, first float64) []blockText {
	var b blockText
	b.ID = i.ID

	switch {
	case i.Type == "message":
		var all []blockText
		for n, part := range i.Content {
			if part.IsText() || part.Type == "refusal" {
				b.Kind = call.BlockText
				b.content = first + float64(n)
				b.text = part.Text + part.Refusal
				all = append(all, b)
			}
		}
		return all

	case i.Type == "reasoning":
		b.Kind = call.BlockThinking
		b.text = thoughts(i)

	case i.Type == "function_call", i.Type == "custom_tool_call":
		b.Kind = call.BlockToolUse
		b.ID = i.CallID
		b.Name = i.Name
		b.text = i.Arguments + i.Input

	case i.IsSearch():
		b.Kind = call.BlockSearch
		queries := append([]string{i.Action.Query}, i.Action.Queries...)
		b.search = call.Search{
			Action: i.Action.Type,
			Query:  cmp.Or(queries...),
			URL:    i.Action.URL,
		}

	default:
		return nil
	}
	return []blockText{b}
}

// emitEvent passes on to the sink what an event says.
func (a *accumulator) emitEvent(ev *streamEvent) {
	complete := strings.HasSuffix(ev.Type, ".done")

	switch ev.Type {
	case "response.output_item.added", "response.output_item.done":
		number := a.itemOf(ev)
		if ev.Item.Type != "" {
			a.items[number] = ev.Item
		}
		a.emitItem(number, ev.Item, 0, complete)
		if complete {
			a.log(rawJSON{data: ev.Item.Raw})
			a.done[number] = textOf(a.items[number])
			a.elements += elementsOf(ev.Item)
			delete(a.byIndex, ev.OutputIndex)
		}

	case "response.content_part.added", "response.content_part.done":
		message := call.Item{
			Type:    "message",
			ID:      ev.ItemID,
			Content: []call.Part{ev.Part},
		}
		a.emitItem(a.itemOf(ev), message, ev.ContentIndex, complete)

	default:
		a.emitDelta(ev)
	}
}

// emitDelta adds the text of a delta to its block.
func (a *accumulator) emitDelta(ev *streamEvent) {
	var said blockText
	said.ID = ev.ItemID

	switch ev.Type {
	case "response.output_text.delta", "response.refusal.delta",
		"response.output_text.done", "response.refusal.done",
		"response.output_text.annotation.added":
		said.Kind = call.BlockText
		said.content = ev.ContentIndex

	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		said.Kind = call.BlockThinking

	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		said.Kind = call.BlockToolUse

	default:
		return
	}
	b := a.openBlock(a.itemOf(ev), said)
	if b == nil {
		return
	}
	if ev.Annotation != nil {
		b.annotations = append(b.annotations, ev.Annotation)
		a.annotations++
	}
	// A ".done" event has the whole text and no delta, any other a delta and no text.
	missing, ok := strings.CutPrefix(ev.Text+ev.Refusal, b.sent.String())
	if ok {
		a.addDelta(b, missing)
	}
	if ok && missing != "" {
		b.half = 0
	}
	a.addDelta(b, b.join(ev))
}

// join returns the delta of an event, with the half of a character that the block has kept. If the
// delta ends with a half, the block keeps it for the next delta.
func (b *block) join(ev *streamEvent) string {
	const missing = "\ufffd"
	delta := ev.Delta
	if delta == "" {
		return ""
	}

	switch {
	case b.half != 0 && ev.First != 0:
		delta = string(utf16.DecodeRune(b.half, ev.First)) + strings.TrimPrefix(delta, missing)
	case b.half != 0:
		delta = missing + delta
	}
	b.half = ev.Last
	if b.half != 0 {
		delta = strings.TrimSuffix(delta, missing)
	}
	return delta
}

// itemOf returns the number of the item that an event is about. The item may be new.
func (a *accumulator) itemOf(ev *streamEvent) itemNumber {
	number := a.byIndex[ev.OutputIndex]
	if number == unknownItem && ev.Type != "response.output_item.added" {
		number = a.byID[cmp.Or(ev.ItemID, ev.Item.ID)]
		said := a.done[number]
		another := ev.Item.Type != "" && said != "" && said != textOf(ev.Item)
		if another { // with the same id
			number = unknownItem
		}
	}
	if number == unknownItem {
		a.last++
		number = a.last
		a.byIndex[ev.OutputIndex] = number
	}
	return number
}

// emitItem starts the new blocks of an item, and completes all its blocks if the item is complete.
// The first part of a message has the number first.
func (a *accumulator) emitItem(number itemNumber, item call.Item, first float64, complete bool) {
	a.rememberID(number, item.ID)
	for _, said := range blocksOf(item, first) {
		b := a.openBlock(number, said)
		if complete {
			a.completeBlock(b, said)
		}
	}
}

func (a *accumulator) rememberID(number itemNumber, id string) {
	if id != "" {
		a.byID[id] = number
	}
}

// openBlock returns a block, and starts a new one. The block of a tool is not started before the
// name of the tool is known: the result is nil.
func (a *accumulator) openBlock(number itemNumber, said blockText) *block {
	key := blockKey{number, said.Kind, said.content}
	b := a.blocks[key]
	nameless := said.Kind == call.BlockToolUse && said.Name == ""
	if b != nil || nameless {
		return b
	}

	b = &block{BlockStart: said.BlockStart, open: true}
	b.Index = a.call.Blocks
	a.call.Blocks++
	a.blocks[key] = b
	a.order = append(a.order, b)
	if b.Kind == call.BlockText {
		a.texts[number] = append(a.texts[number], b)
	}
	a.rememberID(number, said.ID)
	a.call.Send(b.BlockStart)
	return b
}

// addDelta adds text to a block that has not stopped.
func (a *accumulator) addDelta(b *block, text string) {
	if !b.open || text == "" {
		return
	}

	b.sent.WriteString(text)
	if a.call.Sink == nil {
		return // a delta for the sink takes memory
	}

	delta := call.BlockDelta{Index: b.Index}
	switch b.Kind {
	case call.BlockText:
		delta.Text = text
	case call.BlockThinking:
		delta.Thinking = text
	case call.BlockToolUse:
		delta.InputJSON = text
	}
	a.call.Send(delta)
}

// completeBlock emits what is missing of the text of a block and stops the block, once. A text that
// does not begin with what was streamed adds nothing. The API says what a search does when it is
// done.
func (a *accumulator) completeBlock(b *block, said blockText) {
	if b == nil || !b.open {
		return
	}

	if said.search != (call.Search{}) {
		a.call.Send(said.search)
	}
	missing, ok := strings.CutPrefix(said.text, b.sent.String())
	if ok {
		a.addDelta(b, missing)
		b.whole = said.text
		b.sent = strings.Builder{}
	} else if b.half != 0 {
		a.addDelta(b, "\ufffd")
	}
	b.open = false
	a.call.Send(call.BlockStop{Index: b.Index})
}

// hasBegun reports whether a search, another tool or text has come.
func (a *accumulator) hasBegun() bool {
	isWork := func(b *block) bool { return b.Kind != call.BlockThinking }
	return slices.ContainsFunc(a.order, isWork)
}

// stopBlocks stops the blocks that are still open.
func (a *accumulator) stopBlocks() {
	for _, b := range a.order {
		a.completeBlock(b, blockText{})
	}
}
