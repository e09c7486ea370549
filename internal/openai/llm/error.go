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
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// retryable reports whether the same request may succeed later.
func retryable(e *call.APIError) bool {
	return e.Kind.IsTemporary() && !e.NoRetry
}

// unknownWords matches how servers say that they do not know a parameter.
var unknownWords = text.LazyRegexp(`(?i)unknown|unrecogni[sz]ed|unsupported|` +
	`(not|n't) (be )?(support|recogni[sz]|know)|extra (inputs|fields)|additional propert|` +
	`unexpected (keyword|argument|parameter|field|propert)`)

// isUnknownParameter reports whether the server does not know the parameter that the error is
// about.
func isUnknownParameter(e *call.APIError) bool {
	return e.Code != "unsupported_value" && unknownWords().MatchString(e.Code+" "+e.Message)
}

// mentions reports whether a refused request (KindBadRequest) has the name in the message of its
// error, and no Param.
func mentions(e *call.APIError, name string) bool {
	unnamed := e.Kind == call.KindBadRequest && e.Param == ""
	return unnamed && strings.Contains(strings.ToLower(e.Message), name)
}

// classify returns the kind that e names, else that of its status. The API sends an exhausted quota
// as 429, other servers as 400, 402 or 403. It sets e.MaybeThisCall (applyRules).
func classify(e *call.APIError, c *call.Call) call.Kind {
	if e.Status > 0 && e.Status < 400 {
		return call.KindBadResponse
	}
	return cmp.Or(applyRules(e, c), call.StatusKind(e.Status))
}

// responseError reads the error of a response or stream that began with a 2xx and then failed. Such
// an error has a code and no status, except that OpenRouter has a status as the code; bodyError then
// sets that of the HTTP response. message is used if the API does not say why it failed.
func responseError(data []byte, message string, c *call.Call) *call.APIError {
	e := apiError(data, message)
	if e.Type == "error" { // the type of the event, not of the error
		e.Type = ""
	}
	e.Kind = classify(e, c)
	return e
}

// mayBeInProgress reports whether the status of an error, 408 or 409, may mean that the API works
// on the request already.
func mayBeInProgress(e *call.APIError) bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
}

// plainHTTP matches how the servers of Go, nginx and Apache refuse http on a TLS port.
var plainHTTP = text.LazyRegexp(`(?i)http (request (was sent )?)?to (an )?(https|ssl)`)

// statusError returns the error of an HTTP response whose status is not a 2xx.
func statusError(resp *http.Response, c *call.Call) *call.APIError {
	var data []byte
	if resp.StatusCode >= 400 { // after 101 the body is another protocol, which no context ends
		body, encodingErr := decodedBody(resp)
		if encodingErr != nil {
			body = bufio.NewReader(strings.NewReader(encodingErr.Message))
		}
		// After a read error, the part that was read may still name the error.
		data, _ = io.ReadAll(io.LimitReader(body, maxErrorBody))
	}

	e := apiError(data, statusMessage(resp.StatusCode, data))
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	e.RetryAfter = max(e.RetryAfter, retryAfterHeaders(resp.Header))
	e.Kind = classify(e, c)
	addWaits(e, resp.Header, c)

	e.NoRetry = mayBeInProgress(e) && resp.Header.Get("X-Should-Retry") == "false"

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
		case call.KindPermission, call.KindNotFound, call.KindBadRequest: // the API sends JSON
			e.Kind = call.KindBadResponse
		}
	}
	if e.Status == http.StatusProxyAuthRequired { // for plain HTTP; for TLS the transport does it
		proxy, _ := http.ProxyFromEnvironment(resp.Request)
		sentPassword := proxy != nil && proxy.User != nil
		e.Err = errors.Join(e.Err, httpclient.ProxyError(resp.Header, sentPassword))
	}
	return e
}

// statusMessage returns the name of a status, followed by the first line of the body if the body is
// neither a web page nor JSON.
func statusMessage(status int, data []byte) string {
	name := call.StatusText(status)
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if line == "" || strings.ContainsAny(line[:1], "<{[") {
		return name
	}
	return name + ": " + line
}

// maxNested bounds how deep errors are nested: the error of a gateway may contain that of its
// provider, whose message may be JSON.
const maxNested = 4

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible servers and gateways
// send instead (a string, a list, a bare message or detail). message is used if the body has none.
// The Status is set if the code of the error is an HTTP status.
func apiError(data []byte, message string) *call.APIError {
	e := &call.APIError{Message: message, Body: string(data)}
	readAPIError(e, data, maxNested)
	return e
}

