package llm

import (
	"cmp"
	"slices"
)

// Event is one step of a response that is being written. Blocks are numbered
// from 0 over everything that one call takes: retries and rounds with tools
// included.
type Event interface{ event() }

// The values of BlockStart.Kind.
const (
	BlockText     = "text"     // output text, refusals included
	BlockThinking = "thinking" // reasoning, raw or summarized; may have no delta
	BlockToolUse  = "tool_use" // input of a function or custom tool
	BlockSearch   = "search"   // one web search call; has no delta
)

// BlockStart opens a block. Every block that starts is stopped, also when the
// stream breaks.
type BlockStart struct {
	Index int
	Kind  string
	ID    string // item id; for a tool the call_id
	Name  string // of the tool
}

// BlockDelta adds to a block. Exactly one of the texts is set.
type BlockDelta struct {
	Index     int
	Text      string
	Thinking  string
	InputJSON string // arguments of a function, or free text of a custom tool
}

// BlockStop closes the block with the number Index.
type BlockStop struct{ Index int }

// Search reports what a web search call does, as soon as the API says it.
type Search struct {
	Action string // "search", "open_page" or "find_in_page"
	Query  string // the first one when there are several
	URL    string
}

// Retrying announces another try. Everything streamed so far is void.
type Retrying struct {
	Attempt int    // number of the try that follows, from 2 on
	Err     *Error // why the last one failed
}

// Done ends a stream that got its response. The event before it is a Usage.
type Done struct {
	Status   string // "completed" or "incomplete"
	Response *Response
}

func (BlockStart) event() {}
func (BlockDelta) event() {}
func (BlockStop) event()  {}
func (Search) event()     {}
func (Retrying) event()   {}
func (Usage) event()      {}
func (Done) event()       {}

// feed numbers the blocks of a call and passes its events on. Each block that
// starts gets exactly one stop. The zero value discards everything.
type feed struct {
	yield func(Event) bool // reports whether the caller wants more; nil: discard
	leave func()           // called once when it does not
	gone  bool             // the caller wants no more: yield must not be called again
	next  int              // number of the next block
	open  []int            // blocks that have started and not stopped, oldest first
}

func (f *feed) send(e Event) {
	if f.yield == nil || f.gone {
		return
	}
	if !f.yield(e) {
		f.gone = true
		f.leave()
	}
}

func (f *feed) start(kind, id, name string) int {
	index := f.next
	f.next++
	f.open = append(f.open, index)
	f.send(BlockStart{Index: index, Kind: kind, ID: id, Name: name})
	return index
}

func (f *feed) isOpen(index int) bool { return slices.Contains(f.open, index) }

func (f *feed) stop(index int) {
	if i := slices.Index(f.open, index); i >= 0 {
		f.open = slices.Delete(f.open, i, i+1)
		f.send(BlockStop{Index: index})
	}
}

func (f *feed) stopAll() {
	for len(f.open) > 0 {
		f.stop(f.open[0])
	}
}

// replay sends the blocks of a response.
func (f *feed) replay(r *Response) {
	if f.yield != nil {
		newFold(f).settle(r.Output)
	}
}

// finish sends the last two events.
func (f *feed) finish(r *Response) {
	f.send(r.Tokens)
	f.send(Done{Status: cmp.Or(string(r.Status), "completed"), Response: r})
}
