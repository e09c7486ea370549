package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/apierror"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/pacer"
)

// Create sends a request and returns the finished response. Every error is a *call.APIError. The
// deadline of ctx bounds the whole exchange, retries included.
//
// The call's sink gets events while the response is written: blocks, searches and the like. After a
// failed attempt the sink gets Retrying, and the next attempt starts over. All events of a plain
// response, which is not a stream, come at its end. A response is plain if NoStream asks for that,
// if the API refuses to stream for the organization, or if the server always answers with JSON.
//
// Create is the only place where the POST of a request is repeated. cancelEarly may cancel twice,
// and follow and getOrConfirmLost repeat a GET.
func (cl *Client) Create(
	ctx context.Context, c *call.Call, request call.Request,
) (*call.Response, error) {
	if err := cl.CheckKey(); err != nil {
		return nil, err
	}
	remembered := cl.memory.refusalFor(c.Person.ID)
	if remembered != nil {
		return nil, remembered
	}
	c.RequestInput = request.Input
	x := &exchange{
		client:         cl,
		call:           c,
		model:          request.Model,
		params:         cl.newParams(c.Person, request),
		ticket:         cl.pacer(request.Model).Ticket(c.Person.ID),
		key:            cl.key.Load(),
		delays:         newDelays(),
		attempt:        1,
		earlierRetries: c.Retries,
	}

	for {
		response, failure, pacerWait := x.try(ctx)
		if failure == nil {
			return response, nil
		}
		if x.prepareRepeat(failure) {
			continue // the same attempt again, without a sleep: it has one parameter less
		}

		pause, final := x.decideRetry(ctx, failure, pacerWait)
		if final != nil {
			x.noteIfKeyRefused(final)
			return nil, final
		}
		c.Emit(call.Retrying{
			Attempt: x.attempt + 1,
			Err:     failure,
		})
		err := sleep(ctx, pause)
		if err != nil {
			return nil, cl.attemptError(ctx, err, x.attempt)
		}
		x.attempt++
	}
}

// exchange is one request of a call with all attempts to make it.
type exchange struct {
	client     *Client
	call       *call.Call
	model      string
	params     params
	toRemember []refusedParam // removed from params; for noteParametersAccepted, after the next 2xx

	key     *string                     // the key at the start; SetKey stores another pointer
	ticket  *pacer.Ticket               // the place of the call at the pacer of the model
	delays  *backoff.ExponentialBackOff // the waits that neither the API nor the pacer names
	attempt int                         // number of the current attempt, from 1 on

	earlierRetries int // retries of the earlier requests of the call
}

// try waits for the pacer and makes one request of the attempt. post tells the pacer of a 2xx, as
// soon as the header is there. try tells the pacer of a failure, even if it comes after a 2xx.
//
// pacerWait is 0 unless the rate limit refuses the request. After such a refusal the pacer makes
// the next try wait for pacerWait, and decideRetry checks whether this wait ends in time.
func (x *exchange) try(
	ctx context.Context,
) (r *call.Response, failure *call.APIError, pacerWait time.Duration) {
	waitCtx, cancel := x.call.WaitContext(ctx)
	defer cancel()
	err := x.waitForTurn(waitCtx)
	if err != nil { // attemptError adds the cause of waitCtx, which may be ErrWaiting
		return nil, x.client.attemptError(waitCtx, err, x.attempt-1), 0
	}
	if ctx.Err() != nil { // ctx ended as the turn came
		x.ticket.NoteNoVerdict()
		return nil, x.client.attemptError(ctx, ctx.Err(), x.attempt-1), 0
	}

	x.call.Retries = x.earlierRetries + x.attempt - 1
	r, err = x.send(ctx)
	if err == nil {
		return r, nil, 0
	}
	errCtx := ctx // if it has ended, its end is the failure
	final, ok := errors.AsType[*call.APIError](err)
	if ok && final.NoRetry && !call.IsCancelled(ctx) { // ctx may have ended during a cancellation
		errCtx = context.WithoutCancel(ctx)
	}
	failure = x.client.attemptError(errCtx, err, x.attempt)
	if failure.Kind == call.KindRateLimit {
		retryAfter := failure.RetryAfter
		// ResetAfter is a guess. A guess beyond the time limit says nothing.
		if retryAfter == 0 && isInTime(ctx, failure.ResetAfter) {
			retryAfter = failure.ResetAfter
		}
		return nil, failure, x.ticket.NoteRefused(retryAfter)
	}
	x.ticket.NoteNoVerdict()
	return nil, failure, 0
}

