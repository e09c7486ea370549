package llm

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/url"
)

// Model returns what the API says about a model (GET /models/{id}). Every error
// is an *Error. The request is not repeated. It does not use openai-go, whose
// service for models is in a package of 13 MB.
func (c *Client) Model(ctx context.Context, id string) (json.RawMessage, error) {
	if c.configErr != nil {
		return nil, c.configErr
	}
	data, err := c.model(ctx, id)
	if err != nil {
		return nil, c.failed(ctx, err, 1)
	}
	return data, nil
}

func (c *Client) model(ctx context.Context, id string) ([]byte, error) {
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
	data, err := io.ReadAll(resp.Body)
	if err == nil && (!isObject(data) || !json.Valid(data)) {
		err = notResponse(data, resp.Header.Get("Content-Type"))
	}
	if err != nil {
		return nil, answerError(resp, err)
	}
	return data, nil
}
