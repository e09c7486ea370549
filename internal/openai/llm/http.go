package llm

import (
	"bufio"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/option"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/apierror"
)

const (
	maxBody      = 16 << 20 // bytes of a body, after decompression
	maxErrorBody = 1 << 20  // bytes that are read of the body of an error
	maxErrorText = 300      // characters that are kept of each text of an error
	eventStream  = "text/event-stream"

	maxRest     = 4 << 10               // bytes that are read after the event that ends a response
	restTimeout = 50 * time.Millisecond // how long a stream may take to end after that event

	errorBodyTimeout = 5 * time.Second // to read the body of an error
)

// requestOptions returns the options with which openai-go makes a request of a call. The request
// ends with ctx. The options set resp to the HTTP response and leave its body unread, because a
// server may answer any request with an object or with a stream.
//
// The caller passes openai-go a context that does not end. After the end of its context openai-go
// would hide the error of the request, such as a RootsError, behind that of the context.
func (cl *Client) requestOptions(
	ctx context.Context, c *call.Call, resp **http.Response,
) []option.RequestOption {
	return []option.RequestOption{
		option.WithResponseBodyInto(resp),
		option.WithMiddleware(cl.middleware(ctx, c)),
	}
}

// middleware wraps each HTTP request of a call. It completes the request, ends the request with
// ctx, bounds the body of the HTTP response, and turns any status but 2xx into a *call.APIError.
func (cl *Client) middleware(ctx context.Context, c *call.Call) option.Middleware {
	return func(req *http.Request, next option.MiddlewareNext) (*http.Response, error) {
		cl.completeRequest(req, c)
		ctx, cancel := context.WithCancel(ctx)
		resp, err := next(req.WithContext(ctx))
		if err != nil {
			cancel()
			return nil, err
		}
		c.APIRequestID = cl.options.Redactor.Truncate(apierror.RequestID(resp), 100)

		if resp.StatusCode/100 != 2 {
			defer cancel()
			defer resp.Body.Close()
			// A body that does not end is cut short: its beginning and the status say enough. Close
			// would not end a Read: net/http makes Close wait for the header of a gzip body.
			defer time.AfterFunc(errorBodyTimeout, cancel).Stop()
			return nil, apierror.FromStatus(resp, errorBody(resp), c.RequestInput)
		}
		resp.Body = cancelingBody{http.MaxBytesReader(nil, resp.Body, maxBody), cancel}
		return resp, nil
	}
}

// cancelingBody is the body of an HTTP response. Close also ends the context of the request.
type cancelingBody struct {
	io.ReadCloser
	cancel context.CancelFunc
}

func (b cancelingBody) Close() error {
	defer b.cancel()
	return b.ReadCloser.Close()
}

// completeRequest sets the headers and the query of a request.
func (cl *Client) completeRequest(req *http.Request, c *call.Call) {
	maps.DeleteFunc(req.Header, func(name string, _ []string) bool {
		return strings.HasPrefix(name, "X-Stainless-") // they describe the machine
	})
	maps.Copy(req.Header, cl.header)
	if cl.sendsKey {
		req.Header.Set("Authorization", "Bearer "+*cl.key.Load())
	}
	if c.Traceparent != "" {
		req.Header.Set("Traceparent", c.Traceparent)
	}

	req.URL.RawQuery += "&" + cl.baseQuery
	req.URL.RawQuery = req.URL.Query().Encode()
}

// readResponse reads and closes the body of an HTTP response, and adds to the call what the
// response has used.
//
// The end of a stream often comes a moment after the last event. readResponse waits for this end,
// for restTimeout and maxRest bytes at most. Otherwise Close would close the connection, which a
// gateway may take for a client that has left.
func readResponse(
	ctx context.Context, resp *http.Response, acc *accumulator,
) (*call.Response, error) {
	defer resp.Body.Close()
	resp.Body = timeoutBody{resp.Body, acc}

	r, err := readBody(ctx, resp, acc)
	if acc.endedResponse != nil {
		acc.call.Reported.Add(reported(acc.endedResponse))
	}
	if err != nil {
		return nil, apierror.FromBody(resp, err, acc.call.RequestInput)
	}
	r.RequestID = apierror.RequestID(resp)

	defer time.AfterFunc(restTimeout, acc.closeConn).Stop()
	_, _ = io.CopyN(io.Discard, resp.Body, maxRest)
	return r, nil
}

// readBody reads the response in a body, which may be a stream or an object.
func readBody(ctx context.Context, resp *http.Response, acc *accumulator) (*call.Response, error) {
	body, encodingErr := decodedBody(resp)
	if encodingErr != nil {
		return nil, encodingErr
	}
	if isStream(body, resp.Header.Get("Content-Type")) {
		return acc.readStream(ctx, body)
	}

	data, err := io.ReadAll(body)
	if err != nil {
		return nil, err
	}
	return acc.readObject(data)
}

// timeoutBody is the body of an HTTP response. It gives up the connection if a Read waits for
// maxSilence while the response runs in the background.
type timeoutBody struct {
	io.ReadCloser
	acc *accumulator
}

func (l timeoutBody) Read(p []byte) (int, error) {
	if l.acc.runsAtAPI() {
		defer time.AfterFunc(maxSilence, l.acc.closeConn).Stop()
	}
	return l.ReadCloser.Read(p)
}

// Expressions for the first bytes of a body.
var (
	startOfStream   = text.LazyRegexp("^(data:|event|:)")
	startOfDocument = text.LazyRegexp("^[{<]")
	startOfText     = text.LazyRegexp(`^[\t\r\n -~]*$`)
)

