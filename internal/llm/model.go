package llm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"

	"github.com/tidwall/gjson"
)

// Model returns what the API says about a model (GET /models/{id}). Every error
// is an *Error. The request is made once: it is a question about now. It does
// not use openai-go, whose service for models is in a package of 13 MB.
func (c *Client) Model(ctx context.Context, id string) (json.RawMessage, error) {
	if c.unusable != nil {
		e := *c.unusable
		return nil, &e
	}
	data, err := c.model(ctx, id)
	if err != nil {
		e := c.toError(ctx, err)
		e.Attempts = 1
		c.logError(ctx, e)
		return nil, e
	}
	return data, nil
}

func (c *Client) model(ctx context.Context, id string) ([]byte, error) {
	// A vendor prefix (openai/gpt-5.2) is part of the path.
	path := url.URL{Path: "models/" + id}
	target := c.base + "/" + path.EscapedPath()
	if c.query != "" {
		target += "?" + c.query
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return nil, &Error{Kind: KindParameter, Message: "asking for model " + id + ": " + err.Error(), Err: err}
	}
	req.Header.Set("Accept", "application/json")
	c.authorize(req.Header)
	resp, err := c.exchange(req, c.http.Do)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 400 {
		return nil, statusError(resp)
	}
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		return nil, answerError(err)
	}
	if !gjson.ValidBytes(data) || !gjson.ParseBytes(data).IsObject() {
		e := notResponse(data, resp.Header.Get("Content-Type"))
		e.Status, e.RequestID = resp.StatusCode, requestID(resp)
		return nil, e
	}
	return data, nil
}
