package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
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
	cancelTimeout = 3 * time.Second        // the limit of cancelEarly, for all of its requests
	cancelWait    = 500 * time.Millisecond // before cancelEarly asks once more
	usageTimeout  = time.Second            // the limit of the GET for usage after a cancellation

	// shutdownTimeout replaces cancelTimeout when the process ends. Over stdio calls then have half
	// a second, detached tasks the 0.4 s of Tasks.Close. In this time a call must also be settled.
	shutdownTimeout = 300 * time.Millisecond

	getTimeout = 30 * time.Second // the limit of a GET; if it is for a stream, up to the header
	maxSilence = time.Minute      // after which a silent connection is given up and resumed
	lostWait   = 2 * time.Second  // before the second GET, which confirms that a response is lost
	maxGetWait = 30 * time.Second // the longest wait that the API may ask for before the next GET
)

// getForm is what a GET asks for.
type getForm int

const (
	asObject getForm = iota // the state of the response
	asStream                // the events after the last one
)

// background is what is known about a response that the API may run in the background.
type background struct {
	requested bool     // the request has background: true
	givenOut  bool     // a client has the id, see Get
	model     string   // the model of the request
	include   []string // the include of the request, sent with each GET, too

	keepsInclude bool // a GET without include was refused, too: see Client.get

	id     string // "" until the API names the response as one in the background
	goesOn bool   // the call has ended, and the response was not cancelled

	// nextSequence is the sequence number that follows those of all events so far. If a server sends
	// no numbers, a resumed stream brings nothing new, and follow polls.
	nextSequence float64
	resumedFrom  float64 // nextSequence when the connection began: earlier events were read before
}

// maxPlainID is the length of the longest id that can be compared. LiteLLM encrypts an id anew in
// each response, for the person whose response it is
// (https://github.com/BerriAI/litellm/issues/17204): these ids are longer.
const maxPlainID = 128

// isOther reports whether an id that came from the API certainly belongs to another response. Two
// ids that a gateway has encrypted cannot be compared.
func (b *background) isOther(id string) bool {
	encrypted := len(b.id) > maxPlainID && len(id) > maxPlainID
	return b.id != "" && id != "" && id != b.id && !encrypted
}

// progressed reports whether the current connection brought an event that no earlier one brought.
func (b *background) progressed() bool {
	return b.nextSequence > b.resumedFrom
}

// Get returns a background response in its current state. A response that has failed or was
// cancelled is not an error: see Response.Failure. model and include are those of the request that
// began the response. Get makes one GET, and repeats it if the API does not find the response, or refuses
// include.
//
// Every error is a *call.APIError:
//
//	ResponseLost is set   the API does not have the response any more, or has no GET
//	KindFailed            the API has a response that cannot be read, such as one that is too large
//	any other             the state of the response is open
//
// givenOut is true if a client has the id. Then, or if a GET has found a response of the model, only a
// 404 with an error object sets ResponseLost: anything else may come from a proxy.
func (cl *Client) Get(
	ctx context.Context, c *call.Call, id, model string, include []string, givenOut bool,
) (*call.Response, error) {
	if err := cl.CheckKey(); err != nil {
		return nil, err
	}

	b := background{
		givenOut: givenOut,
		id:       id,
		model:    model,
		include:  include,
	}
	r, failure := cl.getOrConfirmLost(ctx, cl.newAccumulator(c, b), asObject)
	if r == nil {
		return nil, failure
	}
	r.Failure = failure
	return r, nil
}

// Cancel cancels a background response. After a retryable failure it asks once more, because the
// response would go on, and be paid. It is not an error if the API says with 400 that the response
// has already ended. Every error is a *call.APIError.
func (cl *Client) Cancel(ctx context.Context, c *call.Call, id string) error {
	resp, err := cl.postCancel(ctx, c, id)
	if resp == nil {
		return err
	}
	_ = resp.Body.Close()
	return nil
}

// postCancel does the work of Cancel. It returns the HTTP response, whose body the caller closes,
// or nil if the response has already ended.
func (cl *Client) postCancel(
	ctx context.Context, c *call.Call, id string,
) (resp *http.Response, err error) {
	for attempt := 1; ; attempt++ {
		options := cl.requestOptions(ctx, c, &resp)
		_, err := cl.service.Cancel(context.WithoutCancel(ctx), id, options...)
		if err == nil {
			return resp, nil
		}
		failure := cl.attemptError(ctx, err, attempt)
		if failure.Status == http.StatusBadRequest { // "Cannot cancel a completed response."
			return nil, nil
		}
		mayRepeat := attempt == 1 && retryable(failure) && isInTime(ctx, cancelWait)
		if !mayRepeat || sleep(ctx, cancelWait) != nil {
			return nil, failure
		}
	}
}

