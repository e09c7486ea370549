package llm

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"
	"github.com/tidwall/gjson"
)

const (
	maxBody      = 16 << 20 // bytes of an answer, after decompression
	maxErrorBody = 1 << 20  // bytes of an error answer that are read
	maxErrorText = 64 << 10 // bytes of a text in an error that are looked at
	eventStream  = "text/event-stream"
)

// do makes a request until it is answered. It is the only place where a request is repeated. The
// functions of a call:
//
//	Create       do
//	Stream, Run  run: a request, and further ones while the model calls tools
//	  run        do: the attempts of a request, in the pacer's turns
//	    do       attempt: one attempt, with its answer read to the end
//	      attempt  send: the HTTP request; readAnswer: a stream or an object;
//	               follow: the rest of a response that runs in the background
//
// Leaving out a refused parameter is not another attempt; each time the body gets smaller, so the
// loop ends.
func (c *Client) do(ctx context.Context, r Request, e *emitter) (*Response, error) {
	if err := c.Ready(); err != nil {
		return nil, err
	}
	body, err := c.encode(r)
	if err != nil {
		message := "encoding the request: " + err.Error()
		return nil, c.failed(ctx, &Error{Kind: KindParameter, Message: message}, 0)
	}

	call := c.newCall(ctx, r.Model)
	for {
		if e.takesRunning && !inBackground(body) {
			failure := &Error{Kind: KindFailed, Err: ErrNoBackground}
			return nil, c.failed(ctx, failure, call.attempt-1)
		}

		resp, failure := c.takeTurn(ctx, call, body, e)
		if failure == nil {
			return resp, nil
		}

		smaller, ok := c.leaveOut(body, r.Model, failure)
		if ok {
			body = smaller
			continue
		}
		if failure.Lost {
			c.lose(r.Model, failure)
			body, _ = drop(body, "background")
			if e.takesRunning {
				continue // the loop then ends with ErrNoBackground
			}
		}

		wait, ok := c.retryWait(ctx, call, failure)
		if !ok {
			return nil, failure
		}

		call.attempt++
		call.last = call.attempt > c.o.MaxRetries
		e.send(Retrying{Attempt: call.attempt, Err: failure})
		err := sleep(ctx, wait)
		if err != nil {
			return nil, c.failed(ctx, err, call.attempt-1)
		}
	}
}

