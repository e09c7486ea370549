package llm

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

// request is one to an escaped path below the base URL. The query of that goes
// with it, which some gateways need (?api-version=...), and so does each slash:
// others have a whole URL in their path.
func (c *Client) request(ctx context.Context, method, path string, body io.Reader) (*http.Request, error) {
	target := c.base + "/" + path
	if c.query != "" {
		target += "?" + c.query
	}
	return http.NewRequestWithContext(ctx, method, target, body)
}

// exchange makes one round trip: it sets our headers, bounds the body of the
// answer, and makes an *Error of every answer that is not 2xx.
func (c *Client) exchange(req *http.Request) (*http.Response, error) {
	c.authorize(req.Header)
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, connectionError(err)
	}
	limit := int64(maxBody)
	if isStream(resp) {
		limit = maxStream
	}
	resp.Body = bound(resp, limit)
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer resp.Body.Close()
	switch resp.StatusCode / 100 {
	case 1: // a change of protocol: what follows is no answer, and no context ends it
		return nil, &Error{Kind: KindBadResponse, Status: resp.StatusCode, Message: "the API changes to another protocol"}
	case 3:
		return nil, redirectError(resp)
	}
	// A body that is cut off still tells something; the status tells the rest.
	data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	return nil, statusError(resp, c.scrub.Replace(string(data)))
}

// checkRedirect follows a redirect only where the same request goes to the same
// place: 307 and 308 within scheme, host and port. The others come back as they
// are and become an error, since the key and the question are meant for the
// configured host alone.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	if req.Method != from.Method || req.URL.Scheme != from.URL.Scheme || req.URL.Host != from.URL.Host || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

func redirectError(resp *http.Response) *Error {
	e := &Error{Kind: KindBadResponse, Status: resp.StatusCode, RequestID: requestID(resp)}
	target := "nowhere"
	if u, err := resp.Location(); err == nil {
		target = u.Scheme + "://" + u.Host
	}
	e.Message = "the API redirects to " + target
	return e
}

// requestID is the id that OpenAI's support asks for, or "".
func requestID(resp *http.Response) string { return resp.Header.Get("X-Request-Id") }

// contextError tells a timeout from a cancellation. Both the error of the
// context and its cause can be found in it with errors.Is.
func contextError(ctx context.Context) *Error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	e := &Error{Kind: KindCanceled, Message: "the call was canceled", Err: err}
	if errors.Is(err, context.DeadlineExceeded) {
		e.Kind, e.Message = KindTimeout, "no complete answer in time"
	}
	return e
}
