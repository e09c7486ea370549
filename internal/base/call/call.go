// Package call has the words that all packages share: the tools, a call of one, its person, the
// request and the response of the API, the events between them, and the kinds of errors.
//
//	tool.go      Tools: their names and words
//	call.go      Call, Person and Used: who asks, and what a call used
//	request.go   Request, and what models take
//	response.go  Response and its items
//	event.go     what a call's sink gets while a response is written
//	price.go     Price: what a model costs
//	kind.go      Kind: what went wrong, as far as the hint depends on it
//	error.go     Error: why a request to the API failed
package call

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Call is one call of a tool: who asks, and what it used. It is made where it comes in, in the MCP
// server or a command, which passes it to all that works for it.
type Call struct {
	ID     string // X-Request-Id of a proxy, or a random one
	Person Person // without an ID over stdio and for anonymous callers, who are one person
	Tool   string // names the profile, too
	App    string // name and version of the client program, "" if it does not say

	// Traceparent is a header of the requests, which links them to the caller's trace
	// (https://www.w3.org/TR/trace-context); "": none.
	Traceparent string

	// Sink, if set, gets the events of the call, one at a time. Without it they are dropped.
	// Package tasks sets it before the call runs.
	Sink func(Event)

	// WaitUntil is when the call ends with ErrWaiting if it waits for a slot or for the rate limit.
	// The zero value is never. Package server sets it before the call runs, and llm sets it to zero
	// after a request, unless a 4xx says that nothing was begun.
	WaitUntil time.Time

	Used
}

// Used is what a call used so far, also if it failed. Each field names the package that writes it.
type Used struct {
	Attempts   int               // llm: requests that were sent
	Time       time.Duration     // llm: of these requests, each until the end of its response
	Waited     time.Duration     // llm: for the rate limit
	RequestID  string            // llm: of the last response, known as soon as its header is there
	Usage      Usage             // llm: of all responses that report it
	Unreported int               // llm: requests that may have used tokens, which were not reported
	Begun      int               // llm: of Unreported, those of which a search or text has come, or after ErrLeftToAPI
	Guessed    int64             // budget: tokens that stand for those of Unreported
	Searches   int               // llm: billable ones if the API reports them, else those in the output
	Blocks     int               // llm: that have started
	Input      []json.RawMessage // llm: of the last request, whose words an error may repeat
	RootsErr   error             // llm: the RootsError of the last request; openai-go does not pass it on

	// Ahead is how many calls are before this one: llm sets it while the call waits, and people
	// when its wait ends without a slot.
	Ahead int

	RefusedBy  string // budget: the name of the quota that refused the call; "": none
	NearLimit  string // budget: what is used of a quota that is nearly used up; "": none is
	Unreserved bool   // budget: no store has reserved anything for the call
}

// Anonymous is the Name of callers without a token, also over stdio.
const Anonymous = "anonymous"

// TokenHolder is what the IDs of people with a static token begin with. Those of people who sign in
// are issuer and subject, with a blank between.
const TokenHolder = "token:"

// Person is who makes a call. The API's rate limit is shared among people: they take turns, and the
// refusals of one person do not delay people who were not refused.
type Person struct {
	ID   string // unique, with the namespace of the way to authenticate
	Name string // for logs and metrics
}

// Send passes an event to the sink.
func (c *Call) Send(ev Event) {
	if c.Sink != nil {
		c.Sink(ev)
	}
}

// The context of a call ends with one of these causes, among others. All but ErrLeftToAPI cancel its
// response at the API, if that runs in the background.
//
//	context.Canceled      its client has left, or cancels it
//	server.ErrCancelled   its client cancels it over HTTP, also before a late answer has an id
//	answer.TimeoutError   the time limit of calls
//	answer.ErrShutdown    the process ends
//	ErrLeftToAPI          the process ends, and the call was detached

// ErrWaiting is the cause of the end of a call at its WaitUntil.
var ErrWaiting = KindTimeout.Errorf("the call still waits")

// ErrLeftToAPI is the cause of a context that ends without cancelling its background response at
// the API.
var ErrLeftToAPI = errors.New("the response goes on at the API")

// WaitContext returns a context for waiting.
func (c *Call) WaitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.WaitUntil.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, c.WaitUntil, ErrWaiting)
}

// CountRequest counts a request that was sent at that time and has ended.
func (c *Call) CountRequest(sent time.Time) {
	c.Attempts++
	c.Time += time.Since(sent)
}
