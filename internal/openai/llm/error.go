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
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// retryable reports whether the same request may succeed later.
func retryable(e *call.Error) bool {
	if e.Final {
		return false
	}
	return e.Kind == call.KindRateLimit || e.Kind == call.KindServer || e.Kind == call.KindConnection
}

// namedKind returns the kind that a code or type of the API names with any status, if any.
func namedKind(name string) call.Kind {
	switch name {
	case "insufficient_quota",
		"quota_exceeded",
		"exceeded_current_quota_error",
		"usage_limit_reached",
		"billing_hard_limit_reached",
		"billing_not_active":
		return call.KindQuota

	case "rate_limit_exceeded",
		"rate_limit_error",
		"too_many_requests":
		return call.KindRateLimit

	case "server_error",
		"internal_server_error",
		"overloaded_error",
		"server_is_overloaded",
		"slow_down",
		"service_unavailable",
		"vector_store_timeout":
		return call.KindServer
	}
	return call.Kind{}
}

// What an error about the question has in its code and message, and an error about the person in its
// parameter, code and message (https://platform.openai.com/docs/guides/safety-checks).
var (
	filteredWords = text.Regexp(`(?i)invalid_prompt|content.?(filter|policy|management)|` +
		`(bio|cyber|misalignment)_policy|moderation_blocked|prompt was flagged`)
	tooLongWords = text.Regexp(`(?i)context.?(length|window|size)|` +
		`above_max_length|(prompt|input).(is.)?too.(long|large)`)

	blockedWords = text.Regexp(`(?i)^\S* cyber_policy_violation |` +
		`^(safety_identifier)? (\S*identifier_blocked |` +
		`\S* ([\w-]+ ){0,2}[\w-]*identifier (is |was |has been )?blocked|` +
		`\S* this user's access .*(limited|revoked|blocked))|` +
		`^safety_identifier .*\b(user|account|access|identifier)\b.*(blocked|revoked|suspended)`)
)

// named returns the kind that the error names, if any.
func named(e *call.Error) call.Kind {
	said := e.Code + " " + e.Message
	kind := cmp.Or(namedKind(e.Code), namedKind(e.Type))
	switch {
	case strings.HasPrefix(strings.ToLower(e.Message), "request too large"):
		return call.KindParameter // a rate limit that no wait helps
	case kind != call.Kind{}:
	case blockedWords().MatchString(e.Param + " " + said):
		return call.KindBlocked
	case !e.OfQuestion():
	case filteredWords().MatchString(said):
		return call.KindFiltered
	case tooLongWords().MatchString(said):
		return call.KindTooLong
	}
	return kind
}

// unknownWords are the words of servers that do not know a parameter.
var unknownWords = text.Regexp(`(?i)unknown|unrecogni[sz]ed|unsupported|` +
	`(not|n't) (be )?(support|recogni[sz]|know)|extra (inputs|fields)|additional propert|` +
	`unexpected (keyword|argument|parameter|field|propert)`)

// isUnknownParameter reports whether the server does not know the parameter that the error is about.
func isUnknownParameter(e *call.Error) bool {
	return e.Code != "unsupported_value" && unknownWords().MatchString(e.Code+" "+e.Message)
}

// says reports whether the error names a parameter in its message only.
func says(e *call.Error, name string) bool {
	unnamed := e.Kind == call.KindParameter && e.Param == ""
	return unnamed && strings.Contains(strings.ToLower(e.Message), name)
}

// statusKind classifies an error with an HTTP status. The API sends an exhausted quota as 429, other
// servers as 400, 402 or 403.
func statusKind(e *call.Error, status int) call.Kind {
	message := strings.ToLower(e.Message)
	ofPath := strings.Contains(message, "invalid url")
	ofModel := strings.Contains(message, "model") && !ofPath
	kind := named(e)

	// The words of a refused key may be about the filter of an account or a gateway.
	ofKey := status == http.StatusUnauthorized || status == http.StatusForbidden
	flagged := filteredWords().MatchString(e.Code) ||
		strings.Contains(message, "prompt was flagged")

	switch {
	case status < 400:
		return call.KindBadResponse
	case kind == call.KindQuota, kind == call.KindBlocked:
		return kind
	case status >= 500:
		return call.KindServer
	case kind == call.KindParameter:
		return kind
	case strings.Contains(message, "organization must be verified"): // without a code
		return call.KindUnverified
	case e.Code == "model_not_found",
		e.Code == "DeploymentNotFound", // Azure
		status == http.StatusNotFound && ofModel,
		strings.Contains(message, "is not a valid model"): // OpenRouter
		return call.KindModel
	case kind == call.KindTooLong, kind == call.KindFiltered && (flagged || !ofKey):
		return kind
	}
	return call.StatusKind(status)
}

