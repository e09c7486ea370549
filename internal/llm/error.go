package llm

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
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
	KindQuota                       // credit or budget is used up, whatever the status
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

func (s TunnelError) Error() string {
	return cmp.Or(http.StatusText(int(s)), "HTTP "+strconv.Itoa(int(s)))
}

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
	case KindQuota:
		return "RateLimitError"
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
	return "APIError"
}
