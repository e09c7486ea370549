package llm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// Model asks the API about one model (GET /models/{id}) and returns its answer.
// Every error is an *Error. The request is made once: it is a question about now,
// not work to be done.
func (c *Client) Model(ctx context.Context, id string) (json.RawMessage, error) {
	if c.unusable != nil {
		e := *c.unusable
		return nil, &e
	}
	// A vendor prefix (openai/gpt-5.2) is part of the path where there is one.
	path := url.URL{Path: "models/" + id}
	req, err := c.request(ctx, http.MethodGet, path.EscapedPath(), nil)
	if err != nil {
		return nil, &Error{Kind: KindParameter, Message: "asking for model " + id + ": " + err.Error(), Err: err}
	}
	resp, err := c.exchange(req)
	if err != nil {
		return nil, c.attempted(ctx, err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, c.attempted(ctx, connectionError(err))
	}
	if parseObject(data) == nil {
		e := &Error{Kind: KindBadResponse, Status: resp.StatusCode, RequestID: requestID(resp), Attempts: 1}
		e.Message = notResponse(data, resp.Header)
		return nil, e
	}
	return data, nil
}

// attempted is the error of the one try of Model.
func (c *Client) attempted(ctx context.Context, err error) error {
	e := connectionError(err)
	if ctx.Err() != nil {
		e = contextError(ctx)
	}
	e.Attempts = 1
	return e
}
