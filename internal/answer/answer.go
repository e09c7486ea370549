// Package answer turns a question into a request to the Responses API, and the
// response into an answer with its sources (spec §3.2 to §3.5, §6).
//
//	Question   question.go    query, hints and their defaults
//	request    request.go     the request with its web search tool
//	converse   converse.go    one call, or more when there is nothing to cite
//	watched    watch.go       the events of those calls as one run
//	compose    compose.go     response -> Answer
//	text       text.go        which messages are the answer
//	citations  citations.go   which sources it names, page.go and date.go clean them
//	Sources    sources.go     the list that ends the text
//	Live       live.go        the text while it streams, for who reads along
//	Explain    explain*.go    an error as one line that says what to do
//	Guide      guide.go       the settings that this line may name
package answer

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// A Profile is the model of a tool and how hard it thinks (spec §3.0). Empty
// fields are not sent.
type Profile struct {
	Model     string
	Effort    string // reasoning.effort
	Verbosity string // text.verbosity
	Summary   string // reasoning.summary
}

// Options is the configuration of an Answerer.
type Options struct {
	Client          *llm.Client
	Instructions    string             // sent as they are
	Profiles        map[string]Profile // by tool name, inheritance resolved
	Timeout         time.Duration      // bounds a whole question, retries included; 0: no bound
	MaxCitations    int                // citations of an answer at most; below 1: 3
	RequeryAttempts int                // how often to ask again for an answer that can be cited
	Defaults        Defaults
	Search          Search
	ExtraBody       map[string]any   // merged into the request body
	Stream          string           // true, false, or auto: when somebody watches
	Guide           func() Guide     // what advice names, asked when there is some; nil: the usual names
	Logger          *slog.Logger     // nil: discard
	Now             func() time.Time // nil: time.Now
}

// An Answerer answers questions. It is safe for concurrent use.
type Answerer struct{ o Options }

// New returns an Answerer.
func New(o Options) *Answerer {
	if o.MaxCitations < 1 {
		o.MaxCitations = 3 // spec §5.3
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	if o.Guide == nil {
		o.Guide = func() Guide { return Guide{} }
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Answerer{o: o}
}

// Explain is [Guide.Explain] of the answerer's own guide.
func (a *Answerer) Explain(profile string, err error) string {
	g := a.o.Guide()
	return g.Explain(profile, err)
}

// An Answer is the result of a tool call. Its JSON is the text of the MCP
// result and has exactly the fields of spec §3.2.
type Answer struct {
	Text       string     `json:"answer"`
	UsedSearch bool       `json:"used_search"` // a url_citation or a web_search_call was there
	Citations  []Citation `json:"citations"`   // never nil
	Model      string     `json:"model"`       // as configured in the profile
	Meta       Meta       `json:"-"`
}

// Meta is what an answer took.
type Meta struct {
	Usage         llm.Usage     // of all requests together
	ResolvedModel string        // the snapshot that the API says has answered
	ResponseID    string        // of the last response
	RequestID     string        // x-request-id of the last response
	Searches      int           // searches made; pages opened and searched within are not counted
	Elapsed       time.Duration // from the question to the answer
}

// Ask answers q with the model of the named profile (a tool name). Errors are
// those of llm, a *NoTextError, or that of an unknown profile; Explain puts
// them into words.
//
// watch, when not nil, is called with what happens meanwhile, one call at a
// time; the answer waits for it. However many requests it takes, blocks are
// numbered through, and a Usage of all of them and a Done end the run. An
// *NoTextError comes after a Done, every other error without one. With Stream
// false it all comes at the end.
func (a *Answerer) Ask(ctx context.Context, profile string, q Question, watch func(llm.Event)) (*Answer, error) {
	start := a.o.Now()
	p, ok := a.o.Profiles[profile]
	if !ok {
		return nil, fmt.Errorf("looking up profile %q: not configured", profile)
	}
	req, err := a.request(p, q.withDefaults(a.o.Defaults))
	if err != nil {
		return nil, err
	}
	a.logRequest(ctx, profile, req)
	ctx, cancel := a.bound(ctx)
	defer cancel()
	rounds, err := a.converse(ctx, req, &watched{watch: watch})
	if err != nil {
		return nil, err
	}
	now := a.o.Now()
	ans, err := compose(rounds, a.o.MaxCitations, today(now))
	if err != nil {
		return nil, err
	}
	ans.Model = p.Model
	// time.Now knows what has passed when somebody sets the clock; others may not.
	ans.Meta.Elapsed = max(now.Sub(start), 0)
	return ans, nil
}

// bound puts the one timeout around a question. Its cause carries the limit:
// llm wraps it, so Explain can name it.
func (a *Answerer) bound(ctx context.Context) (context.Context, context.CancelFunc) {
	if a.o.Timeout <= 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, a.o.Timeout, &timeoutError{Limit: a.o.Timeout})
}

// timeoutError says that a question took longer than request.timeout_ms.
type timeoutError struct{ Limit time.Duration }

func (e *timeoutError) Error() string {
	return "timed out after " + decimal(e.Limit.Seconds()) + " s"
}

// logRequest writes the debug lines of spec §8.1.
func (a *Answerer) logRequest(ctx context.Context, profile string, r llm.Request) {
	if !a.o.Logger.Enabled(ctx, slog.LevelDebug) {
		return
	}
	can := llm.CapabilityOf(r.Model)
	a.o.Logger.DebugContext(ctx, fmt.Sprintf("answer: profile=%s model=%s supports={verbosity:%t, reasoning:%t}",
		profile, r.Model, can.Verbosity, can.Reasoning))
	a.o.Logger.DebugContext(ctx, fmt.Sprintf("answer: request summary tools=web_search(%s) reasoning=%s text.verbosity=%s",
		onOff(len(r.Tools) > 0), onOff(can.Reasoning && r.Effort != ""), onOff(can.Verbosity && r.Verbosity != "")))
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
