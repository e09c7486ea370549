package llm

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"errors"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// statusError reads an HTTP error answer. body is already free of the key.
func statusError(resp *http.Response, body string) *Error {
	e := apiError(body)
	e.Status = resp.StatusCode
	e.RequestID = requestID(resp)
	e.RetryAfter = retryAfter(resp.Header, time.Now())
	e.Kind = kindOf(e.Status, e.Type, e.Code)
	e.body = clip(body, 300)
	if e.Message == "" {
		e.Message = plainMessage(e.Status, body)
	}
	return e
}

// plainMessage is the message of an error answer that is no JSON: a line of
// text that a proxy wrote, or the name of the status above a page of HTML.
func plainMessage(status int, body string) string {
	name := http.StatusText(status)
	if name == "" {
		name = "HTTP " + strconv.Itoa(status)
	}
	const plain = "The plain HTTP request was sent to HTTPS port" // in nginx's page
	if status == http.StatusBadRequest && strings.Contains(body, plain) {
		return name + ": " + plain
	}
	line, _, _ := strings.Cut(strings.TrimSpace(body), "\n")
	if line == "" || strings.ContainsAny(line[:1], "<{[") {
		return name
	}
	return name + ": " + clip(line, 200)
}

// apiError reads an error body: OpenAI's {"error":{...}}, or what compatible
// servers and gateways send instead (an array around it, a string, a bare
// message or detail). Of a body that is no JSON the status tells more.
func apiError(body string) *Error {
	data := json.RawMessage(strings.TrimSpace(body))
	if list := parseList(data); len(list) > 0 {
		data = list[0]
	}
	o := parseObject(data)
	if inner := o.object("error"); inner != nil {
		return errorFields(inner)
	}
	e := errorFields(o)
	for _, key := range []string{"error", "detail"} {
		if e.Message == "" {
			e.Message = o.text(key)
		}
	}
	return e
}

// errorFields reads an error object, of an error body or a failed response.
func errorFields(o object) *Error {
	return &Error{Type: o.text("type"), Code: o.text("code"), Param: o.text("param"), Message: o.text("message")}
}

// kindOf classifies an HTTP error answer. Quota comes first: the API sends it
// as 429, others as 400, 402 or 403, and none of them passes by waiting.
func kindOf(status int, typ, code string) Kind {
	switch {
	case isQuota(code) || isQuota(typ) || status == http.StatusPaymentRequired:
		return KindQuota
	case status == http.StatusUnauthorized:
		return KindAuth
	case status == http.StatusForbidden:
		return KindPermission
	case status == http.StatusNotFound:
		return KindNotFound
	case status == http.StatusTooManyRequests:
		return KindRateLimit
	case status >= 500:
		return KindServer
	case code == "model_not_found":
		return KindNotFound
	}
	return KindParameter
}

// failureKind classifies the error of a response that was accepted and then
// failed: it has a code but no status of its own. Some gateways put an HTTP
// status into the code.
func failureKind(typ, code string) Kind {
	if status, err := strconv.Atoi(code); err == nil && status >= 400 && status < 600 {
		return kindOf(status, typ, "")
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

// retryAfter reads how long the server wants to be left alone: milliseconds,
// seconds or a date. 0 means that it did not say.
//
// A date is counted from the server's own clock, where it tells it: ours may be
// wrong by hours, and now is for the rest.
func retryAfter(h http.Header, now time.Time) time.Duration {
	if d := scaled(h.Get("Retry-After-Ms"), time.Millisecond); d > 0 {
		return d
	}
	text := strings.TrimSpace(h.Get("Retry-After"))
	if t, err := http.ParseTime(text); err == nil {
		if date, err := http.ParseTime(h.Get("Date")); err == nil {
			now = date
		}
		return max(t.Sub(now), 0)
	}
	return scaled(text, time.Second)
}

// scaled reads a number of units. What is beyond time.Duration is the longest
// one, which fits no deadline.
func scaled(text string, unit time.Duration) time.Duration {
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if math.IsNaN(f) || f <= 0 || err != nil && !errors.Is(err, strconv.ErrRange) {
		return 0
	}
	if f *= float64(unit); f >= math.MaxInt64 {
		return math.MaxInt64
	}
	return time.Duration(f)
}

// connectionError is the error of a request that got no answer. A certificate
// or a scheme is as wrong the next time; the rest may pass.
func connectionError(err error) *Error {
	if e, ok := errors.AsType[*Error](err); ok {
		return e
	}
	if u, ok := errors.AsType[*url.Error](err); ok {
		err = u.Err // the address is known, and may hold what should not be shown
	}
	const noise = "net/http: HTTP/1.x transport connection broken: "
	e := &Error{Kind: KindConnection, Message: strings.TrimPrefix(err.Error(), noise), Err: err}
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		e.Message = "the server closed the connection without an answer"
	}
	if bad := badAnswer(e.Message); bad != "" {
		e.Kind, e.Message = KindBadResponse, bad
	}
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	_, noTLS := errors.AsType[tls.RecordHeaderError](err)
	tunnel, refused := errors.AsType[TunnelError](err)
	e.final = untrusted || noTLS || refused && tunnel < 500
	return e
}

// badAnswer reads what net/http says of the bytes in place of an answer, which
// has no type; "" when it says something else.
func badAnswer(words string) string {
	if strings.Contains(words, "response headers exceeded") || strings.Contains(words, "header list") {
		return "the headers of the answer are larger than 1 MiB"
	}
	if strings.Contains(words, "parse Location header") { // which may hold a password
		return "the API redirects to what is no address"
	}
	if _, said, ok := strings.Cut(words, "malformed HTTP "); ok {
		return "the answer is not HTTP: malformed " + clip(said, 100)
	}
	return ""
}

// notResponse describes a body that should have been a response.
func notResponse(data []byte, h http.Header) string {
	contentType := h.Get("Content-Type")
	start := clip(string(bytes.TrimSpace(data)), 60)
	if start == "" {
		return "the answer is empty"
	}
	if contentType == "" {
		contentType = "no content type"
	}
	if coding := h.Get("Content-Encoding"); coding != "" {
		contentType += ", compressed by " + clip(coding, 20)
	}
	return "the answer is not a response object (" + contentType + "): " + strconv.Quote(start)
}
