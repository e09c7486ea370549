package call

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"time"
)

// Error is why a request to the API failed. The API key is in none of its texts.
type Error struct {
	Kind       Kind
	Status     int    // HTTP status, 0 without a response
	Type       string // error.type of the API, for example invalid_request_error
	Code       string // error.code of the API, for example model_not_found
	Param      string // error.param of the API, for example reasoning.effort
	Message    string // one sentence, of the API or ours
	RequestID  string // X-Request-Id header
	Attempts   int    // attempts made, the failing one included; 0 when nothing was sent
	RetryAfter time.Duration
	Lost       bool  // the API has lost a background response, or has no GET /responses/{id}
	Err        error // cause: context.DeadlineExceeded, *net.OpError, ErrWebPage, ...

	Final bool          // not retried although its kind is
	Once  bool          // maybe of this call alone, so later calls ask the API again
	Reset time.Duration // until a rate limit is whole again; 0: unknown
	Body  string        // the error body, for the debug log
}

// Causes of an Error that its kind and status do not show, for errors.Is.
var (
	// ErrWebPage: a login or a firewall answered, for example.
	ErrWebPage = errors.New("the answer is a web page")

	// ErrEncoding: the body has a Content-Encoding that was not asked for, or not the one it names.
	ErrEncoding = errors.New("the answer is encoded")

	// ErrPlainHTTP: the base URL has http in place of https.
	ErrPlainHTTP = errors.New("a plain HTTP request was sent to a TLS port")
)

// TunnelError is the HTTP status with which a proxy refused to connect (CONNECT, RFC 9110
// section 9.3.6). It is the Err of a KindConnection error.
type TunnelError int

func (s TunnelError) Error() string {
	return StatusName(int(s))
}

// ProxyError is what a proxy that requires a password (407) says. It is the Err of an error, and a
// TunnelError where the proxy refused to connect.
type ProxyError struct {
	Schemes string // that the proxy takes, if they are known and none is Basic: "NTLM or Negotiate"
	Refused bool   // a user and a password were sent
}

func (ProxyError) Error() string {
	return StatusName(http.StatusProxyAuthRequired)
}

// Unwrap returns the status.
func (ProxyError) Unwrap() error { return TunnelError(http.StatusProxyAuthRequired) }

// QueuedError is how many calls were ahead of one that ended while it waited for the rate limit. It
// is among the causes of a KindTimeout error.
type QueuedError int

func (n QueuedError) Error() string {
	return fmt.Sprintf("waiting for the rate limit, %d calls ahead", int(n))
}

// RootsError names what root certificates are read from, of a call that ended before they were
// read. It is among the causes of a KindTimeout error.
type RootsError string

func (from RootsError) Error() string {
	return "reading the root certificates of " + string(from) + " does not end"
}

// StatusName returns the name of an HTTP status.
func StatusName(status int) string {
	return cmp.Or(http.StatusText(status), "HTTP "+strconv.Itoa(status))
}

// Error returns one line with kind, status and message.
func (e *Error) Error() string {
	s := "calling the Responses API: " + e.Kind.String()
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	return s + ": " + e.Message
}

// ErrorKind returns the kind, for KindOf.
func (e *Error) ErrorKind() Kind { return e.Kind }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Name returns the class that OpenAI's SDKs have for the error, which is what people search for
// (spec §8.2, data.name).
func (e *Error) Name() string {
	switch e.Status {
	case http.StatusRequestTimeout:
		return "APIError"
	case http.StatusConflict:
		return "ConflictError"
	case http.StatusUnprocessableEntity:
		return "UnprocessableEntityError"
	}
	if e.Kind == KindBadResponse && e.Status >= 400 { // a web page: the SDKs look at the status
		return StatusKind(e.Status).class
	}
	return e.Kind.class
}

// ParamsOfQuestion matches the parameters of a question, and no name. Those of a profile are the
// operator's.
const ParamsOfQuestion = `(input.*|messages.*|prompt)?`

var paramsOfQuestion = regexp.MustCompile(`^` + ParamsOfQuestion + `$`)

// OfQuestion reports whether the error may be about the question, as it names no other parameter.
func (e *Error) OfQuestion() bool {
	return paramsOfQuestion.MatchString(e.Param)
}

var statusKinds = map[int]Kind{
	http.StatusUnauthorized:    KindAuth,
	http.StatusPaymentRequired: KindQuota,
	http.StatusForbidden:       KindPermission,
	http.StatusNotFound:        KindNotFound,
	http.StatusRequestTimeout:  KindServer, // asked again, as OpenAI's SDKs do
	http.StatusConflict:        KindServer,
	http.StatusTooManyRequests: KindRateLimit,
}

// StatusKind returns the kind of an HTTP status of 400 or more by itself.
func StatusKind(status int) Kind {
	if status >= http.StatusInternalServerError {
		return KindServer
	}
	return cmp.Or(statusKinds[status], KindParameter)
}

// CodeTooLarge is the code of a response that exceeds a limit.
const CodeTooLarge = "too_large"

// TooLarge is the error of a response that exceeds a limit.
func TooLarge(message string) *Error {
	return &Error{Kind: KindFailed, Code: CodeTooLarge, Message: message}
}
