package llm

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
