package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3/packages/ssestream"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/text"
)

// Kind says what went wrong with a call, as far as the remedy depends on it.
type Kind int

// The kinds of an Error. KindRateLimit, KindServer and KindConnection are
// retried (Error.retryable).
const (
	KindMissingKey  Kind = iota + 1 // no API key is configured; nothing was sent
	KindAuth                        // 401: the key is not accepted
	KindPermission                  // 403
	KindNotFound                    // 404 about something other than the model
	KindQuota                       // credit or budget is used up, with any status
	KindRateLimit                   // 429 that passes
	KindParameter                   // 400, 422 and other 4xx: the request itself
	KindServer                      // 5xx, or a response that failed with a server error
	KindTimeout                     // the deadline of the context passed
	KindCanceled                    // the context was canceled
	KindConnection                  // DNS, refused, TLS, proxy, cut off
	KindBadResponse                 // not a response: a web page, a redirect, no output
	KindFailed                      // the response failed for a reason that stays
	KindModel                       // the API has no such model, or not for this key
	KindUnverified                  // the organization must be verified first
)

var kindNames = [...]string{
	KindMissingKey:  "missing key",
	KindAuth:        "not authenticated",
	KindPermission:  "not permitted",
	KindNotFound:    "not found",
	KindQuota:       "out of quota",
	KindRateLimit:   "rate limited",
	KindParameter:   "request refused",
	KindServer:      "server error",
	KindTimeout:     "timed out",
	KindCanceled:    "canceled",
	KindConnection:  "connection failed",
	KindBadResponse: "not a response",
	KindFailed:      "response failed",
	KindModel:       "model not available",
	KindUnverified:  "organization not verified",
}

// String returns the kind in words.
func (k Kind) String() string {
	if k < KindMissingKey || int(k) >= len(kindNames) {
		return fmt.Sprintf("kind %d", int(k))
	}
	return kindNames[k]
}

// Error is the error of every call. The API key is in none of its texts.
type Error struct {
	Kind       Kind
	Status     int    // HTTP status, 0 without an answer
	Type       string // error.type of the API, for example invalid_request_error
	Code       string // error.code of the API, for example model_not_found
	Param      string // error.param of the API, for example reasoning.effort
	Message    string // one sentence, of the API or ours
	RequestID  string // X-Request-Id header
	Attempts   int    // tries made, the failing one included; 0 when nothing was sent
	RetryAfter time.Duration
	Err        error // cause: context.DeadlineExceeded, *net.OpError, ErrWebPage, ...

	final bool   // not retried although its kind is
	body  string // start of the error body, for the debug log
}

// Causes of an Error that its kind and status do not tell, for errors.Is.
var (
	ErrWebPage   = errors.New("the answer is a web page")                    // of a login or a firewall, say
	ErrPlainHTTP = errors.New("a plain HTTP request was sent to a TLS port") // http in place of https
)

// TunnelError is the HTTP status with which a proxy refused to connect
// (CONNECT, RFC 9110 section 9.3.6). It is the Err of a KindConnection error.
type TunnelError int

// Error returns the name of the status.
func (s TunnelError) Error() string {
	return cmp.Or(http.StatusText(int(s)), "HTTP "+strconv.Itoa(int(s)))
}

// Error returns one line with kind, status, code, message and request id.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("calling the Responses API: " + e.Kind.String())
	if e.Status != 0 {
		b.WriteString(" (" + strings.TrimSpace(strconv.Itoa(e.Status)+" "+e.Code) + ")")
	}
	if e.Message != "" {
		b.WriteString(": " + e.Message)
	}
	if e.RequestID != "" {
		b.WriteString(" [" + e.RequestID + "]")
	}
	return b.String()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Name returns the class that OpenAI's SDKs have for the error, which is what
