package llm

import (
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

	"github.com/uchimanajet7/openai-responses-mcp/internal/pacer"
)

// Kind says what went wrong with a call, as far as the remedy depends on it: in words, as the class
// that OpenAI's SDKs have for it, and as a label in metrics and logs.
type Kind struct{ words, class, label string }

// The kinds of errors. KindRateLimit, KindServer and KindConnection are retried. The last five are
// not about what the API says.
var (
	// KindMissingKey: nothing was sent.
	KindMissingKey = Kind{"missing key", "OpenAIError", "missing_key"}

	// KindAuth: 401.
	KindAuth = Kind{"not authenticated", "AuthenticationError", "auth"}

	// KindPermission: 403.
	KindPermission = Kind{"not permitted", "PermissionDeniedError", "permission"}

	// KindBlocked: the API has blocked the person by their safety_identifier.
	KindBlocked = Kind{"blocked", "PermissionDeniedError", "blocked"}

	// KindNotFound: 404, but not for the model.
	KindNotFound = Kind{"not found", "NotFoundError", "not_found"}

	// KindQuota: credit or budget is used up.
	KindQuota = Kind{"out of quota", "RateLimitError", "quota"}

	// KindRateLimit: a temporary 429.
	KindRateLimit = Kind{"rate limited", "RateLimitError", "rate_limit"}

	// KindParameter: 400, 422 and other 4xx.
	KindParameter = Kind{"request refused", "BadRequestError", "parameter"}

	// KindServer: 5xx, or a response that failed with a server error.
	KindServer = Kind{"server error", "InternalServerError", "server"}

	// KindTimeout: the deadline of the context passed.
	KindTimeout = Kind{"timed out", "APIConnectionTimeoutError", "timeout"}

	// KindCanceled: the context was canceled.
	KindCanceled = Kind{"canceled", "APIUserAbortError", "canceled"}

	// KindConnection: DNS, a refused or broken connection, TLS, a proxy.
	KindConnection = Kind{"connection failed", "APIConnectionError", "connection"}

	// KindBadResponse: a web page, a redirect, a response without output.
	KindBadResponse = Kind{"not a response", "APIResponseValidationError", "bad_response"}

	// KindFailed: the response failed for a permanent reason.
	KindFailed = Kind{"response failed", "APIError", "failed"}

	// KindModel: the model is unknown, or not for this key.
	KindModel = Kind{"model not available", "NotFoundError", "model"}

	// KindUnverified: the organization is not verified for this model.
	KindUnverified = Kind{"organization not verified", "PermissionDeniedError", "unverified"}

	// KindFiltered: the API does not answer this question.
	KindFiltered = Kind{"question refused", "BadRequestError", "filtered"}

	// KindTooLong: the question, with what the model reads for it, is too long.
	KindTooLong = Kind{"question too long", "BadRequestError", "too_long"}

	// KindNoText: the response has no text, so there is no answer.
	KindNoText = Kind{"no text", "", "no_text"}

	// KindShutdown: the server no longer waits for the answer.
	KindShutdown = Kind{"shut down", "APIUserAbortError", "shutdown"}

	// KindArguments: the question is invalid and was not asked.
	KindArguments = Kind{"invalid arguments", "", "arguments"}

	// KindLimited: the person has started too many calls, and the question was not asked.
	KindLimited = Kind{"limited", "", "limited"}

	// KindInternal: a bug, or an error that names no kind.
	KindInternal = Kind{"error", "", "internal"}
)

func (k Kind) String() string { return k.words }

// Label returns the kind for metrics and logs, such as rate_limit.
func (k Kind) Label() string { return k.label }

// Kinds returns all kinds.
func Kinds() []Kind {
	return []Kind{
		KindShutdown,
		KindArguments,
		KindLimited,
		KindInternal,

		KindMissingKey,
		KindAuth,
		KindPermission,
		KindBlocked,
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
		KindFiltered,
		KindTooLong,
		KindNoText,
	}
}

