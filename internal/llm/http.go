package llm

import (
	"bufio"
	"io"
	"log/slog"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"
)

const (
	maxBody      = 64 << 20 // bytes of an answer, after decompression
	maxErrorBody = 1 << 20  // bytes of an error answer that are read
)

// exchange is the middleware of openai-go. It logs the request, bounds the body
// of the answer, and turns answers that are neither a result nor an error of
// the API into an *Error. It repairs what openai-go cannot read: an answer
// without a correct content type, and a stream without its last blank line.
func (c *Client) exchange(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
	if req.GetBody != nil && c.log.Enabled(req.Context(), slog.LevelDebug) {
		if body, err := req.GetBody(); err == nil {
			data, _ := io.ReadAll(body) // from memory
			c.logBody(req.Context(), "openai(client): request", string(data))
		}
	}
	resp, err := next(req)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode / 100 {
	case 1: // what follows is another protocol, and no context ends it
		resp.Body.Close()
		return nil, &Error{Kind: KindBadResponse, Status: resp.StatusCode, Message: "the API switches to another protocol"}
	case 3:
		resp.Body.Close()
		return nil, redirectError(resp)
	}
	body := struct {
		io.Reader
		io.Closer
	}{http.MaxBytesReader(nil, resp.Body, maxBody), resp.Body}
	if resp.StatusCode >= 400 {
		body.Reader = io.LimitReader(resp.Body, maxErrorBody) // the rest is not worth reading
	} else {
		buffered := bufio.NewReader(body.Reader)
		setContentType(resp, buffered)
		body.Reader = buffered
		if isStream(resp) {
			body.Reader = io.MultiReader(buffered, strings.NewReader("\n\n"))
		}
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