// waitForTurn returns when the pacer lets the next attempt go. Meanwhile the sink gets Waiting. If
// ctx ends first, the error is a QueuedError.
func (x *exchange) waitForTurn(ctx context.Context) error {
	var report func(ahead int)
	hasWaited := false
	if x.call.Sink != nil {
		report = func(ahead int) {
			hasWaited = true
			x.call.Emit(call.Waiting{Ahead: ahead})
		}
	}
	// The last retry waits longer. The first attempt is no retry, even if it is the only one.
	isLastRetry := x.attempt > 1 && x.attempt > x.client.options.MaxRetries

	err := x.ticket.Wait(ctx, isLastRetry, report)
	x.call.RateLimitWait += x.ticket.Waited
	if ahead, ok := errors.AsType[call.QueuedError](err); ok {
		x.call.Ahead = int(ahead)
	}
	if hasWaited && err == nil {
		x.call.Emit(call.Requesting{})
	}
	return err
}

// send makes one request and reads its response to the end. A response in the background may take
// several connections. When send returns, all blocks have stopped.
func (x *exchange) send(ctx context.Context) (r *call.Response, err error) {
	defer x.call.CountRequest(time.Now())
	connCtx, closeConn := context.WithCancel(ctx)
	defer closeConn()

	acc := x.client.newAccumulator(x.call, background{
		requested: x.params["background"] == true,
		model:     x.model,
		include:   x.params.include(),
	})
	acc.closeConn = closeConn
	defer acc.stopBlocks()

	usageBefore := x.call.Usage
	mayCost := false
	defer func() { // also if reading the response panics
		if mayCost && x.call.Usage == usageBefore && !acc.refusedBeforeWork(err) {
			x.countUnreported(ctx, acc)
		}
	}()

	var resp *http.Response
	resp, mayCost, err = x.post(connCtx)
	if err == nil {
		r, err = readResponse(connCtx, resp, acc)
		if acc.runsAtAPI() {
			r, err = x.follow(ctx, acc, err)
		}
		if !acc.refusedBeforeWork(err) { // a stream may bring a refusal after a 2xx
			x.client.memory.noteKeyAccepted(x.call.Person.ID)
		}
	}
	return r, err
}

// countUnreported counts a request that may have used tokens which no response has reported. The
// request also counts as begun
//
//   - if the model has begun its work;
//   - if the response goes on after the end of the call: cancelEarly has set goesOn before;
//   - if the call ends while the API has told nothing. A plain response tells nothing before its
//     end, and a response in the background may go on before the API names it.
func (x *exchange) countUnreported(ctx context.Context, acc *accumulator) {
	x.call.UnreportedRequests++
	toldNothing := false
	switch {
	case acc.endedResponse != nil:
	case x.params["stream"] != true:
		toldNothing = true
	case acc.background.requested:
		toldNothing = acc.created.ID == "" // any response has created.ID
	}
	if acc.hasBegunWork() || acc.background.goesOn || ctx.Err() != nil && toldNothing {
		x.call.UnreportedBegun++
	}
}

// post sends the request. The status tells whether the API
//
//	status      may have taken the     may have used tokens
//	            request                (mayCost)
//	none, 2xx   with a connection      with a connection
//	4xx         no                     no
//	408, 409    yes                    no
//	500 to 503  yes                    no: these are of the API itself
//	504 and on  yes                    yes: a gateway gave up, and does not know what the API does
//
// If the API may have taken the request, post clears WaitDeadline: the error ErrWaiting, with which
// a call ends at WaitDeadline, promises that the API has not taken the question.
func (x *exchange) post(ctx context.Context) (resp *http.Response, mayCost bool, err error) {
	body, _ := jsonx.Marshal(x.params) // package config has checked the parts that may fail
	x.client.logBody("openai(client): request", rawJSON{data: body})
	accept := "application/json"
	if x.params["stream"] == true {
		accept = eventStream
	}
	connected := false
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { connected = true },
	})
	options := append(x.client.requestOptions(ctx, x.call, &resp),
		option.WithRequestBody("application/json", body),
		option.WithHeader("Accept", accept))
	endless := context.WithoutCancel(ctx) // for openai-go; requestOptions ends the request with ctx
	_, err = x.client.service.New(endless, responses.ResponseNewParams{}, options...)

	failure, hasStatus := errors.AsType[*call.APIError](err) // a status other than 2xx
	mayBeTaken := connected
	mayCost = connected
	if hasStatus {
		isServerError := failure.Status >= http.StatusInternalServerError
		mayBeTaken = isServerError || apierror.MayBeInProgress(failure)
		mayCost = connected && failure.Status >= http.StatusGatewayTimeout
	}
	if mayBeTaken {
		x.call.WaitDeadline = time.Time{}
	}

	if err == nil {
		x.ticket.NoteAccepted()
		x.client.memory.noteParametersAccepted(x.params, x.toRemember)
		x.toRemember = nil
	}
	return resp, mayCost, err
}

