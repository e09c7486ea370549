// Package call has the types that all packages share: the tools, a call of a tool, the person who
// makes it, the request and the response of the API, the events between them, and the kinds of
// errors.
//
//	tool.go      Tools: their names and texts
//	call.go      Call, Person and Used: who asks, and what a call used
//	cause.go     the causes with which the context of a call ends
//	request.go   Request, and what models take
//	response.go  Response and its items
//	event.go     what a call's sink gets while a response is written
//	price.go     Price: what a model costs
//	kind.go      Kind: what went wrong, as far as the hint depends on it
//	error.go     APIError: why a request to the API failed
package call

import (
	"context"
	"encoding/json"
	"time"
)

// Call is one call of a tool: who asks, and what the call has used. The MCP server makes a Call
// from a request, a command from its arguments. All functions that work for the call get it. While
// the call runs, only its goroutine uses it.
type Call struct {
	ID     string // X-Request-Id of a proxy, or a random one
	Person Person // without a token all callers are one person, for limits and turns
	Tool   string // the name of the tool, and of its profile
	App    string // name and version of the client program; "": not known

	Began time.Time // when the MCP server read its request; zero for a command such as ask

	// Traceparent is sent as a header of each request to the API, which links the request to the
	// caller's trace (https://www.w3.org/TR/trace-context); "": none.
	Traceparent string

	// Sink, if set, gets the events of the call, one at a time. Without a sink they are dropped.
	// For a call of the MCP server, package tasks sets the sink before the call runs. While
	// tasks.Tasks.Close stops the calls, this sink waits, so that no call begins another response.
	Sink func(Event)

	// WaitDeadline is when a wait for a slot or for the rate limit ends the call with ErrWaiting;
	// zero: never. Package tasks sets it before the call runs. ErrWaiting promises that the API has
	// not taken the question, so package llm sets WaitDeadline to zero once it may have:
	// exchange.post has the cases. For example, a call that waits after a 429 still has it.
	WaitDeadline time.Time

	Used // what the responses have used is in Used.Reported, such as c.Usage
}

// Used is what is known of a call so far, even if it fails: what it has used, and what later steps
// need. Each comment names the package that writes the field. Package server also writes some
// fields, for a call of another process whose end this process reads.
type Used struct {
	Requests      int           // llm: POSTs of requests, repeats and those without a connection too
	Retries       int           // llm: attempts after the first one of a request
	APITime       time.Duration // llm: the sum over these requests, each to the end of its response
	RateLimitWait time.Duration // llm: how long the call waited for the rate limit
	APIRequestID  string        // llm: of the last response, set as soon as its header has arrived
	Reported                    // llm: the sum over all responses that report it

	// UnreportedRequests (llm) counts the requests that may have used tokens which no response
	// reported. UnreportedBegun (llm) counts those of them that had begun their work
	// (exchange.countUnreported):
	//
	//   - a search, another tool or text had arrived
	//   - the API may go on with the response after the end of the call
	//   - the call ended while the API had told nothing
	//
	// GuessedTokens (budget) is how many tokens count for all UnreportedRequests.
	UnreportedRequests int
	UnreportedBegun    int
	GuessedTokens      int64

	Blocks int // llm: blocks that have started, in all responses

	// RequestInput (llm) is the input of the last request. An error may repeat words of the input,
	// and its length is a guess at its tokens. Package budget clears it where the guess would be
	// too high.
	RequestInput []json.RawMessage

	// Ahead is how many calls were before this one when it gave up waiting: for the rate limit
	// (llm) or for a slot (people).
	Ahead int

	RefusedBy string // budget: the name of the quota that refused the call, or "store"; "": none
	NearLimit string // budget: how much is used of a quota that is nearly used up; "": none is

	// Reservation (budget) is a hash of what the store has reserved for the call, and of which
	// quotas. 0: as far as is known, nothing.
	Reservation uint16
}

// Reported is what responses have used, as the API reports it. For a response without a report of
// its searches, the searches in its output count.
type Reported struct {
	Usage    Usage // in a sum of responses its ReportedSearches is nil: Searches has them
	Searches int   // billable ones
}

// Add adds what another response has used.
func (r *Reported) Add(other Reported) { r.addMultiple(1, other) }

// Minus returns what r has and other does not.
func (r Reported) Minus(other Reported) Reported {
	r.addMultiple(-1, other)
	return r
}

func (r *Reported) addMultiple(n int, other Reported) {
	r.Usage.AddTokens(int64(n), other.Usage)
	r.Searches += n * other.Searches
}

// Anonymous is the Name of callers without a token, also over stdio.
const Anonymous = "anonymous"

// TokenIDPrefix is the prefix of the ID of a person with a static token. The ID of a person who
// signs in is the issuer and the subject, separated by a space.
const TokenIDPrefix = "token:"

// Person is who makes a call. The API's rate limit is shared among people: they take turns, and the
// refusals of one person do not delay people who were not refused.
type Person struct {
	ID   string // unique, see TokenIDPrefix; "": a caller without a token, also over stdio
	Name string // for logs and metrics
}

// Emit passes an event to the sink, if there is one.
func (c *Call) Emit(ev Event) {
	if c.Sink != nil {
		c.Sink(ev)
	}
}

// CountRequest counts a request that was sent at the time sent and ends now.
func (c *Call) CountRequest(sent time.Time) {
	c.Requests++
	c.APITime += time.Since(sent)
}

// ErrWaiting is the error of a call that ends at its WaitDeadline, because it still waits for a
// slot or for the rate limit. ErrWaiting ends the context of the wait (WaitContext), not the
// context of the call. The error is not retried. The outcome of the call is waiting.
var ErrWaiting = KindTimeout.Errorf("the call still waits")

// WaitContext returns a context to wait for a slot or for the rate limit: at WaitDeadline it ends
// with the cause ErrWaiting.
func (c *Call) WaitContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.WaitDeadline.IsZero() {
		return ctx, func() {}
	}
	return context.WithDeadlineCause(ctx, c.WaitDeadline, ErrWaiting)
}
