package llm

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
)

// A response with background: true runs at the API without a connection
// (https://platform.openai.com/docs/guides/background). None of the requests in this file waits for
// the pacer.

// cancelTime bounds the request that cancels a response.
const cancelTime = 3 * time.Second

var (
	// ErrNoBackground: the API runs no response of the model in the background, or loses it.
	ErrNoBackground = errors.New("the API does not run this response in the background")

	// ErrDetached is the cause of a context that ends without cancelling its background response at
	// the API.
	ErrDetached = errors.New("the response goes on at the API")
)

// noSequence is the number before the first event of a stream.
const noSequence = -1

// job is a response that may run in the background. It does once it has an id, and until it has an
// end.
type job struct {
	model   string
	include []responses.ResponseIncludable // for each GET

	id    string    // "": the API has not named it as a background response
	ended *Response // also one that failed; nil: it runs

	// Sequence numbers of events. Those up to skip were read from an earlier connection.
	last float64
	skip float64
}

// newJob returns the job of a request with these elements of include. The API refuses to repeat
// encrypted reasoning.
func newJob(model string, include []string) *job {
	j := &job{
		model: model,
		last:  noSequence,
		skip:  noSequence,
	}
	for _, element := range include {
		if element != encryptedReasoning {
			j.include = append(j.include, responses.ResponseIncludable(element))
		}
	}
	return j
}

// jobOf returns the job of a request body, nil if it does not ask for background.
func jobOf(body []byte) *job {
	if !inBackground(body) {
		return nil
	}

	var include []string
	for _, element := range included(body) {
		include = append(include, element.Str)
	}
	return newJob(gjson.GetBytes(body, "model").Str, include)
}

// inBackground reports whether a request body asks for background.
func inBackground(body []byte) bool { return gjson.GetBytes(body, "background").Bool() }

// running reports whether the response runs in the background.
func (j *job) running() bool { return j != nil && j.id != "" && j.ended == nil }

// skips reports whether an event was read from an earlier connection, and notes its number.
func (j *job) skips(ev streamEvent) bool {
	if ev.Sequence == nil {
		return false
	}
	if *ev.Sequence <= j.skip {
		return true
	}
	j.last = *ev.Sequence
	return false
}

// Start starts a response in the background and returns it, queued or in progress, or complete
// where the API answers at once. The request is not a stream. Before Start returns a response that
// runs, it has fetched it once. If ctx ends earlier, the response is cancelled.
//
// Every error is an *Error. It is ErrNoBackground where the API refuses background or does not find
// the response that it named. Then the same request can be made with Create or Stream.
func (c *Client) Start(ctx context.Context, r Request) (*Response, error) {
	r.Plain = true
	r.Background = true
	return c.do(ctx, r, &emitter{takesRunning: true})
}

// Get returns a background response as it is now. One that has failed or was cancelled is no error:
// see Response.Failure. include is that of the request. Get makes one request. Every error is an
// *Error; Error.Lost tells that the API does not have the response any more.
func (c *Client) Get(ctx context.Context, id string, include []string) (*Response, error) {
	if err := c.Ready(); err != nil {
		return nil, err
	}

	acc := c.newAccumulator(ctx, &emitter{})
	acc.job = newJob("", include)
	acc.job.id = id
	r, failure := c.fetch(ctx, acc, "application/json")
	ended := acc.job.ended
	switch {
	case failure == nil:
		return r, nil
	case ended != nil:
		ended.Failure = failure
		return ended, nil
	}
	return nil, failure
}

// Cancel cancels a background response. Every error is an *Error. That the response has ended
// already is no error.
func (c *Client) Cancel(ctx context.Context, id string) error {
	if err := c.Ready(); err != nil {
		return err
	}

	var resp *http.Response
	_, err := c.api.Cancel(ctx, id, option.WithResponseBodyInto(&resp))
	if err == nil {
		return resp.Body.Close()
	}
	failure := c.failed(ctx, err, 1)
	if failure.Status == http.StatusBadRequest { // Cannot cancel a completed response.
		return nil
	}
	return failure
}

// abandon cancels the response of a call that ends early, in a time of its own.
func (c *Client) abandon(ctx context.Context, j *job) {
	if !j.running() || errors.Is(context.Cause(ctx), ErrDetached) {
		return
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), cancelTime)
	defer cancel()
	_ = c.Cancel(own, j.id) // logged
}

