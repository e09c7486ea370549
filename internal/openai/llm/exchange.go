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
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/pacer"
)

// Create sends r and returns the finished response. Every error is a *call.Error. The deadline of
// ctx bounds the whole exchange, retries included.
//
// The call's sink gets the events while the response is written: blocks, searches and the like. An
// attempt that fails in its middle is followed by Retrying and starts over. All events of a plain
// response come at its end: where r.Plain is set, where the organization may not stream, and from
// servers that answer with JSON.
//
// Create is the only place where a POST is repeated.
func (cl *Client) Create(ctx context.Context, c *call.Call, r call.Request) (*call.Response, error) {
	if err := cl.Ready(); err != nil {
		return nil, err
	}
	remembered := cl.memory.mayAsk(c.Person.ID)
	if remembered != nil {
		return nil, remembered
	}
	c.Input = r.Input
	x := &exchange{
		client:  cl,
		call:    c,
		model:   r.Model,
		params:  cl.newParams(c.Person, r),
		ticket:  cl.pacer(r.Model).Ticket(c.Person.ID),
		key:     cl.key.Load(),
		delays:  newDelays(),
		attempt: 1,
	}

	for {
		response, failure, wait := x.try(ctx)
		if failure == nil {
			return response, nil
		}
		if x.leaveOut(failure) {
			continue // the same attempt again, at once
		}

		wait, final := x.decide(ctx, failure, wait)
		if final != nil {
			ofKey := final.Kind == call.KindAuth || final.Kind == call.KindQuota
			if ofKey && !final.Once && x.key == cl.key.Load() {
				cl.memory.noteRefusal(c.Person.ID, final)
			}
			return nil, final
		}
		c.Send(call.Retrying{
			Attempt: x.attempt + 1,
			Err:     failure,
		})
		err := sleep(ctx, wait)
		if err != nil {
			return nil, cl.failed(ctx, err, x.attempt)
		}
		x.attempt++
	}
}

// exchange is a request with its attempts, which follow each other.
type exchange struct {
	client     *Client
	call       *call.Call
	model      string
	params     params
	toRemember []refusedParam // removed because of failures, since the API last accepted a request

	key     *string // the key when the exchange began; a later key has another address
	ticket  *pacer.Ticket
	delays  *backoff.ExponentialBackOff // where neither the API nor the pacer names a wait
	attempt int                         // number of the next attempt, from 1 on
}

// try makes an attempt when the pacer lets the call go, and tells the pacer how the attempt ended.
// After a refusal by the rate limit, wait is the wait of the pacer, else 0.
func (x *exchange) try(ctx context.Context) (r *call.Response, failure *call.Error, wait time.Duration) {
	waits, cancel := x.call.WaitContext(ctx)
	defer cancel()
	err := x.waitForTurn(waits)
	if err != nil {
		return nil, x.client.failed(waits, err, x.attempt-1), 0 // its cause may be ErrWaiting
	}
	if ctx.Err() != nil { // as its turn came
		x.ticket.Undecided()
		return nil, x.client.failed(ctx, ctx.Err(), x.attempt-1), 0
	}

	r, err = x.send(ctx)
	if err == nil {
		r.Retries = x.attempt - 1
		return r, nil, 0
	}
	failure = x.client.failed(ctx, err, x.attempt)
	if failure.Kind == call.KindRateLimit {
		retryAfter := failure.RetryAfter
		if retryAfter == 0 && isInTime(ctx, failure.Reset) {
			retryAfter = failure.Reset
		}
		return nil, failure, x.ticket.Refused(retryAfter)
	}
	x.ticket.Undecided()
	return nil, failure, 0
}

// waitForTurn returns when the pacer lets the next attempt go. Meanwhile the sink gets Waiting. If
// ctx ends first, the error is a QueuedError.
func (x *exchange) waitForTurn(ctx context.Context) error {
	var report func(ahead int)
	if x.call.Sink != nil { // a call with WaitUntil, which tells what is ahead, has one (tasks.Prepare)
		report = func(ahead int) {
			x.call.Ahead = ahead
			x.call.Send(call.Waiting{Ahead: ahead})
		}
	}
	last := x.attempt > 1 && x.attempt > x.client.o.MaxRetries // a retry, after which there is none

	queued := time.Now()
	err := x.ticket.Wait(ctx, last, report)
	x.call.Waited += time.Since(queued)
	return err
}

