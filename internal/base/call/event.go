package call

// Event is one step of a response that is being written: BlockStart, BlockDelta, BlockStop, Search,
// Retrying, Created, Reconnecting, Waiting, Usage or Done. Blocks are numbered from 0 over
// everything that one call takes: retries and further requests included. Events with tags are
// printed as JSON.
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
	Index int    `json:"index"`
	Kind  string `json:"kind"`
	ID    string `json:"id"`             // item id; for a tool the call_id
	Name  string `json:"name,omitempty"` // of the tool
}

// BlockDelta adds to a block. Exactly one of the texts is set.
type BlockDelta struct {
	Index     int    `json:"index"`
	Text      string `json:"text,omitempty"`
	Thinking  string `json:"thinking,omitempty"`
	InputJSON string `json:"input_json,omitempty"` // arguments of a function, or free text of a custom tool
}

// BlockStop closes the block with the number Index.
type BlockStop struct {
	Index int `json:"index"`
}

// Search says what a web search call does.
type Search struct {
	Action string `json:"action"`          // "search", "open_page" or "find_in_page"
	Query  string `json:"query,omitempty"` // the first one when there are several
	URL    string `json:"url,omitempty"`
}

// Retrying announces another attempt. Everything streamed so far is void.
type Retrying struct {
	Attempt int    // number of the attempt that follows, from 2 on
	Err     *Error // why the last one failed
}

// Created says that a response runs in the background of the API under this id. It follows each
// attempt that the API takes.
type Created struct{ ID string }

// Reconnecting announces that the response goes on although its connection broke.
type Reconnecting struct{}

// Waiting says that the call waits for the API's rate limit, and how many calls are ahead of it.
type Waiting struct{ Ahead int }

// Done ends a call that got its response. The event before it is a Usage.
type Done struct {
	Status   string `json:"status"` // "completed" or "incomplete"
	Streamed bool   `json:"-"`      // came as a stream
}
