package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// A response with background: true runs at the API without a connection
// (https://platform.openai.com/docs/guides/background). None of the requests in this file waits for
// the pacer.

const (
	cancelTime = 3 * time.Second // for the request that cancels a response
	usageTime  = time.Second     // for a GET that tells what a cancelled response has used

	// shutdownTime is for the request that cancels a response when the process ends, within half a
	// second over stdio: the call must still be settled.
	shutdownTime = 400 * time.Millisecond

	objectTime   = 30 * time.Second // for a GET of a response
	maxSilence   = time.Minute      // of a stream, which is given up and resumed then
	lostWait     = 2 * time.Second  // until a second GET has to confirm that a response is lost
	maxFetchWait = 30 * time.Second // that the API may ask for before the next GET
)

// background is what is known of a response that the API may run in the background.
type background struct {
	requested bool     // by the request: background: true
	strict404 bool     // only a 404 with an error object says that the response is lost
	model     string   // the model of the request
	include   []string // the include of the request
	id        string   // "": the API has not named it as a background response

	next float64 // sequence number of the event after those that were read
	skip float64 // next at the start of the connection: earlier events are skipped
}

// progressed reports whether the connection brought an event that earlier ones did not.
func (b *background) progressed() bool {
	return b.next > b.skip
}

// note notes the number of an event.
func (b *background) note(ev *streamEvent) {
	b.next = max(b.next, ev.Sequence+1)
}

// skips reports whether an event was read from an earlier connection.
func (b *background) skips(ev *streamEvent) bool {
	return ev.Sequence < b.skip
}

// Get returns a background response as it is now. A response that has failed or was cancelled is
// not an error: see Response.Failure. model and include are those of the request. Get makes one
// request, and a second one if the first says that the API does not have the response. Every error
// is a *call.Error, which does not tell how the response is, unless its Lost says that the API does
// not have the response any more.
func (cl *Client) Get(
	ctx context.Context, c *call.Call, id, model string, include []string,
) (*call.Response, error) {
	if err := cl.Ready(); err != nil {
		return nil, err
	}

	acc := cl.newAccumulator(ctx, c)
	acc.background = background{
		strict404: true,
		id:        id,
		model:     model,
		include:   include,
	}
	r, failure := cl.get(ctx, acc, false)
	if r == nil {
		return nil, failure
	}
	r.Failure = failure
	return r, nil
}

// Cancel cancels a background response. Every error is a *call.Error. That the response has ended
// already is not an error.
func (cl *Client) Cancel(ctx context.Context, c *call.Call, id string) error {
	resp, err := cl.cancel(ctx, c, id)
	if resp == nil {
		return err
	}
	return resp.Body.Close()
}

// cancel is Cancel, and returns the answer of the API, or nil if the response has ended already.
func (cl *Client) cancel(
	ctx context.Context, c *call.Call, id string,
) (resp *http.Response, err error) {
	_, err = cl.api.Cancel(ctx, id, cl.options(c, &resp)...)
	if err == nil {
		return resp, nil
	}
	failure := cl.failed(ctx, err, 1)
	if failure.Status == http.StatusBadRequest { // Cannot cancel a completed response.
		return nil, nil
	}
	return nil, failure
}