// follow waits until a response ends that runs at the API, or only until it is found if that is
// all that the caller wants. broken is why its connection ended; nil: the API has answered that it
// runs.
func (c *Client) follow(ctx context.Context, acc *accumulator, broken error) (*Response, error) {
	delays := newDelays()
	var r *Response
	var failure *Error
	switch {
	case broken != nil:
		r, failure = c.resume(ctx, acc, c.failed(ctx, broken, 1), delays)
	case acc.emitter.takesRunning:
		r, failure = c.state(ctx, acc, 0, delays)
	default:
		r, failure = c.poll(ctx, acc, delays)
	}

	switch {
	case failure == nil:
		return r, nil
	case failure.lost:
		failure.Kind = KindServer // so that the request is made again
	default:
		c.abandon(ctx, acc.job)
	}
	return nil, failure
}

// resume reads on after the last event, as often as the connection breaks. Where the API refuses
// that, or a connection brings nothing new, it asks for the state of the response instead.
func (c *Client) resume(
	ctx context.Context,
	acc *accumulator,
	broken *Error,
	delays *backoff.ExponentialBackOff,
) (*Response, *Error) {
	j := acc.job
	progress := j.last != noSequence

	for canResume(broken, progress) {
		acc.emitter.send(Reconnecting{})
		err := sleep(ctx, cmp.Or(broken.RetryAfter, delays.NextBackOff()))
		if err != nil {
			return nil, c.failed(ctx, err, 1)
		}

		r, failure := c.fetch(ctx, acc, eventStream)
		if !j.running() || failure != nil && failure.lost {
			return r, failure
		}
		progress = j.last > j.skip
		if progress {
			delays.Reset()
		}
		broken = failure
	}

	acc.emitter.send(Reconnecting{})
	return c.poll(ctx, acc, delays)
}

// canResume reports whether the API may stream the rest of a response whose connection broke: it
// was answered with events, or not at all.
func canResume(broken *Error, progress bool) bool {
	if broken == nil || !broken.retryable() {
		return false
	}
	return progress || broken.Status != http.StatusOK
}

// poll asks for the state of a response until it ends.
func (c *Client) poll(
	ctx context.Context,
	acc *accumulator,
	delays *backoff.ExponentialBackOff,
) (*Response, *Error) {
	for {
		r, failure := c.state(ctx, acc, delays.NextBackOff(), delays)
		if failure != nil || !r.Running() {
			return r, failure
		}
	}
}

// state waits and then asks for the state of a response until the API tells it.
func (c *Client) state(
	ctx context.Context,
	acc *accumulator,
	wait time.Duration,
	delays *backoff.ExponentialBackOff,
) (*Response, *Error) {
	for {
		err := sleep(ctx, wait)
		if err != nil {
			return nil, c.failed(ctx, err, 1)
		}

		r, failure := c.fetch(ctx, acc, "application/json")
		if !acc.job.running() || failure == nil || !failure.retryable() {
			return r, failure
		}
		wait = cmp.Or(failure.RetryAfter, delays.NextBackOff())
	}
}

// fetch makes one GET of a response, for an object, or for the stream after the last event.
func (c *Client) fetch(ctx context.Context, acc *accumulator, accept string) (*Response, *Error) {
	j := acc.job
	j.skip = j.last
	var resp *http.Response
	query := responses.ResponseGetParams{Include: j.include}
	options := []option.RequestOption{
		option.WithResponseBodyInto(&resp),
		option.WithHeader("Accept", accept),
	}
	if accept == eventStream {
		query.StartingAfter = param.NewOpt(int64(j.last))
		options = append(options, option.WithQuery("stream", "true"))
	}

	var r *Response
	_, err := c.api.Get(ctx, j.id, query, options...)
	if err == nil {
		r, err = c.readAnswer(ctx, resp, acc)
	}
	isFound := err == nil || j.last > j.skip || !j.running()
	if isFound {
		c.found.Store(j.model, nil)
	}
	if err != nil {
		failure := c.failed(ctx, err, 1)
		failure.lost = j.running() && isLost(failure)
		return nil, failure
	}
	return r, nil
}

// isLost reports whether a GET shows that the API does not have a response, or has no GET.
func isLost(failure *Error) bool {
	switch failure.Status {
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return true
	}
	return failure.Kind == KindBadResponse
}

// lose notes that the API has lost a response of a model. If it never found one, the model is
// asked in the foreground from now on.
func (c *Client) lose(model string, failure *Error) {
	_, found := c.found.Load(model)
	if !found {
		c.leave(model, "background", failure)
	}
}

// noBackground is the error where the request is to be made in the foreground.
func noBackground() *Error {
	return &Error{
		Kind:    KindFailed,
		Message: ErrNoBackground.Error(),
		Err:     ErrNoBackground,
	}
}