// decodedBody returns the body of an HTTP response. net/http asks for gzip and decodes it. Another
// encoding is an error, and so is a body that is not gzip although the server says so. If the body
// begins with plain text, Content-Encoding is ignored: some servers name one that does not exist.
func decodedBody(resp *http.Response) (*bufio.Reader, *call.APIError) {
	encoding := resp.Header.Get("Content-Encoding")
	problem := "the server sends Content-Encoding " + encoding
	body := bufio.NewReader(resp.Body)
	start, err := body.Peek(len("data:"))
	switch {
	case errors.Is(err, gzip.ErrHeader):
		problem = "the server sends Content-Encoding gzip, and a body that is not"
	case encoding == "", startOfText().Match(start):
		return body, nil
	}
	return nil, &call.APIError{
		Kind:    call.KindBadResponse,
		Message: problem,
		Err:     call.ErrEncoding,
	}
}

// isStream reports whether a body is a stream. The first bytes decide where they can: some servers
// send no content type, or copy the Accept header.
func isStream(body *bufio.Reader, contentType string) bool {
	start, _ := body.Peek(len("data:")) // the next Read returns the error
	switch {
	case startOfStream().Match(start):
		return true
	case startOfDocument().Match(start):
		return false
	}
	return strings.HasPrefix(strings.ToLower(contentType), eventStream)
}

// errorBody returns the body of an HTTP response whose status is not a 2xx, or the part of it that
// can be read.
func errorBody(resp *http.Response) []byte {
	if resp.StatusCode < 400 { // after 101 the body is another protocol, which no context ends
		return nil
	}
	body, encodingErr := decodedBody(resp)
	if encodingErr != nil {
		return []byte(encodingErr.Message)
	}
	// After a read error, the part that was read may still name the error.
	data, _ := io.ReadAll(io.LimitReader(body, maxErrorBody))
	return data
}

// attemptError returns err, which has ended an attempt, as a *call.APIError without secrets, and
// logs it (spec §8.1). attempts is how many were made. If ctx has ended, the reason is the end of
// ctx, not err.
func (cl *Client) attemptError(ctx context.Context, err error, attempts int) *call.APIError {
	cause, ok := errors.AsType[*call.APIError](err)
	switch {
	case ctx.Err() != nil:
		cause = apierror.FromContext(ctx, err)
	case !ok:
		cause = apierror.FromConnection(err)
	}
	e := *cause
	e.Attempts = attempts

	for _, s := range []*string{&e.Type, &e.Code, &e.Param, &e.Message, &e.RequestID, &e.Body} {
		*s = cl.redactedStart(*s)
	}

	// The line of the specification has msg, which is the name of slog for the line itself.
	cl.options.Logger.Debug(fmt.Sprintf(
		"openai(client): error attempt=%d status=%d name=%s code=%s msg=%q body=%q",
		e.Attempts, e.Status, e.SDKClass(), e.Code, e.Message, e.Body))
	return &e
}

// redactedStart returns the first maxErrorText characters of a text of an error, without secrets.
func (cl *Client) redactedStart(s string) string {
	line := cl.options.Redactor.Line(s[:min(len(s), apierror.MaxText)])
	// The first MaxText bytes may end within a secret. The redactor does not find half a secret,
	// but far fewer bytes are kept. If nearly all bytes are blanks, which Line drops, the half
	// would be kept: in this case the redactor gets the whole text.
	if len(line) < apierror.MaxText/8 {
		line = cl.options.Redactor.Line(s)
	}
	return text.Truncate(line, maxErrorText)
}

// logBody writes the JSON of a request or response to the debug log.
func (cl *Client) logBody(msg string, from rawJSON) {
	if cl.options.Logger.Enabled(context.Background(), slog.LevelDebug) {
		cl.options.Logger.Debug(msg, "body", cl.options.Redactor.Redact(string(from.json())))
	}
}

// checkRedirect follows a redirect only where the same request goes to the same scheme, host and
// port (307 and 308). Any other redirect is an error: the key and the question are for the
// configured host.
func checkRedirect(req *http.Request, via []*http.Request) error {
	from := via[len(via)-1]
	sameServer := req.URL.Scheme == from.URL.Scheme && req.URL.Host == from.URL.Host
	if req.Method != from.Method || !sameServer || len(via) > 5 {
		return http.ErrUseLastResponse
	}
	return nil
}

// Model returns what the API says about a model (GET /models/{id}). Every error is a
// *call.APIError. The request is not repeated. Model does without openai-go, whose service for
// models is in a package of 13 MB.
func (cl *Client) Model(ctx context.Context, id string) (json.RawMessage, error) {
	if err := cl.CheckKey(); err != nil {
		return nil, err
	}
	data, err := cl.getModel(ctx, id)
	if err != nil {
		return nil, cl.attemptError(ctx, err, 1)
	}
	return data, nil
}

func (cl *Client) getModel(ctx context.Context, id string) (json.RawMessage, error) {
	address := cl.baseURL + "/models/" + id // the id may have a vendor prefix (openai/gpt-5.2)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return nil, err
	}
	resp, err := cl.middleware(ctx, &call.Call{})(req, cl.httpClient.Do)
	if err != nil {
		return nil, err
	}
	defer resp.Body.Close()

	body, encodingErr := decodedBody(resp)
	if encodingErr != nil {
		return nil, apierror.FromBody(resp, encodingErr, nil)
	}
	data, err := io.ReadAll(body)
	if err == nil && !(isObject(data) && json.Valid(data)) {
		err = notResponseError(data)
	}
	if err != nil {
		return nil, apierror.FromBody(resp, err, nil)
	}
	return data, nil
}