// cancelEarly cancels the background response of a call that ends early, unless the cause of ctx is
// call.ErrLeaveAtAPI. It adds to the call what the response has used, if the API reports the usage
// in the HTTP response to the cancellation, or to a GET after the cancellation.
//
// If the GET shows that the response was complete before the cancellation, cancelEarly returns the
// response, and sends the events that were not streamed: a silent connection may have hidden an
// answer that is paid. But if the client has cancelled the call, cancelEarly returns nil.
//
// cancelEarly has a timeout of its own (cancelTimeout), because ctx may have ended. When the
// process ends, cancelEarly makes one request within shutdownTimeout, which is shorter than
// cancelWait: over HTTP the errors of the calls must still be sent.
func (cl *Client) cancelEarly(ctx context.Context, acc *accumulator) (complete *call.Response) {
	acc.background.goesOn = true // until a cancellation succeeds
	if errors.Is(context.Cause(ctx), call.ErrLeaveAtAPI) {
		return nil
	}
	endsProcess := call.KindOf(context.Cause(ctx)) == call.KindShutdown
	timeout := cancelTimeout
	if endsProcess {
		timeout = shutdownTimeout
	}
	requestCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), timeout)
	defer cancel()

	c := *acc.call
	c.Sink = nil // the requests send no events to the call
	c.Used = call.Used{APIRequestID: c.APIRequestID}
	ended, err := cl.cancelAndRead(requestCtx, &c, &acc.background)
	acc.background.goesOn = err != nil

	if !endsProcess && mayTellMore(ended, err, call.IsCancelled(ctx)) {
		r, failure := cl.getCancelled(requestCtx, &c, acc.background)
		if r != nil {
			acc.background.goesOn = r.IsRunning()
		}
		if failure == nil && !r.IsRunning() && !call.IsCancelled(ctx) {
			complete = r
		}
	}
	if c.Usage == (call.Usage{}) && ended.Usage != (call.Usage{}) {
		c.Reported = reported(&ended)
	}
	if complete != nil {
		acc.emitUnstreamed(complete.Output)
	}

	acc.call.APIRequestID = c.APIRequestID
	if complete != nil || c.Usage != (call.Usage{}) {
		acc.call.Reported.Add(c.Reported)
	}
	return complete
}

// mayTellMore reports whether a GET after a cancellation may tell more than ended and err, the
// results of cancelAndRead: what the response has used, or an answer, whose sources only a GET
// brings.
func mayTellMore(ended call.Response, err error, clientCancelled bool) bool {
	if err != nil {
		// The 409 of OGX means that the response has ended (https://github.com/ogx-ai/ogx/pull/5268).
		// Any other error tells nothing, and some servers have no cancellation
		// (https://github.com/ogx-ai/ogx/issues/5180): there may be an answer.
		failure, ok := errors.AsType[*call.APIError](err)
		return !clientCancelled || ok && failure.Status == http.StatusConflict
	}
	isReported := ended.Usage != (call.Usage{})
	mayBeAnswer := ended.ID != "" && ended.Status != "cancelled" && !clientCancelled
	return !isReported || mayBeAnswer
}

// getCancelled gets a response after its cancellation, and adds to c what the response has used. The
// response may have been complete before, or go on all the same. If it has failed, getCancelled
// returns both the response and its error.
func (cl *Client) getCancelled(
	ctx context.Context, c *call.Call, b background,
) (*call.Response, *call.APIError) {
	ctx, cancel := context.WithTimeout(ctx, usageTimeout)
	defer cancel()
	return cl.get(ctx, cl.newAccumulator(c, b), asObject) // logs an error
}

// cancelAndRead cancels a background response. It returns the response if the HTTP response to the
// cancellation has it, and says that it has ended; else the zero value.
func (cl *Client) cancelAndRead(
	ctx context.Context, c *call.Call, b *background,
) (ended call.Response, err error) {
	resp, err := cl.postCancel(ctx, c, b.id)
	if resp == nil {
		return ended, err
	}
	defer resp.Body.Close()
	data, _ := io.ReadAll(resp.Body) // DecodeLenient refuses half a body
	cl.logBody("openai(client): response", rawJSON{data: data})

	var r call.Response
	decodeErr := call.DecodeLenient(data, &r)
	if decodeErr == nil && r.ID != "" && !b.isOther(r.ID) && !r.IsRunning() {
		ended = r
	}
	return ended, nil
}

