package llm

import (
	"maps"
	"slices"
)

// Event is one step of a response that is being written. Blocks are numbered
// from Request.FirstBlock over everything that one call takes: retries and rounds
// with tools included.
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

// Search says what a web search call does.
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

// Waiting says that the call waits for the rate limit of the API, and how many
// calls are ahead of it.
type Waiting struct{ Ahead int }

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
func (Waiting) event()    {}
func (Usage) event()      {}
func (Done) event()       {}

// emitter numbers the blocks of a call and passes its events on. Each block that
// starts gets exactly one stop. Without yield it discards everything.
type emitter struct {
	yield func(Event) bool // reports whether the caller wants more; nil: no caller
	leave func()           // called once when it does not
	gone  bool             // the caller wants no more: yield must not be called again
	next  int              // number of the next block
	open  map[int]bool     // blocks that have started and not stopped
}

// watched reports whether a caller wants events.
func (e *emitter) watched() bool { return e.yield != nil && !e.gone }

func (e *emitter) send(ev Event) {
	if e.watched() && !e.yield(ev) {
		e.gone = true
		e.leave()
	}
}

func (e *emitter) start(kind, id, name string) int {
	index := e.next
	e.next++
	if e.open == nil {
		e.open = map[int]bool{}
	}
	e.open[index] = true
	e.send(BlockStart{Index: index, Kind: kind, ID: id, Name: name})
	return index
}

func (e *emitter) stop(index int) {
	if e.open[index] {
		delete(e.open, index)
		e.send(BlockStop{Index: index})
	}
}

func (e *emitter) stopAll() {
	for _, index := range slices.Sorted(maps.Keys(e.open)) {
		e.stop(index)
	}
}

// replay sends the blocks of a response that was not streamed.
func (e *emitter) replay(r *Response) {
	if e.watched() {
		newAccumulator(e).settle(r.Output)
	}
}

// finish sends the last two events.
func (e *emitter) finish(r *Response) {
	e.send(r.Tokens)
	e.send(Done{Status: r.Status, Response: r})
}
