package answer

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// Why Fetch has no answer, besides the error of a response that has failed or was cancelled.
var (
	ErrGone = call.KindNotFound.Errorf("the API does not have the answer any more")

	// ErrRunning is not the end of a question, so it has no kind.
	ErrRunning = errors.New("the answer is not complete")

	// ErrUnknown is an ErrRunning where the API did not tell the state: the answer may be complete.
	ErrUnknown = fmt.Errorf("%w, as far as is known", ErrRunning)
)

// Origin is all there is to know about a response in the background, and what its question asked.
type Origin struct {
	Created  time.Time // when its call began, in milliseconds
	Tool     string    // no string has a NUL
	Response string    // ID at the API
	Excluded string    // domains that the answer does not cite, separated by blanks

	Unreserved bool // that of its call
}

// Fetch returns the answer of a response in the background. It is that of Ask, except that nothing
// is asked again, and that its times are those of the API. The error may be one of this file; after
// ErrRunning the next Fetch may have the answer.
func (a *Answerer) Fetch(ctx context.Context, c *call.Call, from Origin) (*Answer, error) {
	p := a.o.Profiles[from.Tool]
	resp, err := a.o.Get(ctx, c, from.Response, p.Model, searchSources)
	e, ofAPI := errors.AsType[*call.Error](err)
	switch {
	case ofAPI && e.Lost:
		return nil, ErrGone
	case call.KindOf(err) == call.KindFailed: // too large, for example
		return nil, err
	case err != nil: // another key, a proxy or a web page says nothing about the question
		return nil, ErrUnknown
	case resp.Running():
		return nil, ErrRunning
	case resp.Failure != nil:
		return nil, resp.Failure
	}

	r := &reading{blocked: p.Search.Blocked(strings.Fields(from.Excluded))}
	r.add(resp)
	ans, err := a.compose(c, r, p, from.Created)
	if err == nil && resp.CompletedAt > 0 { // the API says it of complete responses only
		seconds := resp.CompletedAt - resp.CreatedAt
		ans.Meta.Elapsed = time.Duration(seconds * float64(time.Second))
	}
	return ans, err
}
