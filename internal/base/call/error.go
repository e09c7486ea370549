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

// APIError says why a request to the API failed. None of its texts contains the API key.
type APIError struct {
	Kind         Kind
	Status       int           // HTTP status, also 200 of a stream that failed; 0 without a response
	Type         string        // error.type of the API, for example invalid_request_error
	Code         string        // error.code of the API, for example model_not_found
	Param        string        // error.param of the API, for example reasoning.effort
	Message      string        // one sentence, of the API or ours
	RequestID    string        // X-Request-Id header, or Apim-Request-Id of Azure
	Attempts     int           // attempts made, the failing one included; 0 when nothing was sent
	RetryAfter   time.Duration // how long the API asks to wait; 0: it does not say
	ResponseLost bool          // the API lost a background response, or has no GET /responses/{id}
	Err          error         // cause: context.DeadlineExceeded, *net.OpError, ErrWebPage, ...

	NoRetry bool // not retried, although errors of its Kind are
	OfGET   bool // of a GET for a background response: of the request it refuses background at most

	// MaybeThisCall: the error may concern this call alone. So llm does not count it as a refusal
	// of the key. If it refuses a parameter that the question mentions, llm does not remember the
	// refusal. For a quota the hint differs.
	MaybeThisCall bool

	ResetAfter time.Duration // until a rate limit is fully available again; 0: unknown
	Body       string        // the error body, for the debug log
}

// Causes of an APIError that its kind and status do not show, for errors.Is.
var (
	// ErrWebPage: a web page came in place of a response, for example the page of a login or a
	// firewall.
	ErrWebPage = errors.New("the answer is a web page")

	// ErrEncoding: the body has a Content-Encoding that was not asked for, or another encoding than
	// its header names.
	ErrEncoding = errors.New("the answer is encoded")

	// ErrPlainHTTP: the base URL has http in place of https.
	ErrPlainHTTP = errors.New("a plain HTTP request was sent to a TLS port")
)

// TunnelError is the HTTP status with which a proxy refused to connect to the API (CONNECT, RFC
// 9110 section 9.3.6). It is the Err of a KindConnection error.
type TunnelError int

func (s TunnelError) Error() string {
	return StatusText(int(s)) + " (proxy)"
}

// ProxyError is the refusal of a proxy that requires a password (407). It is the Err of an
// APIError, and unwraps to a TunnelError with that status.
type ProxyError struct {
	Schemes string // accepted by the proxy, such as "NTLM or Negotiate"; "": Basic, or not known
	Refused bool   // the proxy got a user and a password, and did not accept them
}

func (ProxyError) Error() string {
	return StatusText(http.StatusProxyAuthRequired)
}

// Unwrap returns the status as a TunnelError.
func (ProxyError) Unwrap() error { return TunnelError(http.StatusProxyAuthRequired) }

// QueuedError says that a call ended while it waited for the rate limit. Its value is how many
// calls were ahead. It is among the causes of a KindTimeout error.
type QueuedError int

func (n QueuedError) Error() string {
	return fmt.Sprintf("waiting for the rate limit (%d ahead)", int(n))
}

// RootsError says that a call ended before the root certificates were read. Its value is the file
// or directory with the certificates, or "the system". It is among the causes of a KindTimeout
// error.
type RootsError string

func (from RootsError) Error() string {
	return "reading the root certificates of " + string(from) + " does not end"
}

// StatusText returns the text of an HTTP status, or "HTTP 599" for a status without a text.
func StatusText(status int) string {
	return cmp.Or(http.StatusText(status), "HTTP "+strconv.Itoa(status))
}

// Error returns one line with kind, status and message.
func (e *APIError) Error() string {
	s := "calling the Responses API: " + e.Kind.String()
	if e.Status != 0 {
		s += fmt.Sprintf(" (%d)", e.Status)
	}
	return s + ": " + e.Message
}

// ErrorKind returns e.Kind. KindOf calls it.
func (e *APIError) ErrorKind() Kind { return e.Kind }

// Unwrap returns the cause.
func (e *APIError) Unwrap() error { return e.Err }

// SDKClass returns the name of the class that OpenAI's SDKs have for the error: people search for
// it (spec §8.2, data.name).
func (e *APIError) SDKClass() string {
	switch e.Status {
	case http.StatusRequestTimeout:
		return "APIError"
	case http.StatusConflict:
		return "ConflictError"
	case http.StatusUnprocessableEntity:
		return "UnprocessableEntityError"
	}
	if e.Kind == KindBadResponse && e.Status >= 400 { // a web page; the SDKs look at the status
		return StatusKind(e.Status).sdkClass
	}
	return e.Kind.sdkClass
}

// QuestionParams is a regular expression for the parameters that come from the question, and for
// the empty name. All other parameters are settings of the operator.
const QuestionParams = `(input.*|messages.*|prompt)?`

var questionParamsRE = regexp.MustCompile(`^` + QuestionParams + `$`)

// MayConcernQuestion reports whether the error may be about the question: it names a parameter of
// the question, or none.
func (e *APIError) MayConcernQuestion() bool {
	return questionParamsRE.MatchString(e.Param)
}

var statusKinds = map[int]Kind{
	0:                          KindFailed,
	http.StatusUnauthorized:    KindAuth,
	http.StatusPaymentRequired: KindAPIQuota,
	http.StatusForbidden:       KindPermission,
	http.StatusNotFound:        KindNotFound,
	http.StatusRequestTimeout:  KindServer, // retried, as in OpenAI's SDKs
	http.StatusConflict:        KindServer,
	http.StatusTooManyRequests: KindRateLimit,

	http.StatusRequestEntityTooLarge: KindTooLong, // a gateway's limit of a body

	http.StatusNotImplemented: KindNotFound, // servers without the Responses API (https://github.com/BerriAI/litellm/pull/19733)

	446: KindFiltered, // Portkey: https://portkey.ai/docs/api-reference/inference-api/error-codes
	498: KindServer,   // Groq: https://console.groq.com/docs/flex-processing
}

// StatusKind returns the kind of an error of which only the HTTP status is known: 400 or more, or 0
// for a response or stream that began with a 2xx and then failed.
func StatusKind(status int) Kind {
	fallback := KindBadRequest
	if status >= http.StatusInternalServerError {
		fallback = KindServer
	}
	return cmp.Or(statusKinds[status], fallback)
}

// CodeTooLarge is the Code of the error that TooLargeError returns.
const CodeTooLarge = "too_large"

// TooLargeError returns the error for a response that exceeds a limit of this program.
func TooLargeError(message string) *APIError {
	return &APIError{Kind: KindFailed, Code: CodeTooLarge, Message: message}
}
