package llm

import "encoding/json"

// track is an output item while it is streamed. Its fields are what the events
// said so far, in whatever order they came.
type track struct {
	index  int    // output_index, -1 when nobody said it
	id     string // as it was said first
	typ    string // "" before output_item.added or .done
	callID string
	added  json.RawMessage
	done   json.RawMessage // the item as output_item.done has it
	ended  bool            // output_item.done was here, with an item or without

	block   *int   // of the item itself
	kind    string // of that block: BlockThinking, BlockToolUse or BlockSearch
	parts   []*part
	told    Searching // what was last said about a search
	claimed bool      // found in the output of the final response
}

// place says which piece of an item is meant.
type place struct {
	kind  string // BlockText, BlockThinking or BlockToolUse
	list  string // where in the item it stands: "content", "summary" or "" for tool input
	index int    // in that list; -1: see track.part
	typ   string // as in the item: "output_text", "refusal", ...
}

// textAt, thoughtAt and summaryAt are the places of texts in their lists; the
// input of a tool is all there is of it.
func textAt(index int, typ string) place { return place{BlockText, "content", index, typ} }
func thoughtAt(index int) place          { return place{BlockThinking, "content", index, "reasoning_text"} }
func summaryAt(index int) place          { return place{BlockThinking, "summary", index, "summary_text"} }

var toolInput = place{kind: BlockToolUse}

// part is a piece of text of an item: a content part, a paragraph of a
// summary, the input of a tool.
type part struct {
	place
	block       *int   // of a text; a part of another kind uses that of its item
	ended       bool   // it was said to be whole
	text        []byte // received
	sent        int    // how much of it has been passed on
	annotations []json.RawMessage
}

// part returns the piece at a place, a new one where there is none yet. An
// index of -1 means the piece under way, or the next one where an event that
// starts or goes on finds the last one ended.
func (t *track) part(at place, grows bool) *part {
	var last *part
	for _, p := range t.parts {
		if p.list == at.list && p.kind == at.kind {
			if p.index == at.index {
				return p
			}
			last = p
		}
	}
	if at.index < 0 {
		switch {
		case last == nil:
			at.index = 0
		case grows && last.ended:
			at.index = last.index + 1
		default:
			return last
		}
	}
	p := &part{place: at}
	t.parts = append(t.parts, p)
	return p
}

// blockOf is the block that a piece is shown in, nil before that has begun.
func (t *track) blockOf(p *part) *int {
	if p.kind == t.kind {
		return t.block
	}
	return p.block
}

// itemHead is what is known of an item at its start.
type itemHead struct {
	ID     string `json:"id"`
	Type   string `json:"type"`
	Role   string `json:"role"`
	CallID string `json:"call_id"`
	Name   string `json:"name"`
}

func headOf(item json.RawMessage) itemHead {
	o := parseObject(item)
	h := itemHead{ID: o.str("id"), Type: o.str("type"), Role: o.str("role"), CallID: o.str("call_id"), Name: o.str("name")}
	if h.Type == "" && h.Role != "" {
		h.Type = "message" // which the API lets go without its type
	}
	return h
}

// tracks finds the item that an event is about. Servers differ in what they
// say: some leave the index out or the id, some give an item another id in
// every event (the index is then right), some give every item the index 0 (the
// id is then right).
type tracks struct {
	list    []*track // in the order in which they were first heard of
	byIndex map[int]*track
	byID    map[string]*track
	last    *track
}

// find returns the item that an event names, a new one when nothing fits. An
// event that names none goes on with the last one.
func (ts *tracks) find(index int, id string) *track {
	t := ts.byID[id]
	switch {
	case t != nil && (index < 0 || t.index == index):
	case t != nil && t.index < 0:
		ts.name(t, index, id)
	case index >= 0:
		t = ts.byIndex[index]
		if t == nil && ts.last != nil && ts.last.anonymous() {
			t = ts.last
			ts.name(t, index, id)
		}
	case ts.last != nil && !ts.last.ended && (id == "" || ts.last.anonymous()):
		t = ts.last
		ts.name(t, index, id)
	}
	if t == nil {
		t = ts.open(index, id)
	}
	ts.last = t
	return t
}

// anonymous reports that deltas came for an item of which nothing is known.
func (t *track) anonymous() bool { return t.index < 0 && t.id == "" && t.typ == "" }

// open makes a new item, which from now on is what its index and id stand for.
func (ts *tracks) open(index int, id string) *track {
	t := &track{index: -1}
	ts.list = append(ts.list, t)
	ts.name(t, index, id)
	ts.last = t
	return t
}

// name notes under what an item can be found.
func (ts *tracks) name(t *track, index int, id string) {
	if ts.byIndex == nil {
		ts.byIndex, ts.byID = map[int]*track{}, map[string]*track{}
	}
	if index >= 0 {
		t.index = index
		ts.byIndex[index] = t
	}
	if id != "" {
		ts.byID[id] = t
		if t.id == "" {
			t.id = id
		}
	}
}

// begin returns the item that an output_item.added is about, and false when it
// only repeats what is known.
func (ts *tracks) begin(index int, h itemHead) (*track, bool) {
	t := ts.find(index, h.ID)
	if t.typ == "" && !t.ended {
		return t, true
	}
	same := h.ID == t.id || h.ID == "" && index >= 0
	if same && h.Type == t.typ && t.sameCall(h) {
		return t, false
	}
	return ts.open(index, h.ID), true
}

// end returns the item that an output_item.done is about, and false when it is
// done already.
func (ts *tracks) end(index int, h itemHead) (*track, bool) {
	t := ts.find(index, h.ID)
	fits := t.typ == "" || h.Type == "" || t.typ == h.Type
	if !t.ended && fits && t.sameCall(h) {
		return t, true
	}
	if t.ended && fits && (h.ID == t.id || h.ID == "") && t.sameCall(h) {
		return t, false
	}
	return ts.open(index, h.ID), true
}

// sameCall reports that a tool call is not another one than t.
func (t *track) sameCall(h itemHead) bool {
	return t.callID == "" || h.CallID == "" || t.callID == h.CallID
}

// claim finds the item that stands at a place of the final output: by its id,
// else at the same place with the same type, else the first of its type that is
// left. An item is found once.
func (ts *tracks) claim(index int, h itemHead) *track {
	t := ts.byID[h.ID]
	if t == nil || t.claimed {
		t = ts.byIndex[index]
	}
	if t == nil || t.claimed || t.typ != "" && t.typ != h.Type {
		t = nil
		for _, o := range ts.list {
			if !o.claimed && o.typ == h.Type {
				t = o
				break
			}
		}
	}
	if t == nil {
		t = ts.open(index, h.ID)
	}
	t.claimed = true
	return t
}
