// Package apierror reads the errors that end a request to the Responses API, those of OpenAI, of
// compatible servers and of gateways, and returns each as a call.APIError with its kind.
//
// Its functions get the input of the request as the argument question. A server may repeat the
// question in a message, and words of the question name neither a kind nor a wait.
//
//	apierror.go  the errors of an HTTP response, a connection and a context
//	body.go      how the JSON of an error is read
//	kinds.go     the codes, types and words that name a kind of error: a table
//	wait.go      the waits that headers and messages name
package apierror

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
	"slices"
	"strings"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/text"
)

// MaxText is how many bytes of a text of an error are read. Package llm reads more if nearly all of
// them are blanks.
const MaxText = 64 << 10

// BodyTooLarge is the message of the error about a body that is too large.
const BodyTooLarge = "the answer is larger than 16 MiB"

// FromStatus returns the error of an HTTP response whose status is not a 2xx. data is its body, or
// the part of it that was read.
func FromStatus(resp *http.Response, data []byte, question []json.RawMessage) *call.APIError {
	found := eventData().FindSubmatch(data)
	if found != nil {
		data = found[1]
	}
	e := apiError(data, statusMessage(resp.StatusCode, data))
	e.Status = resp.StatusCode
	e.RequestID = RequestID(resp)
	e.RetryAfter = max(e.RetryAfter, retryAfterHeaders(resp.Header))
	// The name follows the last blank or quote: effort in "Unsupported value: 'effort' does".
	named := strings.TrimSuffix(find(paramWords(), e, question), "' does")
	e.Param = cmp.Or(e.Param, named[strings.LastIndexAny(named, " '\"")+1:])
	e.Kind = classify(e, question)
	addWaits(e, resp.Header, question)

	// OpenAI's SDKs obey this header. Gateways send it where the API may have taken the request
	// (https://github.com/lidge-jun/opencodex). With a rate limit the API has taken nothing.
	e.NoRetry = e.Kind != call.KindRateLimit && resp.Header.Get("X-Should-Retry") == "false"

	location, err := resp.Location()
	switch {
	case err == nil && e.Status < 400:
		e.Message = "the API redirects to " + location.Scheme + "://" + location.Host
	case e.Status == http.StatusBadRequest && plainHTTP().Match(data):
		e.Message = call.ErrPlainHTTP.Error()
		e.Err = call.ErrPlainHTTP
	case bytes.HasPrefix(bytes.TrimSpace(data), []byte("<")):
		e.Err = call.ErrWebPage
		if e.Kind.IsAlwaysJSON() {
			e.Kind = call.KindBadResponse
		}
	}
	if e.Status == http.StatusProxyAuthRequired { // for plain HTTP; for TLS the transport does it
		proxy, _ := httpclient.Proxy(resp.Request)
		sentPassword := proxy != nil && proxy.User != nil
		e.Err = errors.Join(e.Err, httpclient.ProxyError(resp.Header, sentPassword))
	}
	return e
}

// eventData matches an event, and its data: MiMo answers a request for a stream with an error that
// is an event (https://github.com/decolua/9router/issues/1210).
var eventData = text.LazyRegexp(`^\s*(?:(?:id|event)?:.*\n)*data:(.*)`)

// plainHTTP matches how the servers of Go, nginx and Apache refuse http on a TLS port.
var plainHTTP = text.LazyRegexp(`(?i)http (request (was sent )?)?to (an )?(https|ssl)`)

// paramWords matches how servers name a parameter in a message:
//
//   - vLLM and SGLang (https://github.com/vllm-project/vllm/issues/46790)
//   - xAI (https://github.com/openclaw/openclaw/issues/12910,
//     https://github.com/yym68686/uni-api/issues/105, and "Model grok-build does not support
//     parameter reasoningEffort." in https://github.com/router-for-me/CLIProxyAPI/pull/3968)
//   - servers in Go, such as Databricks
//     (https://github.com/databricks/databricks-sdk-py/issues/1263)
//   - LiteLLM and Foundry (https://github.com/BerriAI/litellm/issues/13398,
//     https://github.com/vectorize-io/hindsight/issues/3518)
//
// "Unsupported value: 'low' is not supported" names a value
// (https://github.com/anomalyco/opencode/issues/1984).
var paramWords = text.LazyRegexp(`'loc': \('body', '\w+|` +
	`^Argument not supported(?: on this model)?: \w+$|^Model \S+ does not support parameter \w+|` +
	`json: unknown field "\w+|` +
	`Unsupported value: '[\w.[\]]+' does|` +
	`(?:Unsupported parameter|Unknown parameter|Unrecognized request argument supplied): '?[\w.[\]]*[\w\]]`)

// find returns the first words of the message that match, or "" if the words are in the question: a
// server may repeat the question.
func find(words *regexp.Regexp, e *call.APIError, question []json.RawMessage) string {
	found := words.FindString(e.Message[:min(len(e.Message), MaxText)])
	if found != "" && isIn(lowerText(question), found) {
		return ""
	}
	return found
}