// readAPIError sets in e what an error body says, and reports whether data is an error body. If the
// error of a gateway contains that of its provider, the latter replaces it: it names the cause.
func readAPIError(e *call.APIError, data []byte, levelsLeft int) bool {
	if levelsLeft == 0 || !json.Valid(data) { // not gjson.Valid, which recurses
		return false
	}

	doc := gjson.ParseBytes(data)
	switch {
	case doc.Type == gjson.String: // JSON in JSON
		return readAPIError(e, []byte(doc.Str), levelsLeft-1)
	case doc.IsArray(): // Gemini
		doc = doc.Get("0")
	}
	fields := doc.Get("error")
	for _, list := range []string{"error.0", "errors.0"} { // Cloudflare
		if !fields.IsObject() {
			fields = doc.Get(list)
		}
	}
	bare := "" // the error, if it is a string: a message or a code
	if !fields.IsObject() {
		setString(&bare, fields, "@this") // errors.0, if it is a string
		setString(&bare, doc, "error")
		fields = doc
		isError := bare != "" || doc.Get("message").Type == gjson.String || doc.Get("detail").Exists()
		if !isError && levelsLeft < maxNested { // the outermost body is an error in any case
			return false
		}
	}

	setString(&e.Type, fields, "type")
	setString(&e.Param, fields, "param")
	if isKnownCode(bare) {
		e.Code = bare
	}
	setString(&e.Code, fields, "code")
	status, _ := strconv.Atoi(e.Code)
	if status >= 400 && status < 600 {
		e.Status = status
	}
	setString(&e.Message, doc, "detail")
	e.Message = cmp.Or(bare, e.Message)
	setString(&e.Message, fields, "message")
	delay := ""
	setString(&delay, fields, "details.#.retryDelay|0") // Gemini
	e.RetryAfter = max(e.RetryAfter, waitIn("wait "+delay))

	readInner(e, fields.Get("metadata.raw"), levelsLeft-1)
	return true
}

// setString sets dst to the value at a path of doc, unless that is empty, or "None", which LiteLLM
// writes for null (https://github.com/BerriAI/litellm/pull/39521).
func setString(dst *string, doc gjson.Result, path string) {
	value := doc.Get(path).String()
	if value != "" && value != "None" {
		*dst = value
	}
}

// readInner sets in e what the error inside an error says. It is in raw, the metadata.raw of
// OpenRouter, as JSON or as plain words, or in a message that is JSON.
func readInner(e *call.APIError, raw gjson.Result, levelsLeft int) {
	for _, inner := range []string{raw.String(), unwrapped(e.Message)} {
		inner = strings.TrimSpace(inner)
		isJSON := strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, `"{`)
		if isJSON && len(inner) <= maxErrorText && readAPIError(e, []byte(inner), levelsLeft) {
			e.MaybeThisCall = true
			return
		}
	}

	words := strings.TrimSpace(raw.Str)
	isText := words != "" && !strings.ContainsAny(words[:1], "<{[\"")
	if isText && len(words) <= maxErrorText {
		e.Message = words
		e.MaybeThisCall = true
	}
}

// litellmPrefix matches what LiteLLM writes before the error of a provider
// (https://github.com/OpenHands/software-agent-sdk/issues/755).
var litellmPrefix = text.LazyRegexp(`^litellm\.[\w.: ]*Exception - \s*\{`)

// namingClass matches the classes of LiteLLM that name the kind of an error (kindTable) even where
// the error of the provider does not.
var namingClass = text.LazyRegexp(`ContextWindowExceededError|ContentPolicyViolationError`)

// unwrapped returns the JSON of a provider's error in a message of LiteLLM, without the words
// before and after it, or any other message unchanged.
func unwrapped(message string) string {
	at := litellmPrefix().FindStringIndex(message[:min(len(message), maxErrorText)])
	if at == nil || namingClass().MatchString(message[:at[1]]) {
		return message
	}
	var inner json.RawMessage
	err := json.NewDecoder(strings.NewReader(message[at[1]-1:])).Decode(&inner)
	if err != nil {
		return message
	}
	return string(inner)
}

// bodyError returns the error of an HTTP response that was not read to its end, or whose body is no
// answer. err is the error of reading it.
func bodyError(resp *http.Response, err error, c *call.Call) *call.APIError {
	cause, _ := errors.AsType[*call.APIError](err)
	_, ok := errors.AsType[*http.MaxBytesError](err)
	if ok {
		cause = call.TooLargeError(tooLong)
	}

	e := *cmp.Or(cause, &call.APIError{
		Kind:    call.KindConnection,
		Message: "the answer was cut off: " + err.Error(),
		Err:     err,
	})
	if e.Kind == call.KindRateLimit || e.Status == http.StatusPaymentRequired {
		// If a stream brings the refusal, its headers may still name a wait.
		e.RetryAfter = max(e.RetryAfter, retryAfterHeaders(resp.Header))
		addWaits(&e, resp.Header, c)
	}
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	return &e
}

// connectionError returns the error of a request without an HTTP response.
func connectionError(err error) *call.APIError {
	urlErr, ok := errors.AsType[*url.Error](err)
	if ok {
		err = urlErr.Err // without the URL, which may contain a password
	}

	message := err.Error()
	if errors.Is(err, io.EOF) {
		message = "the server closed the connection without an answer"
	}
	return &call.APIError{
		Kind:    call.KindConnection,
		Message: message,
		Err:     err,
		NoRetry: isPermanent(err),
	}
}