// send makes one request and reads its response to the end, over several connections where the
// response runs in the background. Then all blocks have stopped.
func (x *exchange) send(ctx context.Context) (r *call.Response, err error) {
	defer x.call.CountRequest(time.Now())
	connCtx, giveUp := context.WithCancel(ctx)
	defer giveUp()

	acc := x.client.newAccumulator(ctx, x.call)
	acc.background = background{
		requested: x.params["background"] == true,
		model:     x.model,
		include:   x.params.include(),
	}
	acc.giveUp = giveUp
	defer acc.stopBlocks()

	reported := x.call.Usage
	mayCost := false
	defer func() { // also after a panic
		if mayCost && x.call.Usage == reported {
			x.call.Unreported++
			left := acc.running() && errors.Is(context.Cause(ctx), call.ErrLeftToAPI)
			if acc.hasBegun() || left {
				x.call.Begun++
			}
		}
	}()
	var resp *http.Response
	resp, mayCost, err = x.post(connCtx)
	if err == nil {
		r, err = readResponse(connCtx, resp, acc)
		if acc.running() {
			r, err = x.follow(ctx, acc, err)
		}
	}
	return r, err
}

// post sends the request. mayCost reports whether the API may have used tokens: the request had a
// connection, and no error of the API says otherwise. A gateway that gave up (504) does not know.
func (x *exchange) post(ctx context.Context) (resp *http.Response, mayCost bool, err error) {
	body, _ := jsonx.Marshal(x.params) // the configuration has checked its own parts
	x.client.logBody(ctx, "openai(client): request", rawJSON{data: body})
	accept := "application/json"
	if x.params["stream"] == true {
		accept = eventStream
	}
	options := append(x.client.options(x.call, &resp),
		option.WithRequestBody("application/json", body),
		option.WithHeader("Accept", accept))

	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(httptrace.GotConnInfo) { mayCost = true },
	})
	_, err = x.client.api.New(ctx, responses.ResponseNewParams{}, options...)
	failure, answered := errors.AsType[*call.Error](err)
	// After a 4xx nothing was begun: the call may end with "waiting", which promises that. After a
	// 5xx it must not. But only 504 and above count as cost: the API answers 500 to 503 itself,
	// without tokens.
	mayBeTaken := !answered || failure.Status >= http.StatusInternalServerError
	if mayBeTaken {
		x.call.WaitUntil = time.Time{}
	}
	if answered && failure.Status < http.StatusGatewayTimeout {
		mayCost = false
	}

	if err == nil {
		x.ticket.Accepted()
		x.client.memory.accepted(x.call.Person.ID, x.model, x.params, x.toRemember)
		x.toRemember = nil
	}
	return resp, mayCost, errors.Join(err, x.call.RootsErr)
}

// leaveOut removes from the parameters what the API refuses, and reports whether the request that
// is left should be made at once. Where GET /responses/{id} does not find the response, background
// is removed, too; but the lost response counts as an attempt, and the next one waits.
func (x *exchange) leaveOut(failure *call.Error) bool {
	if failure.Lost { // the next attempt runs in the foreground
		removed := x.remove("background", failure)
		if removed && x.client.memory.hasGET(x.model) {
			x.toRemember = nil // the API finds others: only this response is lost
		}
		return false
	}
	return x.remove(x.params.refused(failure), failure)
}

// decide returns how long the call waits before another attempt, or the error that ends the call.
// wait is how long the pacer makes the call wait after a refusal by the rate limit, else 0. A
// failure is final after the last attempt, and if the wait would end after the deadline of ctx: the
// call would end with a timeout, which says less.
func (x *exchange) decide(
	ctx context.Context, failure *call.Error, wait time.Duration,
) (time.Duration, *call.Error) {
	if !retryable(failure) || x.attempt > x.client.o.MaxRetries {
		return 0, failure
	}

	wait = cmp.Or(wait, failure.RetryAfter)
	if wait == 0 {
		wait = x.delays.NextBackOff()
	}
	if !isInTime(ctx, wait) {
		final := *failure
		final.RetryAfter = wait
		return 0, &final
	}

	if failure.Kind == call.KindRateLimit {
		wait = 0 // the pacer waits
	}
	return wait, nil
}

// remove removes a parameter because of a failure, and reports whether the parameter was there.
func (x *exchange) remove(name string, failure *call.Error) bool {
	value := x.params.value(name)
	if value == nil {
		return false
	}
	x.params.remove(name)

	p := refusedParam{x.model, name, fmt.Sprint(value), x.call.Person.ID}
	unknown := failure.Code == "unknown_parameter"
	unsupported := strings.HasPrefix(failure.Code, "unsupported_")
	if unknown || name == identifierParam {
		p.value = anyValue
	}
	if unknown || unsupported || failure.Lost {
		p.person = everyone
	}
	// An error that may be of this call alone (Once) may be about the question, which a gateway
	// repeats.
	quoted := (mentions(failure, name) || failure.Once) && x.params.questionHas(name)
	if !quoted { // else the API may refuse the question
		x.toRemember = append(x.toRemember, p)
	}

	p.person = everyone // the log has one line for all people
	log := x.client.o.Logger.With("model", x.model, "param", name,
		"status", failure.Status, "code", failure.Code)
	x.client.warned.Log(p, func(n int) {
		log.Warn("the API refuses a parameter: asking again without it", "count", n)
	})
	return true
}

// newDelays returns the delays between attempts for which the API names no time.
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

// sleep returns after the wait, or with the error of ctx when that ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