// lowerText returns the JSON of the question in lower case, for isIn.
func lowerText(question []json.RawMessage) string {
	return strings.ToLower(fmt.Sprintf("%s", question))
}

// isIn reports whether words are in the question, as they are or as JSON has them: with \" for ".
func isIn(lowerQuestion, words string) bool {
	words = strings.ToLower(words)
	quoted, _ := json.Marshal(words) // a string is always valid
	return strings.Contains(lowerQuestion, words) ||
		strings.Contains(lowerQuestion, string(quoted[1:len(quoted)-1]))
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

// FromBody returns the error of an HTTP response that was not read to its end, or whose body is no
// answer. err is the error of reading it.
func FromBody(resp *http.Response, err error, question []json.RawMessage) *call.APIError {
	cause, _ := errors.AsType[*call.APIError](err)
	_, ok := errors.AsType[*http.MaxBytesError](err)
	if ok {
		cause = call.TooLargeError(BodyTooLarge)
	}

	e := *cmp.Or(cause, &call.APIError{
		Kind:    call.KindConnection,
		Message: "the answer was cut off: " + connectionMessage(err),
		Err:     err,
	})
	if e.Kind == call.KindRateLimit || e.Status == http.StatusPaymentRequired { // a 402 that the body names
		// If a stream brings the refusal, the headers of resp may still name a wait.
		e.RetryAfter = max(e.RetryAfter, retryAfterHeaders(resp.Header))
		addWaits(&e, resp.Header, question)
	}
	e.Status = resp.StatusCode
	e.RequestID = RequestID(resp)
	return &e
}

// FromResponse returns the error of a response or stream that began with a 2xx and then failed. Its
// Status is 0, or a status that the error names (setStatus), as OpenRouter sends one as the code.
// FromBody replaces it with the status of the HTTP response. message is used if the API does not
// say why the response failed.
func FromResponse(data []byte, message string, question []json.RawMessage) *call.APIError {
	e := apiError(data, message)
	if e.Type == "error" { // the type of the event, not of the error
		e.Type = ""
	}
	e.Kind = classify(e, question)
	return e
}

// classify returns the kind that e names, else that of its status. The API sends an exhausted quota
// as 429, other servers as 400, 402 or 403. classify also sets e.MaybeThisCall (applyRules).
func classify(e *call.APIError, question []json.RawMessage) call.Kind {
	if e.Status > 0 && e.Status < 400 {
		return call.KindBadResponse
	}
	return cmp.Or(applyRules(e, question), call.StatusKind(e.Status))
}

// FromConnection returns the error of a request without an HTTP response.
func FromConnection(err error) *call.APIError {
	urlErr, ok := errors.AsType[*url.Error](err)
	if ok {
		err = urlErr.Err // without the URL, which may contain a password
	}

	message := connectionMessage(err)
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

// connectionMessage returns the message of err. If package llm has given up a silent connection, err
// is context.Canceled, which says nothing; the end of a call is the error of FromContext.
func connectionMessage(err error) string {
	if errors.Is(err, context.Canceled) {
		return "the server sent nothing for too long"
	}
	return err.Error()
}

// isPermanent reports whether a connection will fail again: a certificate, a scheme, a TLS version
// or a proxy's refusal does not change by itself. Other errors may be temporary.
func isPermanent(err error) bool {
	_, untrusted := errors.AsType[*tls.CertificateVerificationError](err)
	plain := errors.Is(err, http.ErrSchemeMismatch)

	op, ok := errors.AsType[*net.OpError](err)
	alert := ok && op.Op == "remote error" // a TLS alert, for example about the version
	alert = alert && !slices.Contains(temporaryAlerts, op.Err.Error())

	status, ok := errors.AsType[call.TunnelError](err)
	refused := ok && status < 500 // the proxy refuses to connect
	return untrusted || plain || alert || refused
}

// temporaryAlerts are the TLS alerts after which a new connection may succeed: a record was damaged
// on its way (https://github.com/1jehuang/jcode/issues/346), or the server has a fault
// (https://github.com/FootprintAI/Containarium/issues/416).
var temporaryAlerts = []string{"tls: bad record MAC", "tls: internal error"}

// FromContext returns the error of a call whose ctx has ended. err is the error that the call got.
// The kind is that of the cause of ctx: a timeout, a cancellation or another one. In the result,
// errors.Is finds the error of ctx and its cause, and errors.As a QueuedError or a RootsError of
// err.
func FromContext(ctx context.Context, err error) *call.APIError {
	e := &call.APIError{
		Message: "the call was canceled",
		Err:     call.EndOf(ctx),
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

// MayBeInProgress reports whether the status of an error, 408 or 409, may mean that the API works
// on the request already.
func MayBeInProgress(e *call.APIError) bool {
	return e.Status == http.StatusRequestTimeout || e.Status == http.StatusConflict
}

// RequestID returns the id of a request that the support of the API asks for, or "". Errors of
// Azure have an id of their own (https://learn.microsoft.com/en-gb/answers/questions/2264921).
func RequestID(resp *http.Response) string {
	return cmp.Or(resp.Header.Get("X-Request-Id"), resp.Header.Get("Apim-Request-Id"))
}
