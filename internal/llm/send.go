package llm

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/cenkalti/backoff/v5"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/jsonx"
	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

const (
	maxBody      = 64 << 20 // bytes of an answer, after decompression
	maxErrorBody = 1 << 20  // bytes of an error answer that are read
	maxErrorText = 64 << 10 // bytes of a text in an error that are looked at
)

// do makes a request until it is answered. It is the only place where a request is repeated. The
// functions of a call:
//
//	Create       do
//	Stream, Run  run: a request, and further ones while the model calls tools
//	  run        do: the attempts of a request
//	    do       send: one attempt, with its answer read to the end
//	      send   read: a stream or an object
//
// Leaving out a refused parameter is not another attempt; each time the body gets smaller, so the
// loop ends.
func (c *Client) do(ctx context.Context, r Request, e *emitter) (*Response, error) {
	if c.configErr != nil {
		return nil, c.configErr
	}
	body, err := c.body(r)
	if err != nil {
		return nil, &Error{Kind: KindParameter, Message: err.Error(), Err: err}
	}
	waits := backoff.NewExponentialBackOff() // from half a second on
	waits.RandomizationFactor, waits.Multiplier, waits.MaxInterval = 0.25, 2, 8*time.Second
	paced := c.pacer(r.Model).newCall(ctx)
	var report func(ahead int)
	if e.watched() {
		report = func(ahead int) { e.send(Waiting{ahead}) }
	}

	for attempt := 1; ; {
		last := attempt > 1 && attempt > c.o.MaxRetries
		err := paced.wait(ctx, last, report)
		if err != nil {
			return nil, c.failed(ctx, err, attempt-1)
		}

		resp, err := c.send(paced.context(ctx), body, e)
		if err == nil {
			resp.Retries = attempt - 1
			return resp, nil
		}
		failure := c.failed(ctx, err, attempt)
		limited := failure.Kind == KindRateLimit && failure.retryable()
		wait := failure.RetryAfter
		if limited {
			wait = paced.refused(failure.RetryAfter)
		} else {
			paced.ended()
		}
		if c.leaveOut(body, r.Model, failure) {
			continue
		}

		if wait == 0 {
			wait = waits.NextBackOff()
		}
		if !failure.retryable() || attempt > c.o.MaxRetries {
			return nil, failure
		}
		// A wait beyond the deadline would turn this error into a timeout.
		deadline, ok := ctx.Deadline()
		if ok && wait >= time.Until(deadline) {
			failure.RetryAfter = wait
			return nil, failure
		}

		attempt++
		e.send(Retrying{Attempt: attempt, Err: failure})
		if limited {
			continue // the wait is the pacer's
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return nil, c.failed(ctx, ctx.Err(), attempt-1)
		}
	}
}

// send makes one request and reads its answer.
func (c *Client) send(ctx context.Context, body map[string]any, e *emitter) (*Response, error) {
	data, err := jsonx.Marshal(body)
	if err != nil {
		return nil, &Error{Kind: KindParameter, Message: "encoding the request: " + err.Error(), Err: err}
	}
	accept := "application/json"
	if body["stream"] == true {
		accept = "text/event-stream"
	}
	c.logBody(ctx, "openai(client): request", data)
	// The answer is read here, because a server may answer either kind of call with an object or
	// with a stream.
	var resp *http.Response
	_, err = c.api.New(ctx, responses.ResponseNewParams{}, option.WithRequestBody("application/json", data),
		option.WithResponseBodyInto(&resp), option.WithHeader("Accept", accept))
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r, err := c.read(ctx, resp, e)
	if err != nil {
		return nil, answerError(resp, err)
	}
	r.RequestID = requestID(resp)
	r.Blocks = e.next
	return r, nil
}

