package llm

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// blockKey identifies a block of a response. Only a message has several blocks of a kind: one for
// each of its texts.
type blockKey struct {
	item         *streamItem
	kind         string
	contentIndex float64 // content_index of the text; 0 for other kinds
}

// block is a block of the call that has started.
type block struct {
	call.BlockStart
	isOpen bool
	sent   strings.Builder // the text that was sent as deltas
	whole  string          // the complete text, which replaces sent once an event contains it
	half   string          // first half of a character, as JSON, that the next delta completes

	annotations []json.RawMessage // those that came in events of their own
}

// blockUpdate is what one event or item tells about a block.
type blockUpdate struct {
	call.BlockStart         // without the index
	contentIndex    float64 // as in blockKey
	text            string  // the whole text, if the block is complete
	search          call.Search
}

// blockUpdates returns what an item tells about its blocks: an update for each text of a message,
// one for an item of another known type, and none for unknown types. first is the content_index of
// a message's first part.
func blockUpdates(i call.Item, first float64) []blockUpdate {
	var b blockUpdate
	b.ID = i.ID

	switch {
	case i.Type == "message":
		var all []blockUpdate
		for n, part := range i.Content {
			if part.IsText() || part.Type == "refusal" {
				b.Kind = call.BlockText
				b.contentIndex = first + float64(n)
				b.text = part.Text + part.Refusal
				all = append(all, b)
			}
		}
		return all

	case i.Type == "reasoning":
		b.Kind = call.BlockThinking
		b.text = reasoningText(i)

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
	return []blockUpdate{b}
}

// emitEvent records what an event tells about items and blocks, and sends to the sink what is new.
func (a *accumulator) emitEvent(ev *streamEvent) {
	complete := strings.HasSuffix(ev.Type, ".done")

	switch ev.Type {
	case "response.output_item.added", "response.output_item.done":
		item := a.itemOf(ev)
		if ev.Item.Type != "" {
			item.Item = ev.Item
		}
		a.emitItem(item, ev.Item, 0, complete)
		if complete {
			a.log(rawJSON{data: ev.Item.Raw})
			item.isComplete = true
			item.doneText = textOf(item.Item)
			a.elementCount += countElements(ev.Item)
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

// emitDelta adds the text or the annotation of an event to its block. A new block starts first.
func (a *accumulator) emitDelta(ev *streamEvent) {
	var update blockUpdate
	update.ID = ev.ItemID

	switch ev.Type {
	case "response.output_text.delta", "response.refusal.delta",
		"response.output_text.done", "response.refusal.done",
		"response.output_text.annotation.added":
		update.Kind = call.BlockText
		update.contentIndex = ev.ContentIndex

	case "response.reasoning_text.delta", "response.reasoning_summary_text.delta":
		update.Kind = call.BlockThinking

	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		update.Kind = call.BlockToolUse

	default:
		return
	}
	b := a.blockOf(a.itemOf(ev), update)
	if b == nil {
		return
	}
	if ev.Annotation != nil {
		b.annotations = append(b.annotations, ev.Annotation)
		a.annotationCount++
	}
	if ev.Delta != "" {
		a.addDelta(b, b.joinHalves(ev))
		return
	}

	// A ".done" event has the whole text, of which some may not have come. Other events have no text
	// here, and nothing is missing.
	missing, ok := strings.CutPrefix(ev.Text+ev.Refusal, b.sent.String())
	if ok && missing != "" {
		b.half = "" // missing has the whole character, of which half was held back
		a.addDelta(b, missing)
	}
}

// halfAtEnd matches the first half of a character at the end of the JSON of a text: some servers
// cut a text between the UTF-16 units of an emoji.
var halfAtEnd = text.LazyRegexp(`\\u(?i:d[89ab][0-9a-f]{2})$`)

// joinHalves returns the delta of an event without a half of a character at its end, which b.half
// keeps for the next delta. For the deltas "a\ud83d" and "\ude00b" of JSON it returns "a" and "😀b".
// A half that the next delta does not complete becomes U+FFFD.
func (b *block) joinHalves(ev *streamEvent) string {
	isWhole := !strings.Contains(ev.Delta, "\ufffd") // a half is decoded as U+FFFD
	if isWhole && b.half == "" {
		return ev.Delta
	}

	var raw struct{ Delta json.RawMessage }
	_ = json.Unmarshal(ev.Data, &raw) // ev was decoded from the same data
	joined := strings.Replace(string(raw.Delta), `"`, `"`+b.half, 1)
	b.half = ""
	if strings.HasSuffix(ev.Delta, "\ufffd") {
		b.half = halfAtEnd().FindString(strings.TrimSuffix(joined, `"`))
	}

	delta := ev.Delta
	joined = strings.TrimSuffix(joined, b.half+`"`) + `"`
	_ = json.Unmarshal([]byte(joined), &delta)
	return delta
}

// itemOf returns the item that an event is about, the first of:
//
//   - the item that streams at the index of the event, until output_item.done;
//   - the item with the id of the event, unless the event has another text or is output_item.added;
//   - a new item.
//
// Servers may give all items the index 0, or the same id.
func (a *accumulator) itemOf(ev *streamEvent) *streamItem {
	item := a.byIndex[ev.OutputIndex]
	if item == nil && ev.Type != "response.output_item.added" {
		item = a.byID[cmp.Or(ev.ItemID, ev.Item.ID)]
		hasText := item != nil && item.doneText != ""
		isOther := hasText && ev.Item.Type != "" && item.doneText != textOf(ev.Item)
		if isOther { // another item with the same id
			item = nil
		}
	}
	if item == nil {
		item = &streamItem{}
		a.items = append(a.items, item)
		a.byIndex[ev.OutputIndex] = item
	}
	return item
}

// emitItem starts the blocks of received that are new. If complete is set, it completes all blocks
// of received. received is the item, or one part of a message, as the API has sent it. first is the
// content_index of the first part of received.
func (a *accumulator) emitItem(
	item *streamItem, received call.Item, first float64, complete bool,
) {
	a.rememberID(item, received.ID)
	for _, update := range blockUpdates(received, first) {
		b := a.blockOf(item, update)
		if complete {
			a.completeBlock(b, update)
		}
	}
}

func (a *accumulator) rememberID(item *streamItem, id string) {
	if id != "" {
		a.byID[id] = item
	}
}

// blockOf returns the block that an update is about, and starts the block if it is new. It
// returns nil for the block of a tool whose name is not known yet.
func (a *accumulator) blockOf(item *streamItem, update blockUpdate) *block {
	key := blockKey{item, update.Kind, update.contentIndex}
	b := a.blocks[key]
	nameless := update.Kind == call.BlockToolUse && update.Name == ""
	if b != nil || nameless {
		return b
	}

	b = &block{BlockStart: update.BlockStart, isOpen: true}
	b.Index = a.call.Blocks
	a.call.Blocks++
	a.blocks[key] = b
	a.startedBlocks = append(a.startedBlocks, b)
	if b.Kind == call.BlockText {
		item.textBlocks = append(item.textBlocks, b)
	}
	a.rememberID(item, update.ID)
	a.call.Emit(b.BlockStart)
	return b
}

// addDelta adds text to a block and sends it to the sink. A block that has stopped does not change.
func (a *accumulator) addDelta(b *block, more string) {
	if !b.isOpen || more == "" {
		return
	}

	b.sent.WriteString(more)
	a.sendDelta(b, more)
}

// sendDelta sends text of a block to the sink.
func (a *accumulator) sendDelta(b *block, more string) {
	if more == "" || a.call.Sink == nil {
		return // a delta would only take memory
	}

	delta := call.BlockDelta{Index: b.Index}
	switch b.Kind {
	case call.BlockText:
		delta.Text = more
	case call.BlockThinking:
		delta.Thinking = more
	case call.BlockToolUse:
		delta.InputJSON = more
	}
	a.call.Emit(delta)
}

// completeBlock sends the rest of the text of a block, and stops the block. It does nothing if b is
// nil or has stopped. A text that does not begin with what was streamed adds nothing. What a search
// does is sent here, because the API only tells it when the search is done.
func (a *accumulator) completeBlock(b *block, update blockUpdate) {
	if b == nil || !b.isOpen {
		return
	}

	if update.search != (call.Search{}) {
		a.call.Emit(update.search)
	}
	missing, ok := strings.CutPrefix(update.text, b.sent.String())
	if ok {
		a.sendDelta(b, missing) // whole replaces sent
		b.whole = update.text
		b.sent = strings.Builder{}
	} else if b.half != "" { // no delta has completed the character
		a.addDelta(b, "\ufffd")
	}
	b.isOpen = false
	a.call.Emit(call.BlockStop{Index: b.Index})
}

// hasBegunWork reports whether the model has begun a search, another tool or a text, and not just
// to think (call.Used.UnreportedBegun).
func (a *accumulator) hasBegunWork() bool {
	isWork := func(b *block) bool { return b.Kind != call.BlockThinking }
	return slices.ContainsFunc(a.startedBlocks, isWork)
}

// stopBlocks stops the blocks that are still open. Their text stays what was sent.
func (a *accumulator) stopBlocks() {
	for _, b := range a.startedBlocks {
		a.completeBlock(b, blockUpdate{})
	}
}
