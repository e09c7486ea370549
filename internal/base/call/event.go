package call

// Event is one step of a call. The blocks of a call are numbered from 0 over all its requests,
// retries included.
type Event interface {
	// EventType returns the type of the line that ask --events prints for the event; "": it prints
	// none. The line also has the fields of the event that have json tags. Done is printed with the
	// answer.
	EventType() string
}

func (BlockStart) EventType() string    { return "block_start" }
func (BlockDelta) EventType() string    { return "block_delta" }
func (BlockStop) EventType() string     { return "block_stop" }
func (Search) EventType() string        { return "search" }
func (Retrying) EventType() string      { return "" }
func (ResponseNamed) EventType() string { return "" }
func (Reconnecting) EventType() string  { return "" }
func (Waiting) EventType() string       { return "" }
func (Requesting) EventType() string    { return "" }
func (Usage) EventType() string         { return "usage" }
func (Done) EventType() string          { return "" }

// The values of BlockStart.Kind.
const (
	BlockText     = "text"     // output text, refusals included
	BlockThinking = "thinking" // reasoning, raw or summarized; may have no delta
	BlockToolUse  = "tool_use" // the input of a function or a custom tool
	BlockSearch   = "search"   // one web search call; has no delta
)

// BlockStart opens a block. Each block gets exactly one BlockStop, even if the stream breaks.
type BlockStart struct {
	Index int    `json:"index"`          // the number of the block
	Kind  string `json:"kind"`           // BlockText, for example
	ID    string `json:"id"`             // the id of the item; for a tool the call_id
	Name  string `json:"name,omitempty"` // of the tool
}

// BlockDelta adds text to a block. Exactly one of the texts is set.
type BlockDelta struct {
	Index    int    `json:"index"`
	Text     string `json:"text,omitempty"`
	Thinking string `json:"thinking,omitempty"`

	// InputJSON is part of the arguments of a function, or of the free text of a custom tool.
	InputJSON string `json:"input_json,omitempty"`
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

// Retrying announces another attempt. What the failed attempt has streamed is void.
type Retrying struct {
	Attempt int       // the number of the next attempt, from 2 on
	Err     *APIError // why the last attempt failed
}

// ResponseNamed says that a response runs in the background of the API under this id. Each attempt
// that the API accepts has a response of its own.
type ResponseNamed struct{ ID string }

// Reconnecting announces that the response goes on although its connection broke.
type Reconnecting struct{}

// Waiting says that the call waits for the API's rate limit, not for a slot. Ahead is how many
// calls are certainly ahead of the call. Because people take turns, Ahead is 0 for the first call
// of each person (queue.Queue.Ahead).
type Waiting struct{ Ahead int }

// Requesting announces a requery, or a request after Waiting. The first request of a call has no
// Requesting if it does not wait. What was streamed before Requesting is not a part of the response
// to the request.
type Requesting struct{}

// Done ends a call that got its response. The event before it is a Usage.
type Done struct {
	Status   string `json:"status"` // "completed" or "incomplete"
	Streamed bool   `json:"-"`      // the response came as a stream
}
