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
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// retryable reports whether the same request may succeed later.
func retryable(e *call.Error) bool {
	if e.Final {
		return false
	}
	return e.Kind == call.KindRateLimit || e.Kind == call.KindServer || e.Kind == call.KindConnection
}

// unknownWords are the words of servers that do not know a parameter.
var unknownWords = text.Regexp(`(?i)unknown|unrecogni[sz]ed|unsupported|` +
	`(not|n't) (be )?(support|recogni[sz]|know)|extra (inputs|fields)|additional propert|` +
	`unexpected (keyword|argument|parameter|field|propert)`)

// isUnknownParameter reports whether the server does not know the parameter that the error is
// about.
func isUnknownParameter(e *call.Error) bool {
	return e.Code != "unsupported_value" && unknownWords().MatchString(e.Code+" "+e.Message)
}

// mentions reports whether the error names a parameter in its message only.
func mentions(e *call.Error, name string) bool {
	unnamed := e.Kind == call.KindParameter && e.Param == ""
	return unnamed && strings.Contains(strings.ToLower(e.Message), name)
}

// statusKind classifies an error with an HTTP status. The API sends an exhausted quota as 429,
// other servers as 400, 402 or 403.
func statusKind(e *call.Error, status int, c *call.Call) call.Kind {
	if status < 400 {
		return call.KindBadResponse
	}
	kind := named(e, status, c)
	if kind == nil {
		return call.StatusKind(status)
	}
	return *kind
}

// responseError reads the error of a response or a stream that was accepted and then failed;
// message is for an API that does not say why. Such an error has a code and no status, but
// OpenRouter's code is the status.
func responseError(data []byte, message string, c *call.Call) *call.Error {
	e := apiError(data, message)
	if e.Type == "error" { // the type of an event
		e.Type = ""
	}
	if e.Status != 0 {
		e.Kind = statusKind(e, e.Status, c)
		return e
	}
	e.Kind = *cmp.Or(named(e, 0, c), &call.KindFailed)
	return e
}

// plainHTTP is how the servers of Go, nginx and Apache refuse http on a TLS port.
var plainHTTP = text.Regexp(`(?i)http (request (was sent )?)?to (an )?(https|ssl)`)