// KindOf returns the kind that err names, or that of the end of a context.
func KindOf(err error) Kind {
	named, ok := errors.AsType[interface {
		error
		ErrorKind() Kind
	}](err)

	switch {
	case ok:
		return named.ErrorKind()
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, context.Canceled):
		return KindCanceled
	}
	return KindInternal
}

// Errorf returns an error of a kind that is not an *Error.
func (k Kind) Errorf(format string, args ...any) error {
	return kindError{fmt.Errorf(format, args...), k}
}

type kindError struct {
	error
	kind Kind
}

func (e kindError) ErrorKind() Kind { return e.kind }

// Error is the error of every call of a Client. The API key is in none of its texts.
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
	Lost       bool  // the API does not have a background response any more, or has no GET
	Err        error // cause: context.DeadlineExceeded, *net.OpError, ErrWebPage, ...

	final bool          // not retried although its kind is
	reset time.Duration // until a rate limit is whole again; 0: unknown
	body  string        // the error body, for the debug log
}

// Causes of an Error that its kind and status do not show, for errors.Is.
var (
	// ErrWebPage: a login or a firewall answered, for example.
	ErrWebPage = errors.New("the answer is a web page")

	// ErrPlainHTTP: the base URL has http in place of https.
	ErrPlainHTTP = errors.New("a plain HTTP request was sent to a TLS port")
)

// TunnelError is the HTTP status with which a proxy refused to connect (CONNECT, RFC 9110
// section 9.3.6). It is the Err of a KindConnection error.
type TunnelError int

func (s TunnelError) Error() string {
	return statusName(int(s))
}

// QueuedError is how many calls were ahead of one that ended while it waited for the rate limit. It
// is among the causes of a KindTimeout error.
type QueuedError = pacer.QueuedError

