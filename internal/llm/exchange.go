package llm

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/pacer"
)

// Create sends r and returns the finished response. Every error is an *Error. The deadline of ctx
// bounds the whole exchange, retries included.
//
// The call's sink gets the events while the response is written: blocks, searches and the like. An
// attempt that fails in its middle is followed by Retrying and starts over. All events of a plain
// answer come at its end: where r.Plain is set, where the organization may not stream, and from
// servers that answer with JSON.
//
// Create is the only place where a request is repeated.
func (c *Client) Create(ctx context.Context, call *Call, r Request) (*Response, error) {
	if err := c.Ready(); err != nil {
		return nil, err
	}
	failure := c.memory.refusal(call.Person.ID)
	if failure != nil {
		return nil, failure
	}
	x := &exchange{
		Client:  c,
		call:    call,
		model:   r.Model,
		body:    c.newBody(call.Person, r),
		ticket:  c.pacer(r.Model).Ticket(call.Person.ID),
		key:     c.key.Load(),
		delays:  newDelays(),
		attempt: 1,
	}
	x.encode()

	for {
		d := x.try(ctx)
		switch d.next {
		case done:
			return d.response, nil
		case fail:
			isOfKey := d.err.Kind == KindAuth || d.err.Kind == KindQuota
			if isOfKey && x.key == c.key.Load() {
				c.memory.refused(call.Person.ID, d.err)
			}
			return nil, d.err
		case smaller: // try again at once
		case retry:
			x.attempt++
			call.Send(Retrying{
				Attempt: x.attempt,
				Err:     d.err,
			})
			err := sleep(ctx, d.wait)
			if err != nil {
				return nil, c.failed(ctx, err, x.attempt-1)
			}
		}
	}
}

// exchange is a request with its attempts, which follow each other.
type exchange struct {
	*Client
	call    *Call
	model   string
	body    body
	encoded []byte      // the JSON of body
	removed []parameter // because of failures, since the API last accepted a request

	key     *string // the key when the exchange began; a later key has another address
	ticket  *pacer.Ticket
	delays  *backoff.ExponentialBackOff // where neither the API nor the pacer names a wait
	attempt int                         // number of the next attempt, from 1 on
}

// encode encodes the body. It cannot fail: the configuration has checked its own parts.
func (x *exchange) encode() {
	x.encoded, _ = jsonx.Marshal(x.body)
}

// decision says what follows an attempt.
type decision struct {
	next     next
	response *Response
	err      *Error
	wait     time.Duration
}

type next int

const (
	done    next = iota // with the response
	fail                // with err
	smaller             // the same attempt again, at once: a parameter was removed from the body
	retry               // another attempt after wait, because of err
)

// try makes an attempt when the pacer lets it go, and tells the pacer how it ended.
func (x *exchange) try(ctx context.Context) decision {
	err := x.waitForTurn(ctx)
	if err != nil {
		return decision{
			next: fail,
			err:  x.failed(ctx, err, x.attempt-1),
		}
	}

	response, err := x.send(ctx)
	if err == nil {
		response.Retries = x.attempt - 1
		return decision{next: done, response: response}
	}
	failure := x.failed(ctx, err, x.attempt)
	wait := time.Duration(0)
	if failure.rateLimited() {
		wait = x.ticket.Refused(failure.RetryAfter)
	} else {
		x.ticket.Ended()
	}
	return x.decide(ctx, failure, wait)
}

// waitForTurn returns when the pacer lets the next attempt go. Meanwhile the sink gets Waiting. If
// ctx ends first, the error is a QueuedError.
func (x *exchange) waitForTurn(ctx context.Context) error {
	var report func(ahead int)
	if x.call.Sink != nil {
		report = func(ahead int) {
			x.call.Send(Waiting{ahead})
		}
	}
	isLast := x.attempt > 1 && x.attempt > x.o.MaxRetries

	queued := time.Now()
	err := x.ticket.Wait(ctx, isLast, report)
	x.call.Waited += time.Since(queued)
	if err == nil {
		return nil
	}
	ahead := x.ticket.Ahead()
	x.ticket.Ended()
	return QueuedError(ahead)
}