// follow waits until a response in the background ends. streamErr is the error that ended the last
// connection, or nil if the API has answered that the response runs.
//
//   - A stream that breaks for a temporary reason is resumed after its last event, as long as new
//     events come (mayResume). Otherwise, or if streamErr is nil, follow polls the state of the
//     response.
//   - If a GET fails, follow goes on, because the failure tells nothing about the response: the key
//     may be new, or a firewall may have answered. If no time is left for another GET, follow
//     cancels the response, and returns the failure of the last GET.
//   - If the API has lost the response, follow returns what was streamed, if the stream was a
//     complete answer, else an error.
//   - If ctx ends, or the response is too large, follow cancels the response, and returns an error.
//     If the stream was a complete answer, and the client has not cancelled the call, follow returns
//     what was streamed instead.
func (x *exchange) follow(ctx context.Context, acc *accumulator, streamErr error) (*call.Response, error) {
	delays := newDelays()
	var failure *call.APIError
	streamBroke := streamErr != nil // the last connection was to bring the stream, and has failed
	if streamBroke {
		// try calls attemptError again, with the number of attempts.
		failure = x.client.attemptError(ctx, streamErr, 1)
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

		// No time is left for another GET. The request is not made again either, because nothing is
		// known of its response, unless the GETs refuse background.
		if failure != nil && !isInTime(ctx, wait) {
			final := *failure
			final.NoRetry = true
			return x.endEarly(ctx, acc, &final)
		}
		form := asObject
		if streamBroke {
			if mayResume(failure, progress) {
				form = asStream
			}
			x.call.Emit(call.Reconnecting{})
		}

		err := sleep(ctx, wait)
		if err != nil { // no GET: at the end of the process the cancellation has little time
			return x.endEarly(ctx, acc, x.client.attemptError(ctx, err, 1))
		}
		var r *call.Response
		r, failure = x.client.getOrConfirmLost(ctx, acc, form)
		streamBroke = form == asStream && failure != nil
		switch {
		case failure == nil && !acc.runsAtAPI():
			return r, nil
		case failure == nil: // the response still runs
		case failure.ResponseLost:
			return x.endLost(acc, failure)
		case !acc.runsAtAPI():
			return nil, failure
		case ctx.Err() != nil:
			return x.endEarly(ctx, acc, failure)
		case form == asObject && failure.Kind == call.KindFailed: // too large, for example
			return x.endEarly(ctx, acc, failure)
		}
	}
}

// endLost returns what was streamed of a lost response, if the stream was a complete answer, as
// readStream does in the foreground. Otherwise it returns failure.
func (x *exchange) endLost(acc *accumulator, failure *call.APIError) (*call.Response, error) {
	if !acc.isAnswered() {
		return nil, failure
	}
	r, err := acc.finishStreamed()
	if err == nil { // no body has brought r, so readResponse has added nothing
		x.call.Reported.Add(reported(r))
	}
	return r, err
}

// endEarly cancels the response of a call, and returns failure. If the response turns out to be
// complete (cancelEarly), or if the whole answer was streamed, endEarly returns the response.
func (x *exchange) endEarly(
	ctx context.Context, acc *accumulator, failure *call.APIError,
) (*call.Response, error) {
	searchesBefore := x.call.Searches
	r := x.client.cancelEarly(ctx, acc)
	if r != nil {
		return r, nil
	}
	if acc.isAnswered() && !call.IsCancelled(ctx) {
		streamed, err := acc.finishStreamed()
		if err == nil {
			// cancelEarly may have added a usage of this response, and its searches.
			missing := reported(streamed).Searches - (x.call.Searches - searchesBefore)
			x.call.Searches += max(0, missing)
			return streamed, nil
		}
	}
	return nil, failure
}

// mayResume reports whether to resume a stream that has broken with failure. A connection that the
// API accepted must have brought new events: if not, another connection would hardly bring any.
func mayResume(failure *call.APIError, progress bool) bool {
	wasAccepted := failure.Status == http.StatusOK // FromBody sets Status for a broken stream
	return retryable(failure) && (progress || !wasAccepted)
}

// canWait reports whether the next GET waits for retryAfter, as the API asks. A wait longer than
// maxGetWait is ignored, because the response may end earlier. A wait beyond the deadline of ctx is
// ignored, too, because it would cancel the response.
func canWait(ctx context.Context, retryAfter time.Duration) bool {
	return retryAfter > 0 && retryAfter <= maxGetWait && isInTime(ctx, retryAfter)
}

// getOrConfirmLost asks for the response of acc: for an object, or for the stream after the last
// event. If the response has failed, getOrConfirmLost returns both the response and its error. The
// response counts as lost only if a second GET does not find it either: the API may not see a new
// response at once, and a proxy may have restarted.
func (cl *Client) getOrConfirmLost(
	ctx context.Context, acc *accumulator, form getForm,
) (*call.Response, *call.APIError) {
	r, failure := cl.get(ctx, acc, form)
	if failure == nil || !failure.ResponseLost {
		return r, failure
	}
	_ = sleep(ctx, lostWait)          // if ctx has ended, the GET fails at once
	return cl.get(ctx, acc, asObject) // no stream is needed to see whether the response exists
}