// prepareRepeat removes the parameter that the API refuses, and reports whether to make the request
// again at once, without the parameter. After a lost response prepareRepeat removes background and
// returns false: the lost response counts as an attempt, which is retried (lostError) after a wait.
func (x *exchange) prepareRepeat(failure *call.APIError) bool {
	if failure.ResponseLost { // the next attempt runs in the foreground
		removed := x.removeRefused("background", failure)
		if removed && x.client.memory.findsResponses(x.model) {
			// GETs find other responses, so this loss says nothing about background. Nothing else is
			// in toRemember: the lost response came with a 2xx, after which post had emptied it.
			x.toRemember = nil
		}
		return false
	}
	name := x.params.refusedName(failure)                            // "" removes nothing
	refusesBackground := name == "background" && failure.Param != "" // not only in its words
	if failure.OfGET && !refusesBackground {
		return false
	}
	return x.removeRefused(name, failure)
}

// decideRetry returns how long the call sleeps before another attempt, or the error that ends the
// call. pacerWait is as in try. A failure ends the call if it is not retryable, or if it is that of
// the last attempt. A failure also ends the call if the wait would end after the deadline of ctx: a
// timeout at the deadline would tell less than the failure.
func (x *exchange) decideRetry(
	ctx context.Context, failure *call.APIError, pacerWait time.Duration,
) (time.Duration, *call.APIError) {
	if !retryable(failure) || x.attempt > x.client.options.MaxRetries {
		return 0, failure
	}

	wait := cmp.Or(pacerWait, failure.RetryAfter)
	if wait == 0 {
		wait = x.delays.NextBackOff()
	}
	if !isInTime(ctx, wait) {
		final := *failure
		final.RetryAfter = wait
		return 0, &final
	}

	if failure.Kind == call.KindRateLimit {
		wait = 0 // waitForTurn of the next attempt waits: the pacer knows the time (NoteRefused)
	}
	return wait, nil
}

// noteIfKeyRefused tells the memory of a failure that refuses the key or its quota. A 401 for a
// scope that the key lacks counts, too. A failure that may be of this call alone, or is of a key
// that SetKey has replaced, does not count.
func (x *exchange) noteIfKeyRefused(failure *call.APIError) {
	lacksScope := failure.Kind == call.KindPermission && failure.Status == http.StatusUnauthorized
	refusesKey := failure.Kind.RefusesKey() || lacksScope
	if refusesKey && !failure.MaybeThisCall && x.key == x.client.key.Load() {
		x.client.memory.noteRefusal(x.call.Person.ID, failure)
	}
}

// removeRefused removes a parameter because of a failure, and reports whether the request had the
// parameter. It logs a warning. It adds the parameter to toRemember, unless the error may quote the
// question.
func (x *exchange) removeRefused(name string, failure *call.APIError) bool {
	value := x.params.value(name)
	if value == nil {
		return false
	}
	x.params.remove(name)

	p := refusedParam{x.model, name, fmt.Sprint(value), x.call.Person.ID}
	unknown := failure.Code == "unknown_parameter"
	unsupported := strings.HasPrefix(failure.Code, "unsupported_")
	if unknown || name == safetyIdentifierParam {
		p.value = anyValue
	}
	if unknown || unsupported || failure.ResponseLost {
		p.personID = everyone
	}
	// A gateway may repeat the question in its message. So an uncertain error is not remembered if
	// the question contains the name.
	isUncertain := onlyMentions(failure, name) || failure.MaybeThisCall
	mayBeQuoted := isUncertain && x.params.questionContains(name)
	if !mayBeQuoted {
		x.toRemember = append(x.toRemember, p)
	}

	key := p // of the log line, one for all people
	key.personID = everyone
	log := x.client.options.Logger.With("model", x.model, "param", name,
		"status", failure.Status, "code", failure.Code)
	x.client.warnings.Log(key, func(n int) {
		log.Warn("the API refuses a parameter: asking again without it", "count", n)
	})
	return true
}

// retryable reports whether the same request may succeed later.
func retryable(e *call.APIError) bool {
	return e.Kind.IsTemporary() && !e.NoRetry
}

// newDelays returns the waits before attempts and GETs for which the API names no time.
func newDelays() *backoff.ExponentialBackOff {
	return &backoff.ExponentialBackOff{
		InitialInterval:     500 * time.Millisecond,
		RandomizationFactor: 0.25,
		Multiplier:          2,
		MaxInterval:         8 * time.Second,
	}
}

// isInTime reports whether a wait ends before the deadline of ctx.
func isInTime(ctx context.Context, wait time.Duration) bool {
	deadline, ok := ctx.Deadline()
	return !ok || wait < time.Until(deadline)
}

// sleep waits, or returns the error of ctx if ctx ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	waitCtx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	<-waitCtx.Done()
	return ctx.Err()
}