// responseError reads the error of a response or a stream that was accepted and then failed;
// message is for an API that does not say why. Such an error has a code and no status, but
// OpenRouter's code is the status.
func responseError(data []byte, message string) *call.Error {
	e := apiError(data, message)
	if e.Type == "error" { // the type of an event
		e.Type = ""
	}
	e.Kind = cmp.Or(named(e), call.KindFailed)

	status, _ := strconv.Atoi(e.Code)
	if status >= 400 && status < 600 {
		e.Kind = statusKind(e, status)
	}
	return e
}

// plainHTTP is how the servers of Go, nginx and Apache refuse http on a TLS port.
var plainHTTP = text.Regexp(`(?i)http (request (was sent )?)?to (an )?(https|ssl)`)

// statusError reads an HTTP response that is not a success.
func statusError(resp *http.Response, c *call.Call) *call.Error {
	var data []byte
	if resp.StatusCode >= 400 { // after 101 the body is another protocol, which no context ends
		// After a read error the part that was read still says something.
		data, _ = io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	}

	e := apiError(data, statusMessage(resp.StatusCode, data))
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	e.Kind = statusKind(e, e.Status)
	setWait(e, resp.Header, c)

	location, err := resp.Location()
	switch {
	case err == nil && e.Status < 400:
		e.Message = "the API redirects to " + location.Scheme + "://" + location.Host
	case e.Status == http.StatusBadRequest && plainHTTP().Match(data):
		e.Message = call.ErrPlainHTTP.Error()
		e.Err = call.ErrPlainHTTP
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		e.Err = call.ErrWebPage
		switch e.Kind {
		case call.KindPermission, call.KindNotFound, call.KindParameter: // the API refuses with JSON
			e.Kind = call.KindBadResponse
		}
	}
	return e
}

// statusMessage is the name of a status, followed by the first line of the body when that is text
// and not a web page or JSON.
func statusMessage(status int, data []byte) string {
	name := call.StatusName(status)
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if line == "" || strings.ContainsAny(line[:1], "<{[") {
		return name
	}
	return name + ": " + line
}

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible servers and gateways
// send instead (a string, a bare message or detail). message is for a body that says nothing.
func apiError(data []byte, message string) *call.Error {
	e := &call.Error{Message: message, Body: string(data)}
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
	if namedKind(bare) != (call.Kind{}) {
		e.Code = cmp.Or(e.Code, bare)
	}
	e.Message = cmp.Or(fields.Get("message").String(), bare, doc.Get("detail").String(), message)
	return e
}

// readError is the error of an HTTP response that was not read to its end, or whose body is not what
// it should be.
func readError(resp *http.Response, err error, c *call.Call) *call.Error {
	cause, _ := errors.AsType[*call.Error](err)
	_, ok := errors.AsType[*http.MaxBytesError](err)
	if ok {
		cause = call.TooLarge(tooLong)
	}

	e := *cmp.Or(cause, &call.Error{
		Kind:    call.KindConnection,
		Message: "the answer was cut off: " + err.Error(),
		Err:     err,
	})
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	if e.Kind == call.KindRateLimit { // a stream that is refused has the headers of the refusal
		setWait(&e, resp.Header, c)
	}
	return &e
}

// connectionError is the error of a request without an HTTP response.
func connectionError(err error) *call.Error {
	urlErr, ok := errors.AsType[*url.Error](err)
	if ok {
		err = urlErr.Err // without the address, which may hold a password
	}

	message := err.Error()
	if errors.Is(err, io.EOF) {
		message = "the server closed the connection without an answer"
	}
	return &call.Error{
		Kind:    call.KindConnection,
		Message: message,
		Err:     err,
		Final:   isPermanent(err),
	}
}

