// Package answer turns a question into a request to the Responses API, and the
// response into an answer with its sources (spec §3.2 to §3.5 and §6).
//
//	answer.go     the Answerer, and what goes in and out
//	question.go   the arguments of the tools -> question
//	request.go    question and profile -> request with its web search tool
//	memory.go     the last answers, for questions that continue one
//	converse.go   one request, or more when there is nothing to cite
//	background.go a request that the API answers later
//	stage.go      an event of a request -> words for a status line
//	reading.go    what the responses say: text, sources, figures
//	compose.go    reading -> Answer
package answer

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/cite"
)

// Profile is how a tool answers: its model and what its search is like.
type Profile struct {
	call.Profile
	MaxCitations int // 0: 3
	Search       Search
	Defaults     Defaults
	UserLocation *Location   // nil: not sent
	Price        *call.Price // of the model; nil: not known
}

// Cost returns what a call of the tool cost, in USD, or nil if the model has no price.
func (p Profile) Cost(used call.Used) *float64 {
	if p.Price == nil {
		return nil
	}
	return new(p.Price.Cost(used.Usage, used.Searches))
}

// Options configures an Answerer.
type Options struct {
	// Create asks the API, and Get asks it for a response in the background (llm.Client).
	Create func(context.Context, *call.Call, call.Request) (*call.Response, error)
	Get    func(
		ctx context.Context, c *call.Call, id, model string, include []string,
	) (*call.Response, error)

	Instructions string             // sent unchanged
	Profiles     map[string]Profile // by tool name, with inheritance resolved
	Requeries    int                // further requests for an answer without text or sources
	ExtraBody    map[string]any     // merged into the request body
	Stream       string             // "false": plain calls; else streams
	Memory       bool               // answers are remembered for Question.FollowUpTo
	OnePerson    bool               // calls of a person without an ID are all of one person
	Location     *time.Location     // of all dates; nil: UTC
	Logger       *slog.Logger       // nil: discard
}

// Answerer answers questions. It is safe for concurrent use.
type Answerer struct {
	o      Options
	memory memory
}

// New returns an Answerer.
func New(o Options) *Answerer {
	o.Location = cmp.Or(o.Location, time.UTC)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Answerer{o: o}
}

// Answer is the result of a tool call. Its JSON is the text of the MCP result,
// with exactly the fields of spec §3.2.
type Answer struct {
	Text       string          `json:"answer"`
	UsedSearch bool            `json:"used_search"` // spec §3.3
	Citations  []cite.Citation `json:"citations"`   // never nil
	Model      string          `json:"model"`       // as configured in the profile
	Meta       Meta            `json:"-"`

	// Sources are all that the answer cites: MaxCitations does not apply. Their dates do not count.
	Sources []cite.Citation `json:"-"`
}

// Meta says what an answer took.
type Meta struct {
	Usage         call.Usage    // of all requests
	ResolvedModel string        // the model that the API names, often a dated snapshot
	ServiceTier   string        // that served the last response, "" if the API does not say
	ResponseID    string        // of the last response
	RequestID     string        // X-Request-Id of the last response
	Searches      int           // billable ones if the API reports them, else those in the output
	Queries       []string      // of the searches, the first ones
	Opened        []string      // URLs of pages that the model opened, the first ones
	FollowUp      string        // what the model got of Question.FollowUpTo: "answer", "question" or ""
	Cost          *float64      // in USD; nil: the model has no price
	NearLimit     string        // that of call.Used, set by package server
	Retries       int           // of all requests
	Elapsed       time.Duration // from question to answer
}

// TimeoutError is the time limit that a question exceeded.
type TimeoutError time.Duration

func (e TimeoutError) Error() string {
	return fmt.Sprintf("timed out after %v s", time.Duration(e).Seconds())
}

// ErrorKind returns the kind, for call.KindOf.
func (e TimeoutError) ErrorKind() call.Kind { return call.KindTimeout }

// ErrShutdown is the cause of the end of a question that the server no longer waits for.
var ErrShutdown = call.KindShutdown.Errorf("the server restarts")

// WithTimeout bounds a question with a TimeoutError.
func WithTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	return context.WithTimeoutCause(ctx, d, TimeoutError(d))
}

// Ask answers q with the profile that is named as the tool of the call, until ctx ends (see
// WithTimeout). Its errors are *call.Error, or of call.KindNoText and say why there is no answer:
// "incomplete: max_output_tokens". A Usage of all requests and a Done end the events of the call,
// unless a request has failed: an answer without text has them, too.
func (a *Answerer) Ask(ctx context.Context, c *call.Call, q Question) (*Answer, error) {
	began := time.Now()
	p := a.o.Profiles[c.Tool]
	req := a.request(ctx, c.Tool, p, q)
	r := &reading{blocked: p.Search.Blocked(q.ExcludeDomains)}

	earlier, followUp := a.earlier(c, q, r.blocked)
	req.Input = append(earlier, req.Input...)
	err := a.converse(ctx, c, req, r)
	if err != nil {
		return nil, err
	}

	c.Send(c.Usage)
	status := r.last.Status
	if r.incomplete != "" {
		status = "incomplete"
	}
	c.Send(call.Done{
		Status:   status,
		Streamed: r.last.Streamed,
	})

	ans, err := a.compose(c, r, p, began)
	if err != nil {
		return nil, err
	}
	ans.Meta.FollowUp = followUp
	if r.incomplete == "" {
		a.remember(c, q, ans)
	}
	return ans, nil
}

// date is the date of t, YYYY-MM-DD.
func (a *Answerer) date(t time.Time) string {
	return t.In(a.o.Location).Format(time.DateOnly)
}

// logRequest writes the debug lines of spec §8.1.
func (a *Answerer) logRequest(ctx context.Context, profile string, p call.Profile) {
	can := call.CapabilityOf(p.Model)
	reasoning := onOff(can.Reasoning && p.ReasoningEffort != "")
	verbosity := onOff(can.Verbosity && p.Verbosity != "")

	a.o.Logger.DebugContext(ctx, fmt.Sprintf(
		"answer: profile=%s model=%s supports={verbosity:%t, reasoning:%t}",
		profile, p.Model, can.Verbosity, can.Reasoning))
	a.o.Logger.DebugContext(ctx, "answer: request summary tools=web_search(on)"+
		" reasoning="+reasoning+" text.verbosity="+verbosity)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