// isPermanent reports whether a connection will fail again: a certificate, a scheme, a TLS version
// or a proxy's refusal does not change by itself. Other errors may be temporary.
func isPermanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	plain := errors.Is(err, http.ErrSchemeMismatch)

	op, ok := errors.AsType[*net.OpError](err)
	alert := ok && op.Op == "remote error" // a TLS alert, for example about the version

	status, ok := errors.AsType[call.TunnelError](err)
	refused := ok && status < 500 // the proxy refuses to connect
	return untrusted || plain || alert || refused
}

// contextError returns the error of a call whose ctx has ended. err is the error that the call got.
// The kind is that of the cause of ctx: a timeout, a cancellation or another one. In the result,
// errors.Is finds the error of ctx and its cause, and errors.As a QueuedError or a RootsError of
// err.
func contextError(ctx context.Context, err error) *call.APIError {
	e := &call.APIError{
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
	rootsErr, ok := errors.AsType[call.RootsError](err)
	if ok {
		e.Message = rootsErr.Error()
		e.Err = errors.Join(e.Err, rootsErr)
	}
	return e
}

// retryAfterHeaders returns the longest time to wait that the headers name.
func retryAfterHeaders(h http.Header) time.Duration {
	after := h.Get("Retry-After")
	date, _ := http.ParseTime(after) // else the zero time
	return max(
		time.Until(date),
		headerWait(after, time.Second),
		headerWait(h.Get("Retry-After-Ms"), time.Millisecond),
		headerWait(h.Get("X-Ms-Retry-After-Ms"), time.Millisecond))
}

// messageWait returns the time to wait that the message names. Words that are in the question do
// not count: a server may repeat them.
func messageWait(e *call.APIError, c *call.Call) time.Duration {
	words := waitWords().FindString(e.Message[:min(len(e.Message), maxErrorText)])
	if strings.Contains(fmt.Sprintf("%s", c.RequestInput), words) {
		return 0
	}
	return waitIn(words)
}

// addWaits raises RetryAfter to the wait that the message of a rate limit or of a 402 names. For a
// rate limit it also sets ResetAfter, if the headers tell when the limit is fully available again:
// try waits for that only if the API names no other wait, and if it is in time.
func addWaits(e *call.APIError, h http.Header, c *call.Call) {
	payment := e.Kind == call.KindAPIQuota && e.Status == http.StatusPaymentRequired
	if e.Kind != call.KindRateLimit && !payment {
		return
	}

	e.RetryAfter = max(e.RetryAfter, messageWait(e, c))
	if payment {
		e.MaybeThisCall = e.MaybeThisCall || e.RetryAfter > 0
		return
	}
	for _, limit := range []string{"Requests", "Tokens"} {
		reset := min(headerWait(h.Get("X-Ratelimit-Reset-"+limit), time.Second), time.Minute)
		if reset > 0 && h.Get("X-Ratelimit-Remaining-"+limit) == "0" {
			e.ResetAfter = min(reset, cmp.Or(e.ResetAfter, reset))
		}
	}
}

// waitWords matches how rate limits name a wait: "Please try again in 1m2.5s" (OpenAI), "Try again
// in 17 seconds", "Please retry after 6 seconds" (Azure), "Wait 10 seconds and try again"
// (gateways). waitPart matches a number of the wait with its unit.
var (
	waitWords = text.LazyRegexp(`(?i)(?:(?:try again|retry) (?:in|after)|wait(?: for)?) ((?:` +
		`\d+(?:\.\d+)? ?` +
		`(?:m(?:illi)?s(?:econds?)?|s(?:ec(?:ond)?s?)?|m(?:in(?:ute)?s?)?|h(?:(?:ou)?rs?)?)` +
		`(?:,? (?:and )?)?)+)\b`)
	waitPart = text.LazyRegexp(`([\d.]+) ?(?:(m)(?:illi)?(s)|([smh]))[a-z]*[ ,]*(?:and )?`)
)

// maxWait bounds a wait: a longer one means nothing to people and could overflow.
const maxWait = 1000 * time.Hour

// headerWait returns the time that a header names, at most maxWait: a number of units, or a time
// with a unit of its own (3s). The result is 0 for other values.
func headerWait(value string, unit time.Duration) time.Duration {
	n, err := strconv.ParseFloat(value, 64) // inf: out of range
	if errors.Is(err, strconv.ErrSyntax) {
		return waitIn("wait " + value)
	}
	if n > 0 {
		return time.Duration(min(n*float64(unit), float64(maxWait)))
	}
	return 0
}

// waitIn returns the time that the first 200 bytes of words name, at most maxWait. The result is 0
// for other words.
func waitIn(words string) time.Duration {
	found := waitWords().FindStringSubmatch(words[:min(len(words), 200)])
	if found == nil {
		return 0
	}
	duration := waitPart().ReplaceAllString(strings.ToLower(found[1]), "$1$2$3$4")
	wait, err := time.ParseDuration(duration)
	if err != nil { // out of range
		return maxWait
	}
	return min(wait, maxWait)
}
