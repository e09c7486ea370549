package llm

// Event is one step of a response that is being written: BlockStart, BlockDelta, BlockStop, Search,
// Retrying, Created, Reconnecting, Waiting, Usage or Done. Blocks are numbered from
// Request.FirstBlock over everything that one call takes: retries and rounds with tools included.
type Event any

// The values of BlockStart.Kind.
const (
	BlockText     = "text"     // output text, refusals included
	BlockThinking = "thinking" // reasoning, raw or summarized; may have no delta
	BlockToolUse  = "tool_use" // input of a function or custom tool
	BlockSearch   = "search"   // one web search call; has no delta
)

// BlockStart opens a block. Every block that starts is stopped once, also when the stream breaks.
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

// Created says that a response runs in the background of the API under this id. It follows each
// attempt that the API takes.
type Created struct{ ID string }

// Reconnecting announces that the response goes on although its connection broke.
type Reconnecting struct{}

// Waiting says that the call waits for the API's rate limit, and how many calls are ahead of it.
type Waiting struct{ Ahead int }

// Done ends a stream that got its response. The event before it is a Usage.
type Done struct {
	Status   string // "completed" or "incomplete"
	Response *Response
}

// emitter passes the events of a call on. Without yield it discards them.
type emitter struct {
	yield func(Event) bool // reports whether the caller wants more; nil: no caller
	leave func()           // called once when it does not
	gone  bool             // the caller wants no more: yield must not be called again
	next  int              // number of the next block

	// The caller wants a background response as soon as it runs.
	takesRunning bool
}

// watched reports whether a caller wants events.
func (e *emitter) watched() bool { return e.yield != nil && !e.gone }

func (e *emitter) send(ev Event) {
	if e.watched() && !e.yield(ev) {
		e.gone = true
		e.leave()
	}
}