// takeTurn waits until the pacer lets an attempt go, makes it, and tells the pacer how it ended.
func (c *Client) takeTurn(
	ctx context.Context,
	call *pacedCall,
	body []byte,
	e *emitter,
) (*Response, *Error) {
	queued := time.Now()
	err := c.wait(ctx, call, e)
	callOf(ctx).Waited += time.Since(queued)
	if err != nil {
		return nil, c.failed(ctx, err, call.attempt-1)
	}

	resp, err := c.attempt(ctx, call, body, e)
	if err == nil {
		resp.Retries = call.attempt - 1
		return resp, nil
	}
	failure := c.failed(ctx, err, call.attempt)
	if failure.rateLimited() {
		failure.wait = call.refused(failure.RetryAfter)
	} else {
		call.ended()
	}
	return nil, failure
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

// retryWait returns how long to wait before the next attempt, 0 where the pacer does it. It reports
// whether there is a next attempt: not after the last one, and not when the wait would end after the
// deadline of ctx and so turn the failure into a timeout.
func (c *Client) retryWait(
	ctx context.Context,
	call *pacedCall,
	failure *Error,
) (wait time.Duration, ok bool) {
	if !failure.retryable() || call.attempt > c.o.MaxRetries {
		return 0, false
	}

	wait = cmp.Or(failure.wait, failure.RetryAfter, call.delays.NextBackOff())
	deadline, bounded := ctx.Deadline()
	if bounded && wait >= time.Until(deadline) {
		failure.RetryAfter = wait
		return 0, false
	}
	if failure.rateLimited() {
		return 0, true
	}
	return wait, true
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

// attempt sends the body and reads the answer to its end, over several connections where the
// response runs in the background. Then all blocks have stopped.
func (c *Client) attempt(
	ctx context.Context,
	call *pacedCall,
	body []byte,
	e *emitter,
) (*Response, error) {
	defer callOf(ctx).ended(time.Now())

	acc := c.newAccumulator(ctx, e)
	acc.job = jobOf(body)
	defer acc.stopBlocks()

	resp, err := c.send(ctx, body)
	if err != nil {
		return nil, err
	}
	call.accepted(call.sent)

	r, err := readAnswer(ctx, resp, acc)
	if !acc.job.running() {
		return r, err
	}
	return c.follow(ctx, acc, err)
}

// newAccumulator returns an accumulator that writes what came back to the debug log.
func (c *Client) newAccumulator(ctx context.Context, e *emitter) *accumulator {
	return newAccumulator(e, func(data []byte) {
		c.logBody(ctx, "openai(client): response", data)
	})
}

// readAnswer reads the body of an answer and closes it.
func readAnswer(ctx context.Context, resp *http.Response, acc *accumulator) (*Response, error) {
	defer resp.Body.Close()

	r, err := read(ctx, resp, acc)
	if err != nil {
		return nil, readError(resp, err)
	}
	r.RequestID = requestID(resp)
	r.Blocks = acc.emitter.next
	return r, nil
}

// send makes one request and returns its answer, whose status is 2xx.
func (c *Client) send(ctx context.Context, body []byte) (*http.Response, error) {
	c.logBody(ctx, "openai(client): request", body)
	accept := "application/json"
	if gjson.GetBytes(body, "stream").Bool() {
		accept = eventStream
	}

	// openai-go does not read the answer, because a server may answer either kind of call with an
	// object or with a stream.
	var resp *http.Response
	_, err := c.api.New(ctx, responses.ResponseNewParams{},
		option.WithRequestBody("application/json", body),
		option.WithResponseBodyInto(&resp),
		option.WithHeader("Accept", accept))
	return resp, err
}

// read reads a stream or an object.
func read(ctx context.Context, resp *http.Response, acc *accumulator) (*Response, error) {
	contentType := resp.Header.Get("Content-Type")
	body := bufio.NewReaderSize(resp.Body, 16) // larger reads do not go through the buffer

	if isStream(body, contentType) {
		// The decoder loses a last event that no blank line follows.
		resp.Body = io.NopCloser(io.MultiReader(body, strings.NewReader("\n\n")))
		return acc.read(ctx, ssestream.NewDecoder(resp))
	}

	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return acc.finishPlain(data)
}

// The first bytes of an answer.
var (
	startOfStream   = regexp.MustCompile("^(data:|event|:)")
	startOfDocument = regexp.MustCompile("^[{<]")
)

// isStream reports whether an answer is a stream. Its first bytes decide where they can: some
// servers send no content type, or the one that the request expects.
func isStream(body *bufio.Reader, contentType string) bool {
	start, _ := body.Peek(len("data:")) // a read reports the error
	switch {
	case startOfStream.Match(start):
		return true
	case startOfDocument.Match(start):
		return false
	}
	return strings.HasPrefix(strings.ToLower(contentType), eventStream)
}

// middleware is called by openai-go and by Model for each request. It completes the
// request, bounds the body of the answer, and turns any status but 2xx into an *Error.
func (c *Client) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "X-Stainless-") // they describe the machine
	})
	maps.Copy(req.Header, c.header)
	if c.bearer {
		req.Header.Set("Authorization", "Bearer "+*c.key.Load())
	}

	call := callOf(req.Context())
	if call.Traceparent != "" {
		req.Header.Set("Traceparent", call.Traceparent)
	}
	req.URL.RawQuery = strings.Trim(c.query+"&"+req.URL.RawQuery, "&")

	resp, err := next(req)
	if err != nil {
		return nil, err
	}
	call.RequestID = c.o.Redactor.Truncate(requestID(resp), 100)

	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, statusError(resp)
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	return resp, nil
}

// requestID is the id that OpenAI's support asks for, or "".
func requestID(resp *http.Response) string { return resp.Header.Get("X-Request-Id") }

// failed makes an *Error without secrets of an error that ended an attempt, and logs it (spec
// §8.1). When the context is over, that is the cause of any other failure.
func (c *Client) failed(ctx context.Context, err error, attempt int) *Error {
	e, ok := errors.AsType[*Error](err)
	switch {
	case ctx.Err() != nil:
		e = contextError(ctx, err)
	case !ok:
		e = connectionError(err)
	}
	e.Attempts = attempt

	for _, s := range []*string{&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.body} {
		*s = c.o.Redactor.Truncate(*s, 300)
	}

	c.o.Logger.Debug("openai(client): error",
		"attempt", e.Attempts,
		"status", e.Status,
		"name", e.Name(),
		"code", e.Code,
		"msg", e.Message,
		"body", e.body)
	return e
}

// logBody writes the JSON of a request or response in debug mode.
func (c *Client) logBody(ctx context.Context, msg string, data []byte) {
	if c.o.Logger.Enabled(ctx, slog.LevelDebug) {
		c.o.Logger.Debug(msg, "body", c.o.Redactor.Redact(string(data)))
	}
}

// Model returns what the API says about a model (GET /models/{id}). Every error is an *Error. The
// request is not repeated. It does not use openai-go, whose service for models is in a package of
// 13 MB.
func (c *Client) Model(ctx context.Context, id string) (json.RawMessage, error) {
	if err := c.Ready(); err != nil {
		return nil, err
	}
	data, err := c.getModel(ctx, id)
	if err != nil {
		return nil, c.failed(ctx, err, 1)
	}
	return data, nil
}

func (c *Client) getModel(ctx context.Context, id string) (json.RawMessage, error) {
	address := c.base + "/models/" + id // which may have a vendor prefix (openai/gpt-5.2)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := c.middleware(req, c.http.Do)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	data, err := io.ReadAll(resp.Body)
	isModel := isObject(data) && json.Valid(data)
	if err == nil && !isModel {
		err = notResponse(data)
	}
	if err != nil {
		return nil, readError(resp, err)
	}
	return data, nil
}
