package llm

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Kind says what went wrong with a call, as far as the remedy depends on it: in words, as the class
// that OpenAI's SDKs have for it, and as a label in metrics and logs.
type Kind struct{ words, class, label string }

// The kinds of an Error. KindRateLimit, KindServer and KindConnection are retried.
var (
	KindMissingKey  = Kind{"missing key", "OpenAIError", "missing_key"}                        // nothing was sent
	KindAuth        = Kind{"not authenticated", "AuthenticationError", "auth"}                 // 401
	KindPermission  = Kind{"not permitted", "PermissionDeniedError", "permission"}             // 403
	KindNotFound    = Kind{"not found", "NotFoundError", "not_found"}                          // 404, but not for the model
	KindQuota       = Kind{"out of quota", "RateLimitError", "quota"}                          // credit or budget is used up
	KindRateLimit   = Kind{"rate limited", "RateLimitError", "rate_limit"}                     // temporary 429
	KindParameter   = Kind{"request refused", "BadRequestError", "parameter"}                  // 400, 422 and other 4xx
	KindServer      = Kind{"server error", "InternalServerError", "server"}                    // 5xx, or failed with a server error
	KindTimeout     = Kind{"timed out", "APIConnectionTimeoutError", "timeout"}                // the deadline of the context passed
	KindCanceled    = Kind{"canceled", "APIUserAbortError", "canceled"}                        // the context was canceled
	KindConnection  = Kind{"connection failed", "APIConnectionError", "connection"}            // DNS, refused, TLS, proxy, cut off
	KindBadResponse = Kind{"not a response", "APIResponseValidationError", "bad_response"}     // a web page, a redirect, no output
	KindFailed      = Kind{"response failed", "APIError", "failed"}                            // for a permanent reason
	KindModel       = Kind{"model not available", "NotFoundError", "model"}                    // unknown, or not for this key
	KindUnverified  = Kind{"organization not verified", "PermissionDeniedError", "unverified"} // for this model
)

func (k Kind) String() string { return k.words }

// Label returns the kind for metrics and logs, such as rate_limit.
func (k Kind) Label() string { return k.label }

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		KindMissingKey,
		KindAuth,
		KindPermission,
		KindNotFound,
		KindQuota,
		KindRateLimit,
		KindParameter,
		KindServer,
		KindTimeout,
		KindCanceled,
		KindConnection,
		KindBadResponse,
		KindFailed,
		KindModel,
		KindUnverified,
	}
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
	body  string // the error body, for the debug log
}

// Causes of an Error that its kind and status do not show, for errors.Is.
var (
	ErrWebPage   = errors.New("the answer is a web page")                    // of a login or a firewall, say
	ErrPlainHTTP = errors.New("a plain HTTP request was sent to a TLS port") // http in place of https
)

// TunnelError is the HTTP status with which a proxy refused to connect (CONNECT, RFC 9110
// section 9.3.6). It is the Err of a KindConnection error.
type TunnelError int

func (s TunnelError) Error() string { return statusName(int(s)) }

// QueuedError is how many calls were ahead of one that ended while it waited for the rate limit. It
// is among the causes of a KindTimeout error.
type QueuedError int

func (n QueuedError) Error() string {
	return fmt.Sprintf("waiting for the rate limit, %d calls ahead", int(n))
}

func statusName(status int) string {
	return cmp.Or(http.StatusText(status), "HTTP "+strconv.Itoa(status))
}

// Error returns one line with kind, status, code, message and request id.
func (e *Error) Error() string {
	s := "calling the Responses API: " + e.Kind.String()
	if e.Status != 0 {
		s += " (" + strings.TrimSpace(strconv.Itoa(e.Status)+" "+e.Code) + ")"
	}
	if e.Message != "" {
		s += ": " + e.Message
	}
	if e.RequestID != "" {
		s += " [" + e.RequestID + "]"
	}
	return s
}