// get makes a GET as getOnce does, for getOrConfirmLost, or for the usage after a cancellation. If
// the API refuses include, get makes another GET without it, and so do later GETs of acc: some
// servers take include in requests alone (https://github.com/praxis-proxy/ai/pull/687).
func (cl *Client) get(
	ctx context.Context, acc *accumulator, form getForm,
) (*call.Response, *call.APIError) {
	r, failure := cl.getOnce(ctx, acc, form)
	include := acc.background.include
	mayBeInclude := len(include) > 0 && !acc.background.keepsInclude
	if form == asStream || r != nil || !mayBeInclude || !refusesInclude(failure) {
		return r, failure
	}
	acc.background.include = nil
	r, failure = cl.getOnce(ctx, acc, form)
	if r == nil && !failure.ResponseLost { // the refusal may have had another reason
		acc.background.include = include
		acc.background.keepsInclude = refusesInclude(failure)
	}
	return r, failure
}

// refusesInclude reports whether a 400 may be about include: some servers name no parameter.
func refusesInclude(failure *call.APIError) bool {
	return failure.Status == http.StatusBadRequest &&
		(failure.Param == "" || strings.HasPrefix(failure.Param, "include"))
}

// getOnce makes one GET of the response of acc. If the response has failed, getOnce returns both
// the response and its error. If the GET does not find the response, the error has ResponseLost
// set.
func (cl *Client) getOnce(
	parent context.Context,
	acc *accumulator,
	form getForm,
) (*call.Response, *call.APIError) {
	ctx, closeConn := context.WithCancel(parent)
	defer closeConn()
	timer := time.AfterFunc(getTimeout, closeConn)
	defer timer.Stop()

	acc.closeConn = closeConn
	acc.background.resumedFrom = acc.background.nextSequence
	acc.failure = nil
	acc.endTimer = nil

	var resp *http.Response
	options := append(cl.requestOptions(ctx, acc.call, &resp), acc.background.getOptions(form)...)
	endless := context.WithoutCancel(ctx) // for openai-go; requestOptions ends the request with ctx
	_, err := cl.service.Get(endless, acc.background.id, responses.ResponseGetParams{}, options...)
	if form == asStream {
		timer.Stop() // after its header a stream may take long: timeoutBody bounds its silence
	}
	var r *call.Response
	if err == nil {
		r, err = readResponse(ctx, resp, acc)
	}
	responseEnded := !acc.runsAtAPI()
	if err == nil || acc.background.progressed() || responseEnded {
		cl.memory.noteFound(acc.background.model)
	}

	switch {
	case err == nil:
		return r, nil
	case responseEnded: // the API says why, even if parent ends now
		return acc.endedResponse, cl.attemptError(context.WithoutCancel(parent), err, 1)
	}
	// If parent has ended, the reason is parent. ctx does not tell, as closeConn ends ctx, too.
	strict := acc.background.givenOut || cl.memory.findsResponses(acc.background.model)
	failure := cl.attemptError(parent, lostError(err, strict), 1)
	failure.OfGET = true
	return nil, failure
}

// getOptions returns the query and the header of a GET, for an object or for the stream after the
// last event.
func (b *background) getOptions(form getForm) (options []option.RequestOption) {
	if form == asStream {
		options = append(options,
			option.WithHeader("Accept", eventStream),
			option.WithQuery("stream", "true"),
			option.WithQuery("starting_after", fmt.Sprintf("%.0f", b.nextSequence-1)))
	}
	for _, element := range b.include {
		if element != encryptedReasoning { // the API refuses it in a GET
			options = append(options, option.WithQueryAdd("include[]", element))
		}
	}
	return options
}

// lostError returns err, the error of a GET. If the response is lost, lostError returns a copy of
// err with ResponseLost and with KindServer, after which the request can be made again:
//
//	404 with an error object      lost
//	404 without one, 405, 501,    lost, unless strict: the API seems to have no GET
//	2xx or 3xx without response   /responses/{id}
//	any other error               not known to be lost
func lostError(err error, strict bool) error {
	e, ok := errors.AsType[*call.APIError](err)
	if !ok {
		return err
	}
	notFound := e.Status == http.StatusNotFound
	gone := notFound && gjson.Get(e.Body, "error").IsObject() // not a proxy's page
	noResponse := e.Kind == call.KindBadResponse && e.Status < http.StatusBadRequest
	noMethod := e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented
	noGet := notFound || noResponse || noMethod
	if !gone && (strict || !noGet) {
		return err
	}

	lost := *e
	lost.Kind = call.KindServer
	lost.ResponseLost = true
	return &lost
}
