package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// The errors of Fetch about a response that is lost, or that may still run.
var (
	// ErrResponseLost: two GETs say that the API does not have the response.
	ErrResponseLost = call.KindNotFound.Errorf("the API does not have the answer any more")

	// ErrRunning: the next Fetch may have the answer. The question has not ended, so the error has
	// no kind.
	ErrRunning = errors.New("the answer is not complete")

	// ErrStateUnknown wraps ErrRunning: the API did not tell whether the response runs. The answer
	// may be complete already.
	ErrStateUnknown = fmt.Errorf("%w, as far as is known", ErrRunning)
)

// ResponseRef is what Fetch needs to know: which response in the background to fetch, and what its
// question asked. Package tasks seals it into an id, so its strings contain no NUL.
type ResponseRef struct {
	CallBegan  time.Time // to the millisecond
	Tool       string    // tool of its call
	ResponseID string    // id of the response at the API
	Excluded   string    // domains that the question excludes, separated by blanks

	Reservation uint16 // call.Used.Reservation of its call

	// GivenOut is true for a response from a sealed id, which a client has. It is false before an
	// id is given out: then Fetch finds out whether the API keeps responses at all.
	GivenOut bool
}

// PartialRef returns a ResponseRef with what the question asked, without the response and its call.
func (q Question) PartialRef() ResponseRef {
	return ResponseRef{Excluded: strings.Join(q.ExcludeDomains, " ")}
}

// Fetch returns the answer of a response in the background, as Ask would. It never asks again, and
// takes the elapsed time from the API. It adds to c what the response has used.
//
// The error is ErrResponseLost, ErrRunning or ErrStateUnknown, or says why the response is no
// answer. For an API without GET, the error is ErrResponseLost. If ref is GivenOut, it is
// ErrStateUnknown, because a proxy may have answered.
func (a *Answerer) Fetch(ctx context.Context, c *call.Call, ref ResponseRef) (*Answer, error) {
	p := a.options.Profiles[ref.Tool]
	response, err := a.options.Get(ctx, c, ref.ResponseID, p.Model, searchSources, ref.GivenOut)
	e, ok := errors.AsType[*call.APIError](err)
	switch {
	case ok && e.ResponseLost:
		return nil, ErrResponseLost
	case call.KindOf(err) == call.KindFailed: // too large, for example
		return nil, err
	case err != nil: // a changed key or a proxy tells nothing about the response
		return nil, ErrStateUnknown
	case response.IsRunning():
		return nil, ErrRunning
	case response.Failure != nil:
		return nil, response.Failure
	}

	f := &findings{blockedDomains: p.Search.AllBlockedDomains(strings.Fields(ref.Excluded))}
	f.addResponse(response)
	ans, err := a.compose(c, f, p, ref.CallBegan)
	if err != nil {
		return nil, err
	}
	ans.Meta.Elapsed = time.Since(ref.CallBegan)
	seconds := response.CompletedAt - response.CreatedAt // negative unless the response is complete
	if response.CreatedAt > 0 && seconds >= 0 {
		ans.Meta.Elapsed = time.Duration(seconds * float64(time.Second))
	}
	return ans, nil
}
