package llm

// Event is what a caller of Client.Stream sees of a response that is being
// written. Blocks are numbered in the order of their start, from 0 on and over
// everything that one call takes: repeated tries and rounds with tools too.
type Event interface{ event() }

// A Kind of block.
const (
	BlockText     = "text"     // what the model says, refusals included
	BlockThinking = "thinking" // reasoning, raw or summarized; may have no delta
	BlockToolUse  = "tool_use" // input of a function or custom tool
	BlockSearch   = "search"   // one web search call
)

// BlockStart opens a block. Every block that starts is stopped, also when the
// stream breaks off.
type BlockStart struct {
	Index int    // number of the block
	Kind  string // BlockText, BlockThinking, BlockToolUse or BlockSearch
	ID    string // of the item; for a tool the call_id
	Name  string // of the tool
}

// BlockDelta adds to a block. Exactly one of the texts is set.
type BlockDelta struct {
	Index     int // number of the block
	Text      string
	Thinking  string
	InputJSON string // arguments of a function, or free text of a custom tool
}

// BlockStop closes the block with the number Index.
type BlockStop struct{ Index int }

// Searching tells what a web search call does, as soon as it is known.
type Searching struct {
	Action string // "search", "open_page", "find_in_page" or what comes next
	Query  string
	URL    string
}

// Retrying says that what was streamed so far is void: the call starts again.
type Retrying struct {
	Attempt int // number of the try that begins, from 2 on
	Err     *Error
}

// Done ends a stream that got its response. The event before it is a Usage.
type Done struct {
	Status   string // "completed" or "incomplete"
	Response *Response
}

func (BlockStart) event() {}
func (BlockDelta) event() {}
func (BlockStop) event()  {}
func (Searching) event()  {}
func (Retrying) event()   {}
func (Usage) event()      {}
func (Done) event()       {}
