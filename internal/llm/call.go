package llm

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"
)

// call is one request of a caller with all the HTTP requests that it takes.
type call struct {
	client *Client
	body   *body
	feed   *feed
	tries  int // so far, the one under way included
}

// try makes one try: a request, and its answer read to the end.
func (k *call) try(ctx context.Context) (*Response, error) {
	resp, err := k.open(ctx)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	defer k.feed.stopAll()
	r, err := k.read(ctx, resp)
	if e, ok := errors.AsType[*Error](err); ok {
		k.client.clean(&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.body)
	}
	if r != nil {
		k.client.clean(&r.ID, &r.Model, &r.Status, &r.Incomplete, &r.RequestID)
	}
	return r, err
}

// clean takes the key out of what the other side has said, once it is decoded:
// a gateway may repeat it anywhere, and JSON may spell it with escapes.
func (c *Client) clean(texts ...*string) {
	for _, t := range texts {
		*t = c.scrub.Replace(*t)
	}
}

// open sends the body until the API takes it: a parameter that it refuses and
// that the answer can do without is dropped, which is no retry. Each pass takes
// something out of the body, so the loop ends.
func (k *call) open(ctx context.Context) (*http.Response, error) {
	for {
		resp, err := k.send(ctx)
		e, ok := errors.AsType[*Error](err)
		if !ok {
			return resp, err
		}
		k.client.clean(&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.body)
		p, ok := k.body.refusedBy(e)
		if !ok {
			return nil, k.explain(e)
		}
		k.fail(ctx, e)
		k.body.remove(p)
		if k.client.refused.add(k.body.model, p) {
			k.client.log.Warn("the API refuses a parameter: going on without it",
				"model", k.body.model, "param", p.String(), "reason", clip(e.Message, 200))
		}
	}
}

// send makes one HTTP request. The answer is a 2xx one, its body bounded; the
// caller closes it.
func (k *call) send(ctx context.Context) (*http.Response, error) {
	if ctx.Err() != nil {
		return nil, contextError(ctx)
	}
	data, err := k.body.encode()
	if err != nil {
		return nil, &Error{Kind: KindParameter, Message: "encoding the request: " + err.Error(), Err: err}
	}
	k.debugBody(ctx, "openai(client): request", data)
	req, err := k.client.request(ctx, http.MethodPost, "responses", bytes.NewReader(data))
	if err != nil {
		return nil, &Error{Kind: KindConnection, Message: err.Error(), Err: err, final: true}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json")
	if k.body.streams() {
		req.Header.Set("Accept", "text/event-stream")
	}
	resp, err := k.client.exchange(req)
	if err != nil && ctx.Err() != nil {
		// Whatever broke then broke because of it.
		return nil, contextError(ctx)
	}
	return resp, err
}

// readError is the error of a body that ended before its end.
func (k *call) readError(ctx context.Context, resp *http.Response, err error) error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	e := &Error{Kind: KindConnection, Status: resp.StatusCode, RequestID: requestID(resp), Err: err}
	for _, wrong := range []error{errTooLarge, errTooMany, errZip} {
		if errors.Is(err, wrong) {
			e.Kind, e.Message = KindBadResponse, wrong.Error()
			return e
		}
	}
	e.Message = "the answer was cut off: " + err.Error()
	return e
}

// explain adds what the API leaves unsaid about `tools`: minimal effort cannot
// search, and the way out is another effort, not another tool.
func (k *call) explain(e *Error) *Error {
	if strings.HasPrefix(e.Param, "tools") && k.body.effort() == "minimal" {
		e.Message = "reasoning_effort minimal cannot be used with web search, choose low or higher: " + e.Message
	}
	return e
}

// fail writes the debug line of spec §8.1.
func (k *call) fail(ctx context.Context, e *Error) {
	k.client.log.LogAttrs(ctx, slog.LevelDebug, "openai(client): error",
		slog.Int("attempt", k.tries), slog.Int("status", e.Status),
		slog.String("name", e.Name()), slog.String("code", e.Code),
		slog.String("msg", clip(e.Message, 400)), slog.String("body", e.body))
}

// debugBody logs what was sent or received (spec §8.1), which is read only when
// somebody looks.
func (k *call) debugBody(ctx context.Context, msg string, data []byte) {
	if log := k.client.log; log.Enabled(ctx, slog.LevelDebug) {
		log.LogAttrs(ctx, slog.LevelDebug, msg, slog.String("body", k.client.scrub.Replace(string(data))))
	}
}

// clip cuts s to at most n characters.
func clip(s string, n int) string {
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}