// people search for (spec-v0.9 section 8.2, data.name).
func (e *Error) Name() string {
	switch e.Kind {
	case KindMissingKey:
		return "OpenAIError"
	case KindAuth:
		return "AuthenticationError"
	case KindPermission:
		return "PermissionDeniedError"
	case KindNotFound:
		return "NotFoundError"
	case KindQuota, KindRateLimit:
		return "RateLimitError"
	case KindServer:
		return "InternalServerError"
	case KindTimeout:
		return "APIConnectionTimeoutError"
	case KindCanceled:
		return "APIUserAbortError"
	case KindConnection:
		return "APIConnectionError"
	case KindBadResponse:
		return "APIResponseValidationError"
	case KindFailed:
		return "APIError"
	}
	switch e.Status {
	case 0, http.StatusBadRequest:
		return "BadRequestError"
	case http.StatusForbidden:
		return "PermissionDeniedError"
	case http.StatusNotFound:
		return "NotFoundError"
	case http.StatusConflict:
		return "ConflictError"
	case http.StatusUnprocessableEntity:
		return "UnprocessableEntityError"
	}
	return "APIError"
}

// statusError reads an HTTP error answer.
func statusError(resp *http.Response) *Error {
	data, _ := io.ReadAll(resp.Body) // a part of it still says something
	e := apiError(data)
	e.Status, e.RequestID, e.RetryAfter = resp.StatusCode, requestID(resp), retryAfter(resp.Header, time.Now())
	if e.Message == "" {
		e.Message = plainMessage(e.Status, string(data))
	}
	if bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) {
		e.Err = ErrWebPage
	}
	e.Kind = statusKind(e)
	words := strings.ToLower(string(data[:min(len(data), 4096)]))
	for _, s := range []string{"http request to an https server", "http request was sent to https port", "plain http to an ssl-enabled server port"} {
		if e.Status == http.StatusBadRequest && strings.Contains(words, s) { // of Go, nginx and Apache
			e.Message, e.Err = ErrPlainHTTP.Error(), ErrPlainHTTP
		}
	}
	return e
}

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible
// servers and gateways send instead (a list around it, a string, a bare message
// or detail). Without JSON it is empty.
func apiError(data []byte) *Error {
	e := &Error{body: text.Truncate(string(data), 300)}
	if !gjson.ValidBytes(data) {
		return e
	}
	doc := gjson.ParseBytes(data)
	if doc.IsArray() {
		doc = doc.Get("0")
	}
	fields := doc
	if inner := doc.Get("error"); inner.IsObject() {
		fields = inner
	}
	e.Type, e.Code, e.Param, e.Message = fields.Get("type").String(), fields.Get("code").String(), fields.Get("param").String(), fields.Get("message").String()
	if !doc.Get("error").IsObject() {
		e.Message = cmp.Or(e.Message, doc.Get("error").String(), doc.Get("detail").String())
	}
	return e
}

// plainMessage is the message of an error answer that says nothing as JSON: its
// line of text, or the name of the status in place of a web page.
func plainMessage(status int, body string) string {
	name := cmp.Or(http.StatusText(status), "HTTP "+strconv.Itoa(status))
	line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	if line == "" || strings.ContainsAny(line[:1], "<{[") {
		return name
	}
	return name + ": " + text.Truncate(line, 200)
}

// statusKind classifies an HTTP error answer. Quota comes first: the API sends
// it as 429, others as 400, 402 or 403, and none of them passes by waiting.
func statusKind(e *Error) Kind {
	words := strings.ToLower(e.Message)
	switch {
	case isQuota(e.Code) || isQuota(e.Type) || e.Status == http.StatusPaymentRequired:
		return KindQuota
	case e.Status < 500 && strings.Contains(words, "organization must be verified"): // there is no code for it
		return KindUnverified
	case e.Status < 500 && (e.Code == "model_not_found" || e.Code == "DeploymentNotFound"),
		e.Status == http.StatusNotFound && strings.Contains(words, "model") && !strings.Contains(words, "invalid url"),
		e.Status == http.StatusBadRequest && strings.Contains(words, "is not a valid model"): // OpenRouter
		return KindModel
	}
	switch {
	case e.Status == http.StatusUnauthorized:
		return KindAuth
	case e.Status == http.StatusForbidden:
		return KindPermission
	case e.Status == http.StatusNotFound:
		return KindNotFound
	case e.Status == http.StatusTooManyRequests:
		return KindRateLimit
	case e.Status >= 500:
		return KindServer
	}
	return KindParameter
}

