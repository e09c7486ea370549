// Package answer turns a question into a request to the Responses API, and the response into an
// answer with its sources (spec §3.2 to §3.5 and §6).
//
//	answer.go     the Answerer, its options and the Answer
//	question.go   the arguments of the tools -> question
//	request.go    question and profile -> request with its web search tool
//	memory.go     the last answers, for questions that follow up on one
//	converse.go   one request, or more if the response has no text or no sources
//	background.go the answer of a response in the background
//	stage.go      an event of a call -> words for a status line
//	findings.go   what the responses contain: text, sources, searches
//	compose.go    findings -> Answer
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

// Profile is how a tool answers: its model and parameters, and the options of its search.
type Profile struct {
	call.ModelSettings
	MaxCitations int // most citations of an answer; 0: defaultMaxCitations
	Search       WebSearch
	Defaults     Defaults      // defaults of the arguments
	UserLocation *UserLocation // where the user is; nil: not sent
	Price        *call.Price   // what the model costs; nil: unknown
}

// Cost returns what a call of the tool cost, in USD, or nil if the price of the model is unknown.
func (p Profile) Cost(used call.Used) *float64 {
	if p.Price == nil {
		return nil
	}
	return new(p.Price.Cost(used.Usage, used.Searches))
}

// Options configures an Answerer.
type Options struct {
	// Create sends a request, and Get asks for a response in the background, as the methods of
	// llm.Client do. givenOut is ResponseRef.GivenOut: then only a 404 with an error object means
	// that the API has lost the response.
	Create func(context.Context, *call.Call, call.Request) (*call.Response, error)
	Get    func(
		ctx context.Context, c *call.Call, id, model string, include []string, givenOut bool,
	) (*call.Response, error)

	Instructions string             // sent unchanged with every request
	Profiles     map[string]Profile // by the name of the tool, with inheritance resolved
	Requeries    int                // how often to ask again for missing text or sources
	ExtraBody    map[string]any     // merged into the request body
	NoStream     bool               // ask for plain responses instead of streams
	Memory       bool               // remember answers for Question.FollowUpTo
	OnePerson    bool               // all calls without a person's ID are of the same person
	Location     *time.Location     // time zone of all dates; nil: UTC
	Logger       *slog.Logger       // nil: discard
}

// Answerer answers questions. It is safe for concurrent use.
type Answerer struct {
	options Options
	memory  memory
}

// New returns an Answerer.
func New(o Options) *Answerer {
	o.Location = cmp.Or(o.Location, time.UTC)
	o.Logger = cmp.Or(o.Logger, slog.New(slog.DiscardHandler))
	return &Answerer{options: o}
}

// Answer is the result of a tool call. Its JSON is the text of the MCP result, with exactly the
// fields of spec §3.2.
type Answer struct {
	Text       string          `json:"answer"`
	UsedSearch bool            `json:"used_search"` // a search was made or a page cited (spec §3.3)
	Citations  []cite.Citation `json:"citations"`   // never nil
	Model      string          `json:"model"`       // as configured in the profile
	Meta       Meta            `json:"-"`

	// Sources are all sources of the answer, not only those in Citations. They have only the dates
	// that the server reports.
	Sources []cite.Citation `json:"-"`
}

// Meta describes how an answer came about, and what it took.
type Meta struct {
	call.Reported // of all requests

	ResolvedModel string        // the model that the API names, often a dated snapshot
	ServiceTier   string        // of the last response; "": the API does not report it
	ResponseID    string        // of the last response
	RequestID     string        // X-Request-Id of the last response
	Queries       []string      // of the searches, at most maxSteps
	Opened        []string      // URLs of pages that the model opened, at most maxSteps
	FollowUp      string        // what the model got for FollowUpTo: "answer", "question" or ""
	Cost          *float64      // in USD; nil: the price of the model is unknown
	NearLimit     string        // call.Used.NearLimit, set by package server
	Elapsed       time.Duration // from the question to the answer
}

// Ask answers q with the profile of the call's tool, until ctx ends (see call.WithTimeout). The
// error is a *call.APIError or, without a text, of call.KindNoText, with the reason: "incomplete:
// max_output_tokens". The last events of the call are a Usage of all requests and a Done, unless
// the error is an APIError.
func (a *Answerer) Ask(ctx context.Context, c *call.Call, q Question) (*Answer, error) {
	began := cmp.Or(c.Began, time.Now()) // the time of a call includes its waits
	p := a.options.Profiles[c.Tool]
	asked := time.Now() // its day is that of the hints: the wait for a slot may end after midnight
	request := a.request(ctx, c.Tool, p, q)
	f := &findings{blockedDomains: p.Search.AllBlockedDomains(q.ExcludeDomains)}

	earlier, followUp := a.earlierMessages(c, q, f.blockedDomains)
	request.Input = append(earlier, request.Input...)
	err := a.converse(ctx, c, request, f)
	if err != nil {
		return nil, err
	}

	c.Emit(c.Usage) // a call.Usage is an Event, too
	status := "completed"
	if f.incompleteNote != "" {
		status = "incomplete"
	}
	c.Emit(call.Done{
		Status:   status,
		Streamed: f.lastResponse.Streamed,
	})

	ans, err := a.compose(c, f, p, asked)
	if err != nil {
		return nil, err
	}
	ans.Meta.Elapsed = time.Since(began)
	ans.Meta.FollowUp = followUp
	if f.incompleteNote == "" {
		a.remember(c, q, ans)
	}
	return ans, nil
}

// date returns the date of t in the configured time zone, as YYYY-MM-DD.
func (a *Answerer) date(t time.Time) string {
	return t.In(a.options.Location).Format(time.DateOnly)
}

// logRequest writes the debug lines of spec §8.1.
func (a *Answerer) logRequest(ctx context.Context, profile string, p call.ModelSettings) {
	can := call.CapabilityOf(p.Model)
	reasoning := onOff(can.Reasoning && p.ReasoningEffort != "")
	verbosity := onOff(can.Verbosity && p.Verbosity != "")

	a.options.Logger.DebugContext(ctx, fmt.Sprintf(
		"answer: profile=%s model=%s supports={verbosity:%t, reasoning:%t}",
		profile, p.Model, can.Verbosity, can.Reasoning))
	a.options.Logger.DebugContext(ctx, "answer: request summary tools=web_search(on)"+
		" reasoning="+reasoning+" text.verbosity="+verbosity)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
