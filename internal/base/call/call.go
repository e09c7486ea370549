// Package call has the words that all packages share: the tools, a call of one, its person, the
// request and the response of the API, the events between them, and the kinds of errors.
//
//	tool.go      Tools: their names and words
//	call.go      Call and Person: whose call it is, who watches it, what it took
//	request.go   Request, and what models take
//	response.go  Response and its items
//	event.go     what a call's sink gets while a response is written
//	kind.go      Kind: what went wrong, as far as the hint depends on it
//	error.go     Error: why a request to the API failed
package call

import (
	"context"
	"encoding/json"
	"time"
)

// Call is one call of a tool: whose it is, who watches it, and what it took. It is made where the
// call comes in, by the MCP server or a command, and passed to all that works for it.
type Call struct {
	ID     string // X-Request-Id of a proxy, or a random one
	Person Person // without an ID over stdio and for anonymous callers, who are one person
	Tool   string // names the profile, too
	App    string // name and version of the client program, "" if it does not say

	// Traceparent is a header of the requests, which links them to the caller's trace
	// (https://www.w3.org/TR/trace-context); "": none.
	Traceparent string

	// Sink, if set, gets the events of the call, one at a time. Without it they are dropped.
	Sink func(Event)

	// WaitUntil is when the call ends with ErrWaiting if it waits for a slot or for the rate limit.
	// The zero value is never. Server.ask sets it before the call runs, WaitContext reads it, and
	// package llm clears it once a request may have cost something.
	WaitUntil time.Time

	// What the call took, also if it failed. These change until it has ended.
	Attempts  int           // requests that were sent
	Time      time.Duration // of these requests, each until the end of its response
	Waited    time.Duration // for the rate limit
	Ahead     int           // calls before this one while it waits, and when ErrWaiting ends it
	RequestID string        // of the last response, known as soon as its header is there
	Usage     Usage         // of all responses that report it
	Unknown   int           // requests that may have used tokens, which were not reported
	Searches  int           // billable ones if the API reports them, else those in the output

	// What the call has taken of the limits of its person, see package budget.
	Reserved int64  // tokens
	Stored   bool   // in the store
	Unsure   bool   // the store has not said whether
	Limit    string // the one that refused the call: hour, day or all; "": none

	Input  []json.RawMessage // of the request, whose words an error may repeat
	Blocks int               // that have started
	Unread error             // a RootsError of the last request, which openai-go does not pass on
}

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

// ErrWaiting is the cause of the end of a call at its WaitUntil.
var ErrWaiting = KindTimeout.Errorf("the call still waits")

// WaitContext returns a context for waiting.
func (c *Call) WaitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.WaitUntil.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, c.WaitUntil, ErrWaiting)
}

// Ended counts a request that was sent at that time.
func (c *Call) Ended(sent time.Time) {
	c.Attempts++
	c.Time += time.Since(sent)
}