// retryable reports whether the same request may succeed later.
func (e *Error) retryable() bool {
	return !e.final && (e.Kind == KindRateLimit || e.Kind == KindServer || e.Kind == KindConnection)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Name returns the class that OpenAI's SDKs have for the error, which is what people search for
// (spec §8.2, data.name).
func (e *Error) Name() string {
	return cmp.Or(map[int]string{409: "ConflictError", 422: "UnprocessableEntityError"}[e.Status], e.Kind.class)
}

// namedKind returns the kind that a code or type of the API names with any status, if any.
func namedKind(name string) Kind {
	switch name {
	case "insufficient_quota", "quota_exceeded", "exceeded_current_quota_error", "usage_limit_reached",
		"billing_hard_limit_reached", "billing_not_active":
		return KindQuota
	case "rate_limit_exceeded", "rate_limit_error":
		return KindRateLimit
	case "server_error", "internal_server_error", "overloaded_error", "server_is_overloaded", "slow_down",
		"service_unavailable", "vector_store_timeout":
		return KindServer
	}
	return Kind{}
}

func (e *Error) named() Kind { return cmp.Or(namedKind(e.Code), namedKind(e.Type)) }

var statusKinds = map[int]Kind{401: KindAuth, 402: KindQuota, 403: KindPermission, 404: KindNotFound, 429: KindRateLimit}

// statusKind classifies an error answer with an HTTP status. The API sends an exhausted quota as
// 429, others as 400, 402 or 403.
func (e *Error) statusKind(status int) Kind {
	words := strings.ToLower(e.Message)
	switch {
	case status < 400:
		return KindBadResponse
	case e.named() == KindQuota:
		return KindQuota
	case status >= 500:
		return KindServer
	case strings.HasPrefix(words, "request too large"): // a 429 that no wait helps
		return KindParameter
	case strings.Contains(words, "organization must be verified"): // there is no code for it
		return KindUnverified
	case e.Code == "model_not_found" || e.Code == "DeploymentNotFound",
		status == http.StatusNotFound && strings.Contains(words, "model") && !strings.Contains(words, "invalid url"),
		status == http.StatusBadRequest && strings.Contains(words, "is not a valid model"): // OpenRouter
		return KindModel
	}
	return cmp.Or(statusKinds[status], KindParameter)
}

// failure reads the error of a response or a stream that was accepted and then failed; message is
// for an API that does not say why. Such an error has a code and no status, but OpenRouter's code
// is the status. An error event that does not nest the error has its own type.
func failure(data []byte, message string) *Error {
	e := apiError(data)
	if e.Type == "error" {
		e.Type = ""
	}
	e.Message = cmp.Or(e.Message, message)
	e.Kind = cmp.Or(e.named(), KindFailed)
	if status, _ := strconv.Atoi(e.Code); status >= 400 && status < 600 {
		e.Kind = e.statusKind(status)
	}
	return e
}

// plainHTTP is how the servers of Go, nginx and Apache refuse http on a TLS port.
var plainHTTP = regexp.MustCompile(`(?i)http (request (was sent )?)?to (an )?(https|ssl)`)

// statusError reads an HTTP answer that is not a success.
func statusError(resp *http.Response) *Error {
	var data []byte
	if resp.StatusCode >= 400 { // after 101 the body is another protocol, which no context ends
		data, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // a part of it still says something
	}
	e := apiError(data)
	e.Status, e.RequestID, e.RetryAfter = resp.StatusCode, requestID(resp), retryAfter(resp.Header)
	if e.Message == "" { // a line of text, or the status in place of a web page
		e.Message = statusName(e.Status)
		line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
		if line != "" && !strings.ContainsAny(line[:1], "<{[") {
			e.Message += ": " + line
		}
	}
	e.Kind = e.statusKind(e.Status)
	switch location, err := resp.Location(); {
	case err == nil && e.Status < 400:
		e.Message = "the API redirects to " + location.Scheme + "://" + location.Host
	case e.Status == http.StatusBadRequest && plainHTTP.Match(data):
		e.Message, e.Err = ErrPlainHTTP.Error(), ErrPlainHTTP
	case isPage(data):
		e.Err = ErrWebPage
	}
	return e
}

// isPage reports whether data is a web page, as a login or a firewall sends it.
func isPage(data []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")) }

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible servers and gateways
// send instead (a string, a bare message or detail). Without JSON it is empty.
func apiError(data []byte) *Error {
	e := &Error{body: string(data[:min(len(data), maxErrorText)])}
	if !json.Valid(data) { // that of gjson recurses, so deep nesting would end the process
		return e
	}
	doc := gjson.ParseBytes(data)
	fields, inner := doc, doc.Get("error")
	if inner.IsObject() {
		fields, inner = inner, gjson.Result{}
	}
	e.Type, e.Param = fields.Get("type").String(), fields.Get("param").String()
	e.Code = fields.Get("code").String()
	words := inner.String() // a string is a message, and may be a code
	if namedKind(words) != (Kind{}) {
		e.Code = cmp.Or(e.Code, words)
	}
	e.Message = cmp.Or(fields.Get("message").String(), words, doc.Get("detail").String())
	return e
}

// tooLarge is the error of an answer that exceeds a limit.
func tooLarge(message string) *Error {
	return &Error{Kind: KindFailed, Code: "too_large", Message: message}
}

// answerError is the error of an answer that was not read to its end, or is not what it should be.
func answerError(resp *http.Response, err error) *Error {
	e, ok := errors.AsType[*Error](err)
	_, long := errors.AsType[*http.MaxBytesError](err)
	switch {
	case ok:
	case long:
		e = tooLarge("the answer is larger than 64 MiB")
	case errors.Is(err, bufio.ErrTooLong):
		e = tooLarge("an event of the answer is larger than 32 MiB")
	default:
		e = &Error{Kind: KindConnection, Message: "the answer was cut off: " + err.Error(), Err: err}
	}
	e.Status, e.RequestID = resp.StatusCode, requestID(resp)
	return e
}

// connectionError is the error of a request without an answer. A certificate or a scheme stays
// wrong; other errors may be temporary.
func connectionError(err error) *Error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // without the address, which may hold a password
	}
	e := &Error{Kind: KindConnection, Message: err.Error(), Err: err}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message = "the server closed the connection without an answer"
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, record := errors.AsType[tls.RecordHeaderError](err)
	op, _ := errors.AsType[*net.OpError](err)
	alert := op != nil && op.Op == "remote error" // of TLS, for example about its version
	tunnel, refused := errors.AsType[TunnelError](err)
	e.final = untrusted || record || alert || errors.Is(err, http.ErrSchemeMismatch) || refused && tunnel < 500
	return e
}

