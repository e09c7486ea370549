package llm

import (
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
)

const (
	maxBody      = 64 << 20 // bytes of an answer, after decompression
	maxErrorBody = 1 << 20  // bytes of an error answer that are read
	maxErrorText = 64 << 10 // bytes of a text in an error that are looked at
)

// middleware is called by openai-go and by Model for each request. It completes and
// logs the request, bounds the body of the answer, and turns any status but 2xx into
// an *Error.
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
	if req.GetBody != nil && c.o.Logger.Enabled(req.Context(), slog.LevelDebug) {
		if body, err := req.GetBody(); err == nil {
			data, _ := io.ReadAll(body) // from memory
			c.logBody(req.Context(), "openai(client): request", data)
		}
	}
	resp, err := next(req)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode/100 != 2 {
		defer resp.Body.Close()
		return nil, statusError(resp)
	}
	resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
	return resp, nil
}

// requestID is the id that OpenAI's support asks for, or "".
func requestID(resp *http.Response) string { return resp.Header.Get("X-Request-Id") }
