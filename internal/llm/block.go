package llm

import "encoding/json"

// part returns the piece at a place, one that nobody keeps when there are too
// many: then this event is the last one.
func (f *fold) part(t *track, at place, grows bool) *part {
	if f.parts > maxPieces {
		return &part{place: at}
	}
	before := len(t.parts)
	p := t.part(at, grows)
	f.parts += len(t.parts) - before
	return p
}

// contentPart returns the piece that a content part event is about, nil for a
// kind of content that is no text (audio, ...).
func (f *fold) contentPart(t *track, index int, typ string, grows bool) *part {
	if t.typ == "reasoning" && typ != "summary_text" {
		typ = "reasoning_text"
	}
	switch typ {
	case "output_text", "text", "refusal", "":
		return f.part(t, textAt(index, typ), grows)
	case "reasoning_text":
		return f.part(t, thoughtAt(index), grows)
	case "summary_text":
		return f.part(t, summaryAt(index), grows)
	}
	return nil
}

// partText is the text of a content part, or what the model says instead of it.
func partText(o object) string {
	if s := o.str("text"); s != "" {
		return s
	}
	return o.str("refusal")
}

// openBlock opens the block that stands for a whole item, once what its start
// says is known; at the end of the item it is opened with what there is.
func (f *fold) openBlock(t *track, item json.RawMessage, last bool) {
	h := headOf(item)
	if t.typ == "" {
		t.typ = h.Type
	}
	if t.callID == "" {
		t.callID = h.CallID
	}
	id := h.ID
	if id == "" {
		id = t.id
	}
	switch t.typ {
	case "reasoning":
		f.openItem(t, BlockThinking, id, "")
	case "function_call", "custom_tool_call":
		if h.CallID != "" {
			id = h.CallID
		}
		if last || h.CallID != "" && h.Name != "" {
			f.openItem(t, BlockToolUse, id, h.Name)
		}
	case "web_search_call":
		f.openItem(t, BlockSearch, id, "")
		f.search(t, item, last)
	}
}

func (f *fold) openItem(t *track, kind, id, name string) {
	if t.block != nil {
		return
	}
	t.kind, t.block = kind, new(f.feed.start(kind, id, name))
	for _, p := range t.parts {
		f.flush(t, p)
	}
}

// openPart opens the block of a text part. An item that is known to be no
// message has none.
func (f *fold) openPart(t *track, p *part) {
	if p.kind == BlockText && p.block == nil && (t.typ == "" || t.typ == "message") {
		p.block = new(f.feed.start(BlockText, t.id, ""))
	}
}

// search tells what a search does, as soon as the item says it. An action that
// has a type and nothing else yet may get the rest later.
func (f *fold) search(t *track, item json.RawMessage, last bool) {
	s := decodeSearch(parseObject(item), nil)
	now := Searching{Action: s.Action, Query: s.Query, URL: s.URL}
	if now == t.told || now == (Searching{}) || now == (Searching{Action: s.Action}) && !last {
		return
	}
	t.told = now
	f.feed.send(now)
}

// grow adds text to a piece.
func (f *fold) grow(t *track, p *part, text string) {
	waiting := p.sent < len(p.text)
	p.text = append(p.text, text...)
	f.held += len(text)
	if block := t.blockOf(p); block != nil && !waiting && f.feed.isOpen(*block) {
		p.sent = len(p.text)
		f.feed.add(*block, p.kind, text)
		return
	}
	f.flush(t, p)
}

// complete adds what is missing at the end of a piece. What differs before its
// end cannot be taken back, and stays as it was streamed.
func (f *fold) complete(t *track, p *part, text string) {
	if text != "" && p.sent == 0 {
		p.text = p.text[:0]
	}
	if n := len(p.text); len(text) > n && text[:n] == string(p.text) {
		f.grow(t, p, text[n:])
	}
}

// flush passes on what its block has not seen of a piece. What comes after the
// end of the block is in the response only.
func (f *fold) flush(t *track, p *part) {
	block := t.blockOf(p)
	if block == nil || p.sent == len(p.text) {
		return
	}
	if f.feed.isOpen(*block) {
		f.feed.add(*block, p.kind, string(p.text[p.sent:]))
	}
	p.sent = len(p.text)
}

// settle is the end of an item: blocks that were never opened are opened now,
// what the item has beyond the deltas follows, and all is closed. item is nil
// when nobody sent it whole.
func (f *fold) settle(t *track, item json.RawMessage) {
	if !present(item) {
		item = t.added
	}
	f.openBlock(t, item, true)
	o := parseObject(item)
	switch t.typ {
	case "message":
		if s := o.str("content"); s != "" {
			f.settlePart(t, f.contentPart(t, 0, "output_text", false), s)
		}
		f.settleList(t, o, "content")
	case "reasoning":
		f.settleList(t, o, "summary")
		f.settleList(t, o, "content")
	case "function_call":
		f.complete(t, f.part(t, toolInput, false), o.text("arguments"))
	case "custom_tool_call":
		f.complete(t, f.part(t, toolInput, false), o.text("input"))
	}
	for _, p := range t.parts {
		if p.sent < len(p.text) {
			f.settlePart(t, p, "")
		} else if p.block != nil {
			f.feed.stop(*p.block)
		}
	}
	if t.block != nil {
		f.feed.stop(*t.block)
	}
}

// settleList settles the pieces of a list in an item.
func (f *fold) settleList(t *track, o object, list string) {
	for i, data := range o.list(list) {
		e := parseObject(data)
		if e == nil {
			continue
		}
		typ := e.str("type")
		if list == "summary" {
			typ = "summary_text"
		}
		if p := f.contentPart(t, i, typ, false); p != nil {
			f.settlePart(t, p, partText(e))
		}
	}
}

// settlePart completes one piece, in a block of its own where it has one, and
// closes that.
func (f *fold) settlePart(t *track, p *part, text string) {
	if p.kind == BlockThinking && t.block == nil {
		f.openItem(t, BlockThinking, t.id, "")
	}
	f.openPart(t, p)
	f.complete(t, p, text)
	f.flush(t, p)
	if p.block != nil {
		f.feed.stop(*p.block)
	}
}