// statusError reads an HTTP response that is not a success.
func statusError(resp *http.Response, c *call.Call) *call.Error {
	var data []byte
	if resp.StatusCode >= 400 { // after 101 the body is another protocol, which no context ends
		body, encoded := decoded(resp)
		if encoded != nil {
			body = bufio.NewReader(strings.NewReader(encoded.Message))
		}
		// After a read error the part that was read still says something.
		data, _ = io.ReadAll(io.LimitReader(body, maxErrorBody))
	}

	e := apiError(data, statusMessage(resp.StatusCode, data))
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	e.RetryAfter = max(e.RetryAfter, afterHeader(resp.Header))
	e.Kind = statusKind(e, e.Status, c)
	setWait(e, resp.Header, c)

	// 408 and 409 may say that the request has been taken.
	busy := e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
	e.Final = busy && resp.Header.Get("X-Should-Retry") == "false"

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
	if e.Status == http.StatusProxyAuthRequired { // a plain request, which needs no tunnel
		proxy, _ := http.ProxyFromEnvironment(resp.Request)
		sent := proxy != nil && proxy.User != nil
		e.Err = errors.Join(e.Err, proxyError(resp.Header, sent))
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

// maxNested bounds the errors in errors: of a gateway, of its provider, and in the message of that.
const maxNested = 4

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible servers and gateways
// send instead (a string, a list, a bare message or detail). message is for a body that says
// nothing. The Status is a code that is one, or 0.
func apiError(data []byte, message string) *call.Error {
	e := &call.Error{Message: message, Body: string(data)}
	readAPIError(e, data, maxNested)
	return e
}

// readAPIError sets what an error body says, and reports whether it is one. The error of a gateway
// may hold that of its provider, which is the one that people have to know.
func readAPIError(e *call.Error, data []byte, depth int) bool {
	if depth == 0 || !json.Valid(data) { // gjson.Valid recurses, so deep nesting would end the process
		return false
	}

	doc := gjson.ParseBytes(data)
	switch {
	case doc.Type == gjson.String: // JSON in JSON
		return readAPIError(e, []byte(doc.Str), depth-1)
	case doc.IsArray(): // Gemini
		doc = doc.Get("0")
	}
	fields := doc.Get("error")
	for _, list := range []string{"error.0", "errors.0"} { // Cloudflare
		if !fields.IsObject() {
			fields = doc.Get(list)
		}
	}
	bare := "" // an error that is a string: a message, and maybe a code
	if !fields.IsObject() {
		set(&bare, fields, "@this")
		set(&bare, doc, "error")
		fields = doc
		isError := bare != "" || doc.Get("message").Type == gjson.String || doc.Get("detail").Exists()
		if !isError && depth < maxNested {
			return false
		}
	}

	set(&e.Type, fields, "type")
	set(&e.Param, fields, "param")
	if isName(bare) {
		e.Code = bare
	}
	set(&e.Code, fields, "code")
	status, _ := strconv.Atoi(e.Code)
	if status >= 400 && status < 600 {
		e.Status = status
	}
	set(&e.Message, doc, "detail")
	e.Message = cmp.Or(bare, e.Message)
	set(&e.Message, fields, "message")
	delay := ""
	set(&delay, fields, "details.#.retryDelay|0") // Gemini
	e.RetryAfter = max(e.RetryAfter, waitIn("wait "+delay))

	readInner(e, fields.Get("metadata.raw"), depth-1)
	return true
}

// set replaces a text by a value, if there is one.
func set(to *string, of gjson.Result, path string) {
	value := of.Get(path).String()
	if value != "" {
		*to = value
	}
}

// readInner sets what the error in an error says: raw of OpenRouter, which is JSON or words, or a
// message that is JSON.
func readInner(e *call.Error, raw gjson.Result, depth int) {
	for _, inner := range []string{raw.String(), e.Message} {
		inner = strings.TrimSpace(inner)
		isJSON := strings.HasPrefix(inner, "{") || strings.HasPrefix(inner, `"{`)
		if isJSON && len(inner) <= maxErrorText && readAPIError(e, []byte(inner), depth) {
			e.Once = true
			return
		}
	}

	words := strings.TrimSpace(raw.Str)
	isText := words != "" && !strings.ContainsAny(words[:1], "<{[\"")
	if isText && len(words) <= maxErrorText {
		e.Message = words
		e.Once = true
	}
}

// readError is the error of an HTTP response that was not read to its end, or whose body is not
// what it should be.
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
	if e.Kind == call.KindRateLimit || e.Status == http.StatusPaymentRequired {
		// A stream that is refused has the headers of the refusal.
		e.RetryAfter = max(e.RetryAfter, afterHeader(resp.Header))
		setWait(&e, resp.Header, c)
	}
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
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

// afterHeader returns the longest time to wait that the headers name.
func afterHeader(h http.Header) time.Duration {
	after := h.Get("Retry-After")
	date, _ := http.ParseTime(after) // else the zero time
	return max(
		time.Until(date),
		headerWait(after, time.Second),
		headerWait(h.Get("Retry-After-Ms"), time.Millisecond),
		headerWait(h.Get("X-Ms-Retry-After-Ms"), time.Millisecond))
}

// saidWait returns the time to wait that the message names. Words of the question, which a server
// may repeat, do not count.
func saidWait(e *call.Error, c *call.Call) time.Duration {
	words := waitWords().FindString(e.Message[:min(len(e.Message), maxErrorText)])
	if strings.Contains(fmt.Sprintf("%s", c.Input), words) {
		return 0
	}
	return waitIn(words)
}

// setWait adds to how long the API asks to wait what the message of a rate limit says, or that of a
// 402. A rate limit may also say when the limit is whole again, which no call has to wait for.
func setWait(e *call.Error, h http.Header, c *call.Call) {
	payment := e.Kind == call.KindQuota && e.Status == http.StatusPaymentRequired
	if e.Kind != call.KindRateLimit && !payment {
		return
	}

	e.RetryAfter = max(e.RetryAfter, saidWait(e, c))
	if payment {
		e.Once = e.Once || e.RetryAfter > 0
		return
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

// headerWait returns the time that a header names, at most longest: a number of units, or a time
// with a unit of its own (3s). The result is 0 for other values.
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

// waitIn returns the time that the first 200 bytes of words name, at most longest. The result is 0
// for other words.
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
