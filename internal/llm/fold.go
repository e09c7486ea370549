package llm

import "encoding/json"

// fold turns the events of one stream into the events of a caller, and into the
// response at its end. It takes events in any order: what belongs to a block
// that has not begun waits for it, and what nobody announced is made good when
// the item, or the whole response, is there.
type fold struct {
	feed   *feed
	tracks tracks
	begun  json.RawMessage // the response as created
	held   int             // bytes of text and items that are kept
	values int             // JSON values in them
	parts  int             // of all items
}

// take handles one event. It returns a response or an error when the event is
// the last one, and neither when the stream goes on.
func (f *fold) take(w *wire) (*Response, *Error) {
	switch w.Type {
	case "response.created", "response.queued", "response.in_progress":
		f.begun = w.Response
	case "response.output_item.added":
		f.itemAdded(w)
	case "response.output_item.done":
		f.itemDone(w)
	case "response.completed", "response.incomplete", "response.failed", "response.cancelled", "response.canceled":
		return f.final(w)
	case "error", "response.error":
		return nil, streamError(w.payload)
	default:
		f.takePart(w)
	}
	var err error
	switch {
	case f.held > maxBody:
		err = errTooLarge
	case f.values > maxValues, f.parts+len(f.tracks.list) > maxPieces:
		err = errTooMany
	default:
		return nil, nil
	}
	return nil, &Error{Kind: KindBadResponse, Message: err.Error(), Err: err}
}

// keep counts JSON that is kept.
func (f *fold) keep(data json.RawMessage) {
	f.held += len(data)
	f.values += values(data)
}

// takePart handles the events of the pieces of an item. Those of tools that run
// at the API (code interpreter, MCP, shell, images, ...) are none of ours: only
// function and custom tools have input that a caller acts on.
func (f *fold) takePart(w *wire) {
	switch w.Type {
	case "response.output_text.delta":
		f.delta(w, textAt(w.ContentIndex, "output_text"))
	case "response.refusal.delta":
		f.delta(w, textAt(w.ContentIndex, "refusal"))
	case "response.reasoning_text.delta", "response.reasoning.delta":
		f.delta(w, thoughtAt(w.ContentIndex))
	case "response.reasoning_summary_text.delta", "response.reasoning_summary.delta":
		f.delta(w, summaryAt(w.SummaryIndex))
	case "response.function_call_arguments.delta", "response.custom_tool_call_input.delta":
		f.delta(w, toolInput)

	case "response.output_text.done":
		f.whole(w, textAt(w.ContentIndex, "output_text"), w.Text)
	case "response.refusal.done":
		f.whole(w, textAt(w.ContentIndex, "refusal"), w.Refusal)
	case "response.reasoning_text.done":
		f.whole(w, thoughtAt(w.ContentIndex), w.Text)
	case "response.reasoning_summary_text.done":
		f.whole(w, summaryAt(w.SummaryIndex), w.Text)
	case "response.reasoning_summary_part.done":
		f.whole(w, summaryAt(w.SummaryIndex), parseObject(w.Part).str("text"))
	case "response.function_call_arguments.done":
		f.whole(w, toolInput, w.Arguments)
	case "response.custom_tool_call_input.done":
		f.whole(w, toolInput, w.Input)

	case "response.content_part.added":
		f.partAdded(w)
	case "response.reasoning_summary_part.added":
		f.summaryAdded(w)
	case "response.content_part.done":
		f.partDone(w)
	case "response.output_text.annotation.added":
		f.annotation(w)
	}
}

// delta adds to a piece of text and passes it on, if its block is open.
func (f *fold) delta(w *wire, at place) {
	if w.Delta == "" {
		return
	}
	t := f.tracks.find(w.OutputIndex, w.ItemID)
	f.grow(t, f.part(t, at, true), w.Delta)
}

// whole compares what was received of a piece with all of it. A server may send
// few deltas or none, and a delta may get lost.
func (f *fold) whole(w *wire, at place, text string) {
	if text == "" {
		return
	}
	t := f.tracks.find(w.OutputIndex, w.ItemID)
	p := f.part(t, at, false)
	f.complete(t, p, text)
	p.ended = true
}

// partAdded opens the block of a text. Parts with reasoning belong to the block
// of their item.
func (f *fold) partAdded(w *wire) {
	t := f.tracks.find(w.OutputIndex, w.ItemID)
	p := f.contentPart(t, w.ContentIndex, parseObject(w.Part).str("type"), true)
	if p == nil {
		return
	}
	if p.kind == BlockThinking && t.typ != "" && t.typ != "reasoning" {
		f.openItem(t, BlockThinking, t.id, "") // a server that thinks inside its messages
	}
	f.openPart(t, p)
	f.flush(t, p)
}

// summaryAdded begins a paragraph of a summary, which has no block of its own.
// Without its index it says that the one before is over.
func (f *fold) summaryAdded(w *wire) {
	t := f.tracks.find(w.OutputIndex, w.ItemID)
	if p := f.part(t, summaryAt(w.SummaryIndex), true); w.SummaryIndex < 0 && len(p.text) > 0 {
		p.ended = true
	}
}

// partDone closes the block of a text.
func (f *fold) partDone(w *wire) {
	t := f.tracks.find(w.OutputIndex, w.ItemID)
	o := parseObject(w.Part)
	p := f.contentPart(t, w.ContentIndex, o.str("type"), false)
	if p == nil {
		return
	}
	f.openPart(t, p)
	f.complete(t, p, partText(o))
	f.flush(t, p)
	p.ended = true
	if p.block != nil {
		f.feed.stop(*p.block)
	}
}

// annotation keeps a citation for an item that never comes whole.
func (f *fold) annotation(w *wire) {
	if !present(w.Annotation) {
		return
	}
	t := f.tracks.find(w.OutputIndex, w.ItemID)
	p := f.part(t, textAt(w.ContentIndex, "output_text"), false)
	p.annotations = append(p.annotations, w.Annotation)
	f.keep(w.Annotation)
}

// itemAdded opens the block of an item.
func (f *fold) itemAdded(w *wire) {
	t, ok := f.tracks.begin(w.OutputIndex, headOf(w.Item))
	if !ok || !present(w.Item) {
		return
	}
	t.added = w.Item
	f.keep(w.Item)
	f.openBlock(t, w.Item, false)
}

// itemDone makes up for what was not streamed of an item, and closes its blocks.
func (f *fold) itemDone(w *wire) {
	h := headOf(w.Item)
	if h.ID == "" {
		h.ID = w.ItemID
	}
	t, ok := f.tracks.end(w.OutputIndex, h)
	if !ok {
		return
	}
	t.ended = true
	if present(w.Item) {
		t.done, t.added = w.Item, nil
		f.keep(w.Item)
	}
	f.settle(t, t.done)
}