// failureKind classifies the error of a response that was accepted and then
// failed: it has a code but no status. Some gateways put a status in the code.
func failureKind(typ, code string) Kind {
	if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 {
		return statusKind(&Error{Status: status, Type: typ})
	}
	if isQuota(code) || isQuota(typ) {
		return KindQuota
	}
	for _, s := range []string{code, typ} {
		switch strings.ToLower(s) {
		case "rate_limit_exceeded", "rate_limit_error", "too_many_requests":
			return KindRateLimit
		case "server_error", "internal_error", "internal_server_error", "api_error", "overloaded", "overloaded_error",
			"server_overloaded", "server_is_overloaded", "engine_overloaded", "slow_down",
			"service_unavailable", "service_unavailable_error", "upstream_error", "gateway_timeout", "vector_store_timeout":
			return KindServer
		}
	}
	return KindFailed
}

// isQuota reports whether a code or type says that money or budget ran out.
func isQuota(s string) bool {
	switch s = strings.ToLower(s); s {
	case "insufficient_quota", "quota_exceeded", "exceeded_current_quota_error", "usage_limit_reached",
		"insufficient_credits", "insufficient_balance", "insufficient_funds", "credit_limit_reached":
		return true
	}
	return strings.HasPrefix(s, "billing_") // billing_hard_limit_reached, billing_not_active, ...
}

// streamError reads an error event. OpenAI nests the error or not; gateways add
// the status that it would have had.
func streamError(data []byte) *Error {
	e := apiError(data)
	if e.Message == "" && e.Code == "" {
		e = apiError([]byte(gjson.GetBytes(data, "response").Raw))
	}
	if e.Type == "error" {
		e.Type = "" // of the event
	}
	e.Message = cmp.Or(e.Message, "the stream ended with an error")
	e.Kind = failureKind(e.Type, e.Code)
	if status := gjson.GetBytes(data, "status").Int(); e.Kind == KindFailed && status >= 400 && status < 600 {
		e.Kind = statusKind(&Error{Status: int(status), Type: e.Type, Code: e.Code})
	}
	return e
}

// answerError is the error of an answer that was not read to its end.
func answerError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if e, ok := errors.AsType[*ssestream.StreamError](err); ok {
		return streamError(e.Event.Data)
	}
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok || errors.Is(err, bufio.ErrTooLong) {
		return &Error{Kind: KindBadResponse, Message: "the answer is larger than 64 MiB", Err: err}
	}
	return &Error{Kind: KindConnection, Message: "the answer was cut off: " + err.Error(), Err: err}
}

// connectionError is the error of a request without an answer. A certificate or
// a scheme is as wrong the next time; the rest may pass.
func connectionError(err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may hold a password
	}
	e := &Error{Kind: KindConnection, Message: strings.TrimPrefix(err.Error(), "net/http: HTTP/1.x transport connection broken: "), Err: err}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message = "the server closed the connection without an answer"
	}
	if _, reply, ok := strings.Cut(e.Message, "malformed HTTP "); ok {
		e.Kind, e.Message = KindBadResponse, "the answer is not HTTP: malformed "+text.Truncate(reply, 100)
		if strings.Contains(reply, `"\x15\x03`) { // a TLS alert
			e.Err = ErrPlainHTTP
		}
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	op, _ := errors.AsType[*net.OpError](err)
	alert := op != nil && op.Op == "remote error" // of TLS, for example about its version
	tunnel, refused := errors.AsType[TunnelError](err)
	e.final = untrusted || record || alert || errors.Is(err, http.ErrSchemeMismatch) || refused && tunnel < 500
	return e
}

// contextError is a timeout or a cancellation. errors.Is finds both the error of
// the context and its cause.
func contextError(ctx context.Context) *Error {
	err := ctx.Err()
	if cause := context.Cause(ctx); !errors.Is(cause, err) {
		err = fmt.Errorf("%w: %w", err, cause)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &Error{Kind: KindTimeout, Message: "no complete answer in time", Err: err}
	}
	return &Error{Kind: KindCanceled, Message: "the call was canceled", Err: err}
}

// retryAfter reads how long the server asks to wait: milliseconds, seconds or a
// date; 0 without a wait. A date is counted from the server's own clock where
// the answer has it, because ours may be wrong.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := scaled(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if t, err := http.ParseTime(value); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return max(t.Sub(now), 0)
	}
	return scaled(value, time.Second)
}

// scaled reads a number of units, at most the longest time.Duration, which ends
// after every deadline.
func scaled(value string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(value), 64)
	if math.IsNaN(f) || f <= 0 || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	if f *= float64(unit); f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}
