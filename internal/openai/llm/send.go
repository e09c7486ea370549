package llm

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"

	"github.com/openai/openai-go/v3/option"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

const (
	maxBody      = 16 << 20 // bytes of a body, after decompression
	maxErrorBody = 1 << 20  // bytes of the body of an error that are read
	maxErrorText = 64 << 10 // bytes of a text in an error that are read, unless most are blanks
	eventStream  = "text/event-stream"
)

// options returns the options of a request of openai-go for a call. openai-go does not read the
// body, because a server may answer any request with an object or with a stream.
func (cl *Client) options(c *call.Call, resp **http.Response) []option.RequestOption {
	return []option.RequestOption{
		option.WithResponseBodyInto(resp),
		option.WithMiddleware(cl.middleware(c)),
	}
}

// middleware is around each request of a call: it completes the request, bounds the body of the
// HTTP response, and turns any status but 2xx into a *call.Error.
func (cl *Client) middleware(c *call.Call) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		cl.complete(req, c)
		resp, err := next(req)
		c.RootsErr = nil
		if err != nil {
			if errors.As(err, new(call.RootsError)) {
				c.RootsErr = err
			}
			return nil, err
		}
		c.RequestID = cl.o.Redactor.Truncate(requestID(resp), 100)

		if resp.StatusCode/100 != 2 {
			defer resp.Body.Close()
			return nil, statusError(resp, c)
		}
		resp.Body = http.MaxBytesReader(nil, resp.Body, maxBody)
		return resp, nil
	}
}

// complete sets the headers and the query of a request.
func (cl *Client) complete(req *http.Request, c *call.Call) {
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "X-Stainless-") // they describe the machine
	})
	maps.Copy(req.Header, cl.header)
	if cl.bearer {
		req.Header.Set("Authorization", "Bearer "+*cl.key.Load())
	}
	if c.Traceparent != "" {
		req.Header.Set("Traceparent", c.Traceparent)
	}

	req.URL.RawQuery += "&" + cl.query
	req.URL.RawQuery = req.URL.Query().Encode()
}

// readResponse reads the body of an HTTP response to its end, and closes it.
func readResponse(
	ctx context.Context, resp *http.Response, acc *accumulator,
) (*call.Response, error) {
	defer resp.Body.Close()
	resp.Body = silenceLimit{resp.Body, acc}

	r, err := read(ctx, resp, acc)
	if acc.final != nil {
		acc.call.Usage.Add(acc.final.Tokens)
		acc.call.Searches += searches(acc.final)
	}
	if err != nil {
		return nil, readError(resp, err, acc.call)
	}
	r.RequestID = requestID(resp)
	return r, nil
}

// read reads the response in a body: a stream or an object.
func read(ctx context.Context, resp *http.Response, acc *accumulator) (*call.Response, error) {
	body, encoded := decoded(resp)
	if encoded != nil {
		return nil, encoded
	}
	if isStream(body, resp.Header.Get("Content-Type")) {
		return acc.read(ctx, body)
	}

	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return acc.finishPlain(data)
}

// The first bytes of a body.
var (
	startOfStream   = text.Regexp("^(data:|event|:)")
	startOfDocument = text.Regexp("^[{<]")
	startOfText     = text.Regexp(`^[\t\r\n -~]*$`)
)

// decoded returns the body of an HTTP response, or an error if the body is in an encoding that was
// not asked for, or is not in the one that was: net/http asks for gzip, and decodes it. Some
// servers name an encoding that is none; the first bytes decide.
func decoded(resp *http.Response) (*bufio.Reader, *call.Error) {
	encoding := resp.Header.Get("Content-Encoding")
	body := bufio.NewReader(resp.Body)
	start, err := body.Peek(len("data:"))
	switch {
	case errors.Is(err, gzip.ErrHeader):
		encoding = "gzip, and a body that is not"
	case encoding == "", startOfText().Match(start):
		return body, nil
	}
	return nil, &call.Error{
		Kind:    call.KindBadResponse,
		Message: "the server sends Content-Encoding " + encoding,
		Err:     call.ErrEncoding,
	}
}

// isStream reports whether a body is a stream. The first bytes decide where they can: some servers
// send no content type, or that of the Accept header.
func isStream(body *bufio.Reader, contentType string) bool {
	start, _ := body.Peek(len("data:")) // a read reports the error
	switch {
	case startOfStream().Match(start):
		return true
	case startOfDocument().Match(start):
		return false
	}
	return strings.HasPrefix(strings.ToLower(contentType), eventStream)
}

// requestID is the id that OpenAI's support asks for, or "".
func requestID(resp *http.Response) string {
	return resp.Header.Get("X-Request-Id")
}

// failed returns the *call.Error of an error that ended an attempt: without secrets, and logged
// (spec §8.1). When the context is over, that is the cause of any other failure.
func (cl *Client) failed(ctx context.Context, err error, attempt int) *call.Error {
	cause, ok := errors.AsType[*call.Error](err)
	switch {
	case ctx.Err() != nil:
		cause = contextError(ctx, err)
	case !ok:
		cause = connectionError(err)
	}
	e := *cause
	e.Attempts = attempt

	for _, s := range []*string{&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.Body} {
		line := cl.o.Redactor.Line((*s)[:min(len(*s), maxErrorText)])
		// Line drops blanks. If most of the part are blanks, what is shown comes near its end,
		// where a secret may be cut in half: then the whole text is redacted.
		if len(line) < maxErrorText/8 {
			line = cl.o.Redactor.Line(*s)
		}
		*s = text.Truncate(line, 300)
	}

	cl.o.Logger.Debug("openai(client): error",
		"attempt", e.Attempts,
		"status", e.Status,
		"name", e.Name(),
		"code", e.Code,
		"msg", e.Message,
		"body", e.Body)
	return &e
}

// logBody writes the JSON of a request or response in debug mode.
func (cl *Client) logBody(ctx context.Context, msg string, from rawJSON) {
	if cl.o.Logger.Enabled(ctx, slog.LevelDebug) {
		cl.o.Logger.Debug(msg, "body", cl.o.Redactor.Redact(string(from.json())))
	}
}

// Model returns what the API says about a model (GET /models/{id}). Every error is a *call.Error.
// The request is not repeated. openai-go has its service for models in a package of 13 MB, so Model
// does without.
func (cl *Client) Model(ctx context.Context, id string) (json.RawMessage, error) {
	if err := cl.Ready(); err != nil {
		return nil, err
	}
	data, err := cl.getModel(ctx, id)
	if err != nil {
		return nil, cl.failed(ctx, err, 1)
	}
	return data, nil
}

func (cl *Client) getModel(ctx context.Context, id string) (json.RawMessage, error) {
	address := cl.base + "/models/" + id // which may have a vendor prefix (openai/gpt-5.2)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := cl.middleware(&call.Call{})(req, cl.http.Do)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	body, encoded := decoded(resp)
	if encoded != nil {
		return nil, readError(resp, encoded, &call.Call{})
	}
	data, err := io.ReadAll(body)
	if err == nil && !(isObject(data) && json.Valid(data)) {
		err = notResponse(data)
	}
	if err != nil {
		return nil, readError(resp, err, &call.Call{})
	}
	return data, nil
}