// cancelEarly cancels the response of a call that ends early, and counts what the response has used
// if the API says so: in its answer, or in that to a GET. Both requests go on after ctx has ended.
// There is no GET when the process ends: over HTTP the errors of its calls must still be sent.
func (cl *Client) cancelEarly(ctx context.Context, acc *accumulator) {
	if errors.Is(context.Cause(ctx), call.ErrLeftToAPI) {
		return
	}
	endsProcess := call.KindOf(context.Cause(ctx)) == call.KindShutdown
	most := cancelTime
	if endsProcess {
		most = shutdownTime
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	defer cancel()

	c := *acc.call
	c.Sink = nil // the call gets no more events
	c.Used = call.Used{RequestID: c.RequestID}
	resp, err := cl.cancel(own, &c, acc.background.id)
	known := err == nil && cl.readUsage(own, resp, &c, acc.background.id)
	if err == nil && !known && !endsProcess {
		once, cancel := context.WithTimeout(own, usageTime)
		defer cancel()
		get := cl.newAccumulator(once, &c)
		get.background = acc.background
		_, _ = cl.getOnce(once, get, false) // logged
	}

	acc.call.RequestID = c.RequestID
	if c.Usage != (call.Usage{}) {
		acc.call.Usage.Add(c.Usage)
		acc.call.Searches += c.Searches
	}
}

// readUsage counts what a response has used, as the answer to its cancel says, which may be nil. It
// reports whether the answer says so: the response may go on for a moment.
func (cl *Client) readUsage(
	ctx context.Context, resp *http.Response, c *call.Call, id string,
) bool {
	if resp == nil {
		return false
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body) // half an answer says nothing
	cl.logBody(ctx, "openai(client): response", rawJSON{data: data})

	var r call.Response
	err := call.Decode(data, &r)
	if err != nil || r.ID != id || r.Running() || r.Tokens == (call.Usage{}) {
		return false
	}
	c.Usage = r.Tokens
	c.Searches = searches(&r)
	return true
}

// follow waits until a response ends that runs at the API. broken is why its connection ended; nil:
// the API has said that it runs.
//
// As often as the connection breaks, follow reads on after the last event. Where the API refuses
// that, a connection brings nothing new, or none has broken, follow asks for the state of the
// response. A refusal says nothing about the response: the key may be new, or a firewall may have
// answered.
func (x *exchange) follow(ctx context.Context, acc *accumulator, broken error) (*call.Response, error) {
	delays := newDelays()
	var failure *call.Error
	stream := broken != nil // whether the last connection was a stream, which can go on
	if stream {
		failure = x.client.failed(ctx, broken, 1)
	}

	for {
		progress := acc.background.progressed()
		if progress {
			delays.Reset()
		}
		wait := delays.NextBackOff()
		if failure != nil && canWait(ctx, failure.RetryAfter) {
			wait = failure.RetryAfter
		}
		if stream {
			stream = canResume(failure, progress)
			x.call.Send(call.Reconnecting{})
		}

		_ = sleep(ctx, wait) // if ctx has ended, the GET fails at once
		var r *call.Response
		r, failure = x.client.get(ctx, acc, stream)
		switch {
		case failure == nil && !acc.running():
			return r, nil
		case failure == nil: // it runs
		case failure.Lost && acc.isAnswered(): // as in the foreground
			return acc.finishStreamed()
		case failure.Lost, !acc.running():
			return nil, failure
		case ctx.Err() != nil, !stream && failure.Kind == call.KindFailed: // too large, for example
			x.client.cancelEarly(ctx, acc)
			return nil, failure
		}
	}
}

// canWait reports whether a GET waits as long as the API asks, or polls on: the response may end
// before, and a longer wait would end with the deadline of ctx and cancel the response.
func canWait(ctx context.Context, retryAfter time.Duration) bool {
	return retryAfter > 0 && retryAfter <= maxFetchWait && isInTime(ctx, retryAfter)
}

// canResume reports whether the API may stream the rest of a response whose connection broke: the
// connection brought events, or was not accepted.
func canResume(broken *call.Error, progress bool) bool {
	if broken == nil || !retryable(broken) {
		return false
	}
	return progress || broken.Status != http.StatusOK
}

// get asks for a response: for an object, or for the stream after the last event. A response that
// has failed is returned with its error. A response is lost only if a second GET finds nothing
// either: the API may not see a new response at once, and a proxy may have restarted.
func (cl *Client) get(ctx context.Context, acc *accumulator, stream bool) (*call.Response, *call.Error) {
	r, failure := cl.getOnce(ctx, acc, stream)
	if failure == nil || !failure.Lost {
		return r, failure
	}
	_ = sleep(ctx, lostWait) // if ctx has ended, the GET fails at once
	return cl.getOnce(ctx, acc, false)
}

func (cl *Client) getOnce(
	parent context.Context,
	acc *accumulator,
	stream bool,
) (*call.Response, *call.Error) {
	ctx, giveUp := context.WithCancel(parent)
	defer giveUp()
	limit := time.AfterFunc(objectTime, giveUp)
	defer limit.Stop()

	acc.giveUp = giveUp
	acc.background.skip = acc.background.next
	acc.failure = nil
	acc.giveUpAt = time.Time{}
	var resp *http.Response
	options := cl.options(acc.call, &resp)
	if stream {
		options = append(options,
			option.WithHeader("Accept", eventStream),
			option.WithQuery("stream", "true"),
			option.WithQuery("starting_after", fmt.Sprint(acc.background.next-1)))
	}
	for _, element := range acc.background.include {
		if element != encryptedReasoning { // the API refuses to repeat it
			options = append(options, option.WithQueryAdd("include[]", element))
		}
	}

	_, err := cl.api.Get(ctx, acc.background.id, responses.ResponseGetParams{}, options...)
	if stream {
		limit.Stop() // from its header on a stream may be long, but not silent
	}
	var r *call.Response
	if err == nil {
		r, err = readResponse(ctx, resp, acc)
	}
	ended := !acc.running()
	found := err == nil || acc.background.progressed() || ended
	if found {
		cl.memory.setFound(acc.background.model)
	}
	if err == nil {
		return r, nil
	}

	if acc.running() {
		strict := acc.background.strict404 || cl.memory.hasGET(acc.background.model)
		err = lostError(err, strict)
	}
	return acc.final, cl.failed(parent, errors.Join(err, acc.call.RootsErr), 1)
}

// silenceLimit reads the body of an HTTP response, and gives up a connection that is silent for too
// long.
type silenceLimit struct {
	io.ReadCloser
	of *accumulator
}

func (l silenceLimit) Read(p []byte) (int, error) {
	silence := time.Duration(0) // without a limit
	switch {
	case !l.of.giveUpAt.IsZero():
		silence = max(1, time.Until(l.of.giveUpAt))
	case l.of.running():
		silence = maxSilence
	}
	if silence > 0 {
		defer time.AfterFunc(silence, l.of.giveUp).Stop()
	}
	return l.ReadCloser.Read(p)
}

// lostError returns the error of a GET. If the API says that it does not have the response, the
// request can be made again as after a failure of the server; and also, unless strict, if the API
// seems to have no GET.
func lostError(err error, strict bool) error {
	e, ok := errors.AsType[*call.Error](err)
	if !ok {
		return err
	}
	notFound := e.Status == http.StatusNotFound
	gone := notFound && gjson.Get(e.Body, "error").IsObject() // not a proxy's page
	noResponse := e.Kind == call.KindBadResponse && e.Status < http.StatusBadRequest
	noGet := notFound || noResponse || e.Status == http.StatusMethodNotAllowed
	if !gone && (strict || !noGet) {
		return err
	}

	lost := *e
	lost.Kind = call.KindServer
	lost.Lost = true
	return &lost
}