// contextError is a timeout or a cancellation. errors.Is finds the error of the context and its
// cause, and errors.As a QueuedError among the causes of err.
func contextError(ctx context.Context, err error) *Error {
	e := &Error{Kind: KindCanceled, Message: "the call was canceled", Err: errors.Join(ctx.Err(), context.Cause(ctx))}
	if errors.Is(e, context.DeadlineExceeded) {
		e.Kind, e.Message = KindTimeout, "no complete answer in time"
	}
	queued, waited := errors.AsType[QueuedError](err)
	if waited {
		e.Message, e.Err = queued.Error(), errors.Join(e.Err, queued)
	}
	return e
}

// retryAfter reads how long the server asks to wait: milliseconds, seconds, a date, or the time
// until a limit that is used up is reset (https://platform.openai.com/docs/guides/rate-limits);
// 0 without a wait.
func retryAfter(h http.Header) time.Duration {
	const longest = 1 << 62 // a little less than what a time.Duration can hold
	units := map[string]time.Duration{"Retry-After-Ms": time.Millisecond, "Retry-After": time.Second}
	for _, header := range []string{"Retry-After-Ms", "Retry-After"} {
		n, err := strconv.ParseFloat(h.Get(header), 64)
		if err == nil && n > 0 {
			return time.Duration(min(n*float64(units[header]), longest))
		}
	}
	if t, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		return max(time.Until(t), 0)
	}
	var wait time.Duration
	for _, limit := range []string{"Requests", "Tokens"} {
		reset, err := time.ParseDuration(h.Get("X-Ratelimit-Reset-" + limit)) // 1s, 6m0s
		if err == nil && h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			wait = max(wait, reset)
		}
	}
	return wait
}
