package llm

import (
	"bufio"
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
)

// exchange is the middleware of openai-go. It completes and logs the request,
// bounds the body of the answer, and turns all but a result into an *Error. It
// repairs what openai-go cannot read: an answer without a correct content type,
// and a stream without its last blank line.
func (c *Client) exchange(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
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
			c.logBody(req.Context(), "openai(client): request", string(data))
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
	// Only the first bytes go through the buffer: reads that exceed it do not.
	buffered := bufio.NewReaderSize(http.MaxBytesReader(nil, resp.Body, maxBody), 16)
	setContentType(resp, buffered)
	body := struct {
		io.Reader
		io.Closer
	}{buffered, resp.Body}
	if isStream(resp) {
		body.Reader = io.MultiReader(buffered, strings.NewReader("\n\n"))
	}
	resp.Body = body
	return resp, nil
}

// setContentType corrects the content type by the first bytes of the body: some
// servers send none, or the one that the request expects.
func setContentType(resp *http.Response, body *bufio.Reader) {
	start, _ := body.Peek(5) // a read reports the error
	switch s := string(start); {
	case strings.HasPrefix(s, "{"):
		resp.Header.Set("Content-Type", "application/json")
	case strings.HasPrefix(s, "<") && isStream(resp):
		resp.Header.Set("Content-Type", "text/html")
	case s == "data:" || s == "event" || strings.HasPrefix(s, ":"):
		resp.Header.Set("Content-Type", "text/event-stream")
	}
}

func isStream(resp *http.Response) bool {
	return strings.HasPrefix(strings.ToLower(strings.TrimSpace(resp.Header.Get("Content-Type"))), "text/event-stream")
}

// requestID is the id that OpenAI's support asks for, or "".
func requestID(resp *http.Response) string { return resp.Header.Get("X-Request-Id") }