// read reads a stream or an object. The first bytes tell them apart where they can: some servers
// send no content type, or the one that the request expects.
func (c *Client) read(ctx context.Context, resp *http.Response, e *emitter) (*Response, error) {
	contentType := resp.Header.Get("Content-Type")
	body := bufio.NewReaderSize(resp.Body, 16) // larger reads do not go through the buffer
	start, _ := body.Peek(5)                   // a read reports the error
	stream := strings.HasPrefix(strings.ToLower(contentType), "text/event-stream")
	switch s := string(start); {
	case strings.HasPrefix(s, "{"), strings.HasPrefix(s, "<"):
		stream = false
	case s == "data:", s == "event", strings.HasPrefix(s, ":"):
		stream = true
	}
	acc := newAccumulator(e, func(data []byte) { c.logBody(ctx, "openai(client): response", data) })
	defer acc.stopAll()
	if stream {
		// The decoder loses a last event that no blank line follows.
		resp.Body = io.NopCloser(io.MultiReader(body, strings.NewReader("\n\n")))
		return acc.read(ctx, ssestream.NewDecoder(resp))
	}
	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return acc.finish(data, contentType, "")
}

// middleware is called by openai-go and by Model for each request. It completes the
// request, bounds the body of the answer, and turns any status but 2xx into an *Error.
func (c *Client) middleware(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "X-Stainless-") // they describe the machine
	})
	c.setHeaders(req.Header)
	if parent, ok := req.Context().Value(traceparent{}).(string); ok {
		req.Header.Set("Traceparent", parent)
		c.o.Logger.LogAttrs(req.Context(), slog.LevelDebug, "openai(client): trace", slog.String("traceparent", parent))
	}
	req.URL.RawQuery = c.query
	resp, err := next(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, statusError(resp)
	}
	if paced, ok := req.Context().Value(pacedKey{}).(*pacedCall); ok {
		paced.accepted()
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	return resp, nil
}

// requestID is the id that OpenAI's support asks for, or "".
func requestID(resp *http.Response) string { return resp.Header.Get("X-Request-Id") }

// failed makes an *Error without secrets of an error that ended a try, and logs it (spec §8.1).
// When the context is over, that is the cause of any other failure.
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
		start := (*s)[:min(len(*s), maxErrorText)]
		*s = text.Truncate(c.o.Redactor.Line(start), 400) // a part of a secret would not be found
	}
	c.o.Logger.LogAttrs(ctx, slog.LevelDebug, "openai(client): error",
		slog.Int("attempt", e.Attempts), slog.Int("status", e.Status),
		slog.String("name", e.Name()), slog.String("code", e.Code),
		slog.String("msg", e.Message), slog.String("body", e.body))
	return e
}

// logBody writes the JSON of a request or response in debug mode.
func (c *Client) logBody(ctx context.Context, msg string, data []byte) {
	if c.o.Logger.Enabled(ctx, slog.LevelDebug) {
		c.o.Logger.LogAttrs(ctx, slog.LevelDebug, msg, slog.String("body", c.o.Redactor.Redact(string(data))))
	}
}

// Model returns what the API says about a model (GET /models/{id}). Every error is an *Error. The
// request is not repeated. It does not use openai-go, whose service for models is in a package of
// 13 MB.
func (c *Client) Model(ctx context.Context, id string) (data json.RawMessage, err error) {
	if c.configErr != nil {
		return nil, c.configErr
	}
	defer func() {
		if err != nil {
			data, err = nil, c.failed(ctx, err, 1)
		}
	}()
	path := url.URL{Path: "models/" + id} // a vendor prefix (openai/gpt-5.2) is part of the path
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/"+path.EscapedPath(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	resp, err := c.middleware(req, c.http.Do)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	data, err = io.ReadAll(resp.Body)
	if err == nil && (!isObject(data) || !json.Valid(data)) {
		err = notResponse(data, resp.Header.Get("Content-Type"))
	}
	if err != nil {
		return nil, answerError(resp, err)
	}
	return data, nil
}
