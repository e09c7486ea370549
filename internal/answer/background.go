package answer

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// Why Fetch has no answer, besides context.Canceled for a response that was cancelled.
var (
	ErrGone = llm.KindNotFound.Errorf("the API does not have the answer any more")

	// ErrRunning is not the end of a question, so it has no kind.
	ErrRunning = errors.New("the answer is not complete")

	// ErrUnknown is an ErrRunning where the API did not tell the state: the answer may be complete.
	ErrUnknown = fmt.Errorf("%w, as far as is known", ErrRunning)
)

// Start asks q in the background of the API, and returns the id of the response, for Fetch and
// CancelResponse. If the API has answered at once, it returns the answer and no id. The error is
// llm.ErrNoBackground where Ask is to be used instead.
func (a *Answerer) Start(
	ctx context.Context, call *llm.Call, q Question,
) (id string, ans *Answer, err error) {
	began := time.Now()
	req := a.request(ctx, call.Tool, q)
	resp, err := a.o.Client.Start(ctx, call, req)
	if err != nil {
		return "", nil, err
	}
	if resp.Running() {
		return resp.ID, nil, nil
	}
	ans, err = a.single(resp, q.ExcludeDomains, req.Model, began)
	return "", ans, err
}

// Fetch returns the answer of a response that Start began at a time. It is that of Ask, except that
// nothing is asked again, and that its times are those of the API. The error may be one of this
// file; after ErrRunning the next Fetch may have the answer.
func (a *Answerer) Fetch(
	ctx context.Context, call *llm.Call, id string, began time.Time,
) (*Answer, error) {
	resp, err := a.o.Client.Get(ctx, call, id, include)
	if err != nil {
		return nil, fetchError(err)
	}
	switch {
	case resp.Running():
		return nil, ErrRunning
	case resp.Status == "cancelled":
		return nil, context.Canceled
	case resp.Failure != nil:
		return nil, resp.Failure
	}

	ans, err := a.single(resp, nil, a.o.Profiles[call.Tool].Model, began)
	if err == nil && resp.CompletedAt > 0 { // the API says it of complete responses only
		seconds := max(0, resp.CompletedAt-resp.CreatedAt)
		ans.Meta.Elapsed = time.Duration(seconds * float64(time.Second))
	}
	return ans, err
}

// fetchError returns the error of Fetch where the API did not tell the state of a response.
func fetchError(err error) error {
	e, ok := errors.AsType[*llm.Error](err)
	if ok && e.Lost && e.Status != http.StatusOK {
		return ErrGone
	}
	switch llm.KindOf(err) {
	case llm.KindRateLimit, llm.KindQuota, llm.KindServer, llm.KindConnection, llm.KindTimeout:
		return ErrUnknown
	}
	return err
}

// CancelResponse cancels a response that Start began.
func (a *Answerer) CancelResponse(ctx context.Context, call *llm.Call, id string) error {
	return a.o.Client.Cancel(ctx, call, id)
}

// single makes the answer of one response to a question that excluded these domains and was asked
// at a time.
func (a *Answerer) single(
	resp *llm.Response, excluded []string, model string, began time.Time,
) (*Answer, error) {
	r := &reading{excluded: excluded}
	r.add(resp)
	return a.compose(r, model, began)
}