// send makes one request and reads its answer to the end, over several connections where the
// response runs in the background. Then all blocks have stopped.
func (x *exchange) send(ctx context.Context) (*Response, error) {
	defer x.call.ended(time.Now())
	x.logBody(ctx, "openai(client): request", x.encoded)
	conn, giveUp := context.WithCancel(ctx)
	defer giveUp()

	acc := x.newAccumulator(ctx, x.call)
	acc.background = background{
		asked:   x.body.inBackground(),
		model:   x.model,
		include: x.body.include(),
		giveUp:  giveUp,
	}
	defer acc.stopBlocks()

	accept := "application/json"
	if x.body["stream"] == true {
		accept = eventStream
	}
	var resp *http.Response
	options := append(x.options(x.call, &resp),
		option.WithRequestBody("application/json", x.encoded),
		option.WithHeader("Accept", accept))
	_, err := x.api.New(conn, responses.ResponseNewParams{}, options...)
	if err != nil {
		return nil, err
	}
	x.accepted()

	r, err := readAnswer(conn, resp, acc)
	if !acc.running() {
		return r, err
	}
	return x.follow(ctx, acc, err)
}

// decide says what follows a failure. wait is that of the pacer after a refusal by the rate limit,
// else 0. A failure is final after the last attempt, and if the wait for the next one would end
// after the deadline of ctx and so turn it into a timeout.
func (x *exchange) decide(ctx context.Context, failure *Error, wait time.Duration) decision {
	if x.remove(x.body.refused(failure), failure) {
		return decision{next: smaller}
	}
	if failure.Lost && x.remove("background", failure) && x.memory.hasFound(x.model) {
		x.removed = nil // only this response is lost
	}
	if !failure.retryable() || x.attempt > x.o.MaxRetries {
		return decision{next: fail, err: failure}
	}

	wait = cmp.Or(wait, failure.RetryAfter)
	if wait == 0 {
		wait = x.delays.NextBackOff()
	}
	deadline, isBounded := ctx.Deadline()
	if isBounded && wait >= time.Until(deadline) {
		late := *failure
		late.RetryAfter = wait
		return decision{next: fail, err: &late}
	}

	if failure.rateLimited() {
		wait = 0 // the pacer waits
	}
	return decision{next: retry, err: failure, wait: wait}
}

// remove removes a parameter from the body because of a failure, and reports whether the body had
// it.
func (x *exchange) remove(name string, failure *Error) bool {
	value := x.body.value(name)
	if value == nil {
		return false
	}
	x.body.remove(name)
	x.encode()

	p := parameter{x.model, name, fmt.Sprint(value), x.call.Person.ID}
	if name == identifierParam || failure.Code == "unknown_parameter" {
		p.value = anyValue
	}
	if failure.Lost || failure.refusesParameter() {
		p.person = everyone
	}
	x.removed = append(x.removed, p)
	x.o.Logger.Warn("the API refuses a parameter: asking again without it",
		"model", x.model,
		"param", name,
		"status", failure.Status,
		"code", failure.Code)
	return true
}

// accepted notes that the API accepts a request, when the header of its answer is there. Only now
// does a refused parameter mean something for other calls: the API might refuse the request without
// it, too.
func (x *exchange) accepted() {
	x.ticket.Accepted()
	x.memory.accepted(x.call.Person.ID, x.model, x.body)
	for _, p := range x.removed {
		x.memory.refusedParameter(p)
	}
	x.removed = nil
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

// sleep returns after the wait, or with the error of ctx when that ends first.
func sleep(ctx context.Context, wait time.Duration) error {
	select {
	case <-time.After(wait):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}