// isPermanent reports whether a connection will fail again: a certificate, a scheme, a TLS version
// or a proxy's refusal does not change by itself. Other errors may be temporary.
func isPermanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	plain := errors.Is(err, http.ErrSchemeMismatch)

	op, ok := errors.AsType[*net.OpError](err)
	alert := ok && op.Op == "remote error" // of TLS, for example about its version

	status, ok := errors.AsType[call.TunnelError](err)
	refused := ok && status < 500 // by a proxy
	return untrusted || plain || alert || refused
}

// contextError is a timeout or a cancellation, unless the cause of the context names another kind.
// errors.Is finds the error of the context and its cause, and errors.As a QueuedError or a
// RootsError among the causes of err.
func contextError(ctx context.Context, err error) *call.Error {
	e := &call.Error{
		Message: "the call was canceled",
		Err:     errors.Join(ctx.Err(), context.Cause(ctx)),
	}
	e.Kind = call.KindOf(e.Err)
	if e.Kind == call.KindTimeout {
		e.Message = "no complete answer in time"
	}

	queued, ok := errors.AsType[call.QueuedError](err)
	if ok {
		e.Message = queued.Error()
		e.Err = errors.Join(e.Err, queued)
	}
	unread, ok := errors.AsType[call.RootsError](err)
	if ok {
		e.Message = unread.Error()
		e.Err = errors.Join(e.Err, unread)
	}
	return e
}

// setWait sets how long the API asks to wait: the longest time that the headers name, or the
// message of a rate limit. A rate limit may also say when the limit is whole again, which no call has
// to wait for. Words of the question, which a server may repeat, do not count.
func setWait(e *call.Error, h http.Header, c *call.Call) {
	after := h.Get("Retry-After")
	date, _ := http.ParseTime(after) // else the zero time
	e.RetryAfter = max(
		time.Until(date),
		headerWait(after, time.Second),
		headerWait(h.Get("Retry-After-Ms"), time.Millisecond),
		headerWait(h.Get("X-Ms-Retry-After-Ms"), time.Millisecond))
	if e.Kind != call.KindRateLimit {
		return
	}

	words := waitWords().FindString(e.Message[:min(len(e.Message), maxErrorText)])
	if !strings.Contains(fmt.Sprintf("%s", c.Input), words) {
		e.RetryAfter = max(e.RetryAfter, waitIn(words))
	}
	for _, limit := range []string{"Requests", "Tokens"} {
		reset := min(headerWait(h.Get("X-Ratelimit-Reset-"+limit), time.Second), time.Minute)
		if reset > 0 && h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			e.Reset = min(reset, cmp.Or(e.Reset, reset))
		}
	}
}

// waitWords are how rate limits name a wait: "Please try again in 1m2.5s" (OpenAI), "Try again in
// 17 seconds", "Please retry after 6 seconds" (Azure), "Wait 10 seconds and try again" (gateways).
// waitPart is a number with its unit.
var (
	waitWords = text.Regexp(`(?i)(?:(?:try again|retry) (?:in|after)|wait(?: for)?) ((?:` +
		`\d+(?:\.\d+)? ?` +
		`(?:m(?:illi)?s(?:econds?)?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)` +
		`(?:,? (?:and )?)?)+)\b`)
	waitPart = text.Regexp(`([\d.]+) ?(?:(m)(?:illi)?(s)|([smh]))[a-z]*[ ,]*(?:and )?`)
)

// longest bounds a wait: longer ones say nothing to people and could overflow.
const longest = 1000 * time.Hour

// headerWait returns the time that a header names, at most longest: a number of units, or a time with
// a unit of its own (3s). The result is 0 for other values.
func headerWait(value string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(value, 64) // inf: out of range
	if errors.Is(err, strconv.ErrSyntax) {
		return waitIn("wait " + value)
	}
	if n > 0 {
		return time.Duration(min(n*float64(unit), float64(longest)))
	}
	return 0
}

// waitIn returns the time that the first 200 bytes of words name, at most longest. The result is 0 for
// other words.
func waitIn(words string) time.Duration {
	found := waitWords().FindStringSubmatch(words[:min(len(words), 200)])
	if found == nil {
		return 0
	}
	short := waitPart().ReplaceAllString(strings.ToLower(found[1]), "$1$2$3$4")
	wait, err := time.ParseDuration(short)
	if err != nil { // out of range
		return longest
	}
	return min(wait, longest)
}
