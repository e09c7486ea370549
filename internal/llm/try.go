package llm

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"

	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/param"
	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/openai/openai-go/v3/responses"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// try is a call in progress.
type try struct {
	client  *Client
	model   string
	body    editor
	feed    *feed
	attempt int // from 1 on
}

// run sends the request until the API takes its parameters, and reads the
// answer. Dropping a refused parameter is not a retry; each pass takes something
// out of the body, so the loop ends.
func (t *try) run(ctx context.Context) (*Response, *Error) {
	for {
		r, err := t.send(ctx)
		if err == nil {
			return r, nil
		}
		e := t.client.toError(ctx, err)
		e.Attempts = t.attempt
		t.client.logError(ctx, e)
		p, ok := t.body.refusedBy(e)
		if !ok {
			return nil, e
		}
		t.body.refuse(p)
		if t.client.refused.add(t.model, p) {
			t.client.o.Logger.Warn("the API refuses a parameter: going on without it",
				"model", t.model, "param", p.String(), "reason", text.Truncate(e.Message, 200))
		}
	}
}

// send makes one request and reads its answer: a stream, or the plain response
// of a call or a server that does not stream.
func (t *try) send(ctx context.Context) (*Response, error) {
	var params responses.ResponseNewParams
	param.SetJSON(t.body.data, &params)
	accept := "application/json"
	if t.body.get("stream").Bool() {
		accept = "text/event-stream"
	}
	var resp *http.Response
	if _, err := t.client.api.New(ctx, params, option.WithResponseBodyInto(&resp), option.WithHeader("Accept", accept)); err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	r, err := t.read(resp)
	if err != nil {
		e := answerError(err)
		e.Status, e.RequestID = resp.StatusCode, requestID(resp)
		return nil, e
	}
	t.client.logBody(ctx, "openai(client): response", r.RawJSON())
	r.RequestID = t.client.o.Redactor.Redact(requestID(resp))
	return r, nil
}

func (t *try) read(resp *http.Response) (*Response, error) {
	if isStream(resp) {
		return newFold(t.feed).read(ssestream.NewStream[json.RawMessage](ssestream.NewDecoder(resp), nil))
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, err
	}
	r, err := decodeResponse(data, resp.Header.Get("Content-Type"))
	if err == nil {
		t.feed.replay(r)
	}
	return r, err
}

// toError makes an *Error without secrets of an error that ended a try. When the
// context is over, that is the cause of any other failure.
func (c *Client) toError(ctx context.Context, err error) *Error {
	if ctx.Err() != nil {
		return contextError(ctx)
	}
	e, ok := errors.AsType[*Error](err)
	if !ok {
		e = connectionError(err)
	}
	for _, s := range []*string{&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.body} {
		*s = c.o.Redactor.Redact(*s)
	}
	return e
}

// logError writes the debug line of spec-v0.9 section 8.1.
func (c *Client) logError(ctx context.Context, e *Error) {
	c.o.Logger.LogAttrs(ctx, slog.LevelDebug, "openai(client): error",
		slog.Int("attempt", e.Attempts), slog.Int("status", e.Status),
		slog.String("name", e.Name()), slog.String("code", e.Code),
		slog.String("msg", text.Truncate(e.Message, 400)), slog.String("body", e.body))
}

// logBody writes the JSON of a request or response in debug mode.
func (c *Client) logBody(ctx context.Context, msg string, data string) {
	if c.o.Logger.Enabled(ctx, slog.LevelDebug) {
		c.o.Logger.LogAttrs(ctx, slog.LevelDebug, msg, slog.String("body", c.o.Redactor.Redact(data)))
	}
}