func statusName(status int) string {
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

// retryable reports whether the same request may succeed later.
func (e *Error) retryable() bool {
	if e.final {
		return false
	}
	return e.Kind == KindRateLimit || e.Kind == KindServer || e.Kind == KindConnection
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Name returns the class that OpenAI's SDKs have for the error, which is what people search for
// (spec §8.2, data.name).
func (e *Error) Name() string {
	switch e.Status {
	case http.StatusConflict:
		return "ConflictError"
	case http.StatusUnprocessableEntity:
		return "UnprocessableEntityError"
	}
	if e.Kind == KindBadResponse && e.Status >= 400 { // a web page: the SDKs look at the status
		return cmp.Or(statusKinds[e.Status], KindParameter).class
	}
	return e.Kind.class
}

// namedKind returns the kind that a code or type of the API names with any status, if any.
func namedKind(name string) Kind {
	switch name {
	case "insufficient_quota",
		"quota_exceeded",
		"exceeded_current_quota_error",
		"usage_limit_reached",
		"billing_hard_limit_reached",
		"billing_not_active":
		return KindQuota

	case "rate_limit_exceeded",
		"rate_limit_error",
		"too_many_requests":
		return KindRateLimit

	case "server_error",
		"internal_server_error",
		"overloaded_error",
		"server_is_overloaded",
		"slow_down",
		"service_unavailable",
		"vector_store_timeout":
		return KindServer
	}
	return Kind{}
}

// What an error about the question has in its code and its message, and one about its person in its
// parameter, code and message (https://platform.openai.com/docs/guides/safety-checks).
var (
	filteredWords = regexp.MustCompile(`(?i)invalid_prompt|content.?(filter|policy|management)|` +
		`(bio|cyber|misalignment)_policy|moderation_blocked|prompt was flagged`)
	tooLongWords = regexp.MustCompile(`(?i)context.?(length|window|size)|` +
		`above_max_length|(prompt|input).(is.)?too.(long|large)`)

	blockedWords = regexp.MustCompile(`(?i)^\S* cyber_policy_violation |` +
		`^(safety_identifier)? (\S*identifier_blocked |` +
		`\S* ([\w-]+ ){0,2}[\w-]*identifier (is |was |has been )?blocked|` +
		`\S* this user's access .*(limited|revoked|blocked))|` +
		`^safety_identifier .*\b(user|account|access|identifier)\b.*(blocked|revoked|suspended)`)
)

// named returns the kind that the error names, if any.
func (e *Error) named() Kind {
	said := e.Code + " " + e.Message
	kind := cmp.Or(namedKind(e.Code), namedKind(e.Type))
	switch {
	case strings.HasPrefix(strings.ToLower(e.Message), "request too large"):
		return KindParameter // a rate limit that no wait helps
	case kind != Kind{}:
	case blockedWords.MatchString(e.Param + " " + said):
		return KindBlocked
	case !e.OfQuestion():
	case filteredWords.MatchString(said):
		return KindFiltered
	case tooLongWords.MatchString(said):
		return KindTooLong
	}
	return kind
}

// ofQuestion are the parameters of a question. Those of a profile are the operator's.
var ofQuestion = regexp.MustCompile(`^(input.*|messages.*|prompt)?$`)

// OfQuestion reports whether the error may be about the question, as it names no other parameter.
func (e *Error) OfQuestion() bool {
	return ofQuestion.MatchString(e.Param)
}

// unknownWords are those of servers that do not know a parameter.
var unknownWords = regexp.MustCompile(`(?i)unknown|unrecogni[sz]ed|unsupported|` +
	`(not|n't) (be )?(support|recogni[sz]|know)|extra (inputs|fields)|additional propert|` +
	`unexpected (keyword|argument|parameter|field|propert)`)

// isUnknownParameter reports whether the server does not know the parameter that the error is about.
func (e *Error) isUnknownParameter() bool {
	return e.Code != "unsupported_value" && unknownWords.MatchString(e.Code+" "+e.Message)
}

// says reports whether the error names a parameter in its message only.
func (e *Error) says(name string) bool {
	isOther := e.Kind != KindParameter || e.Param != ""
	return !isOther && strings.Contains(strings.ToLower(e.Message), name)
}

var statusKinds = map[int]Kind{
	http.StatusUnauthorized:    KindAuth,
	http.StatusPaymentRequired: KindQuota,
	http.StatusForbidden:       KindPermission,
	http.StatusNotFound:        KindNotFound,
	http.StatusTooManyRequests: KindRateLimit,
}

// statusKind classifies an error answer with an HTTP status. The API sends an exhausted quota as
// 429, others as 400, 402 or 403.
func (e *Error) statusKind(status int) Kind {
	message := strings.ToLower(e.Message)
	isPath := strings.Contains(message, "invalid url")
	isModel := strings.Contains(message, "model") && !isPath
	named := e.named()

	switch {
	case status < 400:
		return KindBadResponse
	case named == KindQuota, named == KindBlocked:
		return named
	case status >= 500:
		return KindServer
	case named == KindParameter:
		return named
	case strings.Contains(message, "organization must be verified"): // there is no code for it
		return KindUnverified
	case e.Code == "model_not_found",
		e.Code == "DeploymentNotFound", // Azure
		status == http.StatusNotFound && isModel,
		strings.Contains(message, "is not a valid model"): // OpenRouter
		return KindModel
	case named == KindFiltered, named == KindTooLong:
		return named
	}
	return cmp.Or(statusKinds[status], KindParameter)
}

// responseError reads the error of a response or a stream that was accepted and then failed;
// message is for an API that does not say why. Such an error has a code and no status, but
// OpenRouter's code is the status.
func responseError(data []byte, message string) *Error {
	e := apiError(data, message)
	if e.Type == "error" { // the type of an event
		e.Type = ""
	}
	e.Kind = cmp.Or(e.named(), KindFailed)

	status, _ := strconv.Atoi(e.Code)
	if status >= 400 && status < 600 {
		e.Kind = e.statusKind(status)
	}
	return e
}

// plainHTTP is how the servers of Go, nginx and Apache refuse http on a TLS port.
var plainHTTP = regexp.MustCompile(`(?i)http (request (was sent )?)?to (an )?(https|ssl)`)

// statusError reads an HTTP answer that is not a success.
func statusError(resp *http.Response, call *Call) *Error {
	var data []byte
	if resp.StatusCode >= 400 { // after 101 the body is another protocol, which no context ends
		// After a read error the part that was read still says something.
		data, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	}

	e := apiError(data, statusMessage(resp.StatusCode, data))
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	e.Kind = e.statusKind(e.Status)
	e.setWait(resp.Header, call)

	location, err := resp.Location()
	switch {
	case err == nil && e.Status < 400:
		e.Message = "the API redirects to " + location.Scheme + "://" + location.Host
	case e.Status == http.StatusBadRequest && plainHTTP.Match(data):
		e.Message = ErrPlainHTTP.Error()
		e.Err = ErrPlainHTTP
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		e.Err = ErrWebPage
		switch e.Kind {
		case KindPermission, KindNotFound, KindParameter: // the API refuses with JSON
			e.Kind = KindBadResponse
		}
	}
	return e
}

// statusMessage is the name of a status, followed by the first line of the body when that is text
// and not a web page or JSON.
func statusMessage(status int, data []byte) string {
	name := statusName(status)
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if line == "" || strings.ContainsAny(line[:1], "<{[") {
		return name
	}
	return name + ": " + line
}

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible servers and gateways
// send instead (a string, a bare message or detail). message is for one that says nothing.
func apiError(data []byte, message string) *Error {
	e := &Error{Message: message, body: string(data)}
	if !json.Valid(data) { // gjson.Valid recurses, so deep nesting would end the process
		return e
	}

	doc := gjson.ParseBytes(data)
	fields := doc.Get("error")
	bare := "" // an error that is a string: a message, and maybe a code
	if !fields.IsObject() {
		bare = fields.String()
		fields = doc
	}

	e.Type = fields.Get("type").String()
	e.Param = fields.Get("param").String()
	e.Code = fields.Get("code").String()
	if namedKind(bare) != (Kind{}) {
		e.Code = cmp.Or(e.Code, bare)
	}
	e.Message = cmp.Or(fields.Get("message").String(), bare, doc.Get("detail").String(), message)
	return e
}

const codeTooLarge = "too_large"

// tooLarge is the error of an answer that exceeds a limit.
func tooLarge(message string) *Error {
	return &Error{Kind: KindFailed, Code: codeTooLarge, Message: message}
}

// readError is the error of an answer that was not read to its end, or is not what it should be.
func readError(resp *http.Response, err error, call *Call) *Error {
	cause, _ := errors.AsType[*Error](err)
	_, isLong := errors.AsType[*http.MaxBytesError](err)
	if isLong {
		cause = tooLarge(tooLong)
	}

	e := *cmp.Or(cause, &Error{
		Kind:    KindConnection,
		Message: "the answer was cut off: " + err.Error(),
		Err:     err,
	})
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	if e.Kind == KindRateLimit { // the headers of the stream are those of the refusal
		e.setWait(resp.Header, call)
	}
	return &e
}

// connectionError is the error of a request without an answer.
func connectionError(err error) *Error {
	urlErr, ok := errors.AsType[*url.Error](err)
	if ok {
		err = urlErr.Err // without the address, which may hold a password
	}

	message := err.Error()
	if errors.Is(err, io.EOF) {
		message = "the server closed the connection without an answer"
	}
	return &Error{
		Kind:    KindConnection,
		Message: message,
		Err:     err,
		final:   isPermanent(err),
	}
}

// isPermanent reports whether a connection will fail again: a certificate, a scheme, a TLS version
// or a proxy's refusal does not change by itself. Other errors may be temporary.
func isPermanent(err error) bool {
	_, isUntrusted := errors.AsType[*tls.CertificateVerificationError](err)
	isPlain := errors.Is(err, http.ErrSchemeMismatch)

	op, isOp := errors.AsType[*net.OpError](err)
	isAlert := isOp && op.Op == "remote error" // of TLS, for example about its version

	status, isTunnel := errors.AsType[TunnelError](err)
	isRefused := isTunnel && status < 500
	return isUntrusted || isPlain || isAlert || isRefused
}

// contextError is a timeout or a cancellation, unless the cause of the context names another kind.
// errors.Is finds the error of the context and its cause, and errors.As a QueuedError among the
// causes of err.
func contextError(ctx context.Context, err error) *Error {
	e := &Error{
		Message: "the call was canceled",
		Err:     errors.Join(ctx.Err(), context.Cause(ctx)),
	}
	e.Kind = KindOf(e.Err)
	if e.Kind == KindTimeout {
		e.Message = "no complete answer in time"
	}

	queued, waited := errors.AsType[QueuedError](err)
	if waited {
		e.Message = queued.Error()
		e.Err = errors.Join(e.Err, queued)
	}
	return e
}

// setWait sets how long the API asks to wait: the longest time that the headers name, or the
// message of a rate limit. A rate limit may also say when it is whole again, which no call has to
// wait for. Words of the question, which a server may repeat, do not count.
func (e *Error) setWait(h http.Header, call *Call) {
	after := h.Get("Retry-After")
	date, _ := http.ParseTime(after) // else the zero time
	e.RetryAfter = max(
		time.Until(date),
		headerWait(after, time.Second),
		headerWait(h.Get("Retry-After-Ms"), time.Millisecond),
		headerWait(h.Get("X-Ms-Retry-After-Ms"), time.Millisecond))
	if e.Kind != KindRateLimit {
		return
	}

	words := waitWords.FindString(e.Message[:min(len(e.Message), maxErrorText)])
	if !strings.Contains(fmt.Sprintf("%s", call.input), words) {
		e.RetryAfter = max(e.RetryAfter, waitIn(words))
	}
	for _, limit := range []string{"Requests", "Tokens"} {
		reset := min(headerWait(h.Get("X-Ratelimit-Reset-"+limit), time.Second), time.Minute)
		if reset > 0 && h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			e.reset = min(reset, cmp.Or(e.reset, reset))
		}
	}
}

// waitWords are how rate limits name a wait: "Please try again in 1m2.5s" (OpenAI), "Try again in
// 17 seconds", "Please retry after 6 seconds" (Azure), "Wait 10 seconds and try again" (gateways).
// waitPart is a number with its unit.
var (
	waitWords = regexp.MustCompile(`(?i)(?:(?:try again|retry) (?:in|after)|wait(?: for)?) ((?:` +
		`\d+(?:\.\d+)? ?` +
		`(?:m(?:illi)?s(?:econds?)?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)` +
		`(?:,? (?:and )?)?)+)\b`)
	waitPart = regexp.MustCompile(`([\d.]+) ?(?:(m)(?:illi)?(s)|([smh]))[a-z]*[ ,]*(?:and )?`)
)

// longest bounds a wait: longer ones say nothing to people and could overflow.
const longest = 1000 * time.Hour

// headerWait returns the time that a header names, at most longest: a number of units, or a time with
// a unit of its own (3s). It returns 0 for other values.
func headerWait(value string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(value, 64) // inf if it is out of range
	if errors.Is(err, strconv.ErrSyntax) {
		return waitIn("wait " + value)
	}
	if n > 0 {
		return time.Duration(min(n*float64(unit), float64(longest)))
	}
	return 0
}

// waitIn returns the time that words name, at most longest. It returns 0 for other words, and looks at
// the first 200 bytes.
func waitIn(words string) time.Duration {
	found := waitWords.FindStringSubmatch(words[:min(len(words), 200)])
	if found == nil {
		return 0
	}
	short := waitPart.ReplaceAllString(strings.ToLower(found[1]), "$1$2$3$4")
	wait, err := time.ParseDuration(short)
	if err != nil { // out of range
		return longest
	}
	return min(wait, longest)
}
