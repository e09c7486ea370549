package call

import (
	"context"
	"errors"
	"fmt"
)

// Kind says what went wrong with a call, as far as the hint to the user depends on it. A kind has
// words, the name of the class that OpenAI's SDKs have for it, a label for metrics and logs, and
// what is done about its errors.
type Kind struct {
	words, sdkClass, label string
	handling               handling
}

// handling is what is done about the errors of a kind besides reporting them to the caller.
type handling int

const (
	temporary   handling = 1 << iota // the same request is made again
	forOperator                      // the log has a hint, because the operator can fix it
	refusesKey                       // after three in a row, calls fail without a request (llm)
	beforeWork                       // the request costs nothing unless its response has an item
	alwaysJSON                       // the API sends JSON; a web page is a KindBadResponse
	hidden                           // ask --events has words of this program, not the message

	reportOnly handling = 0 // nothing else
)

// The kinds of errors.
var (
	// KindMissingKey: there is no API key, so nothing was sent.
	KindMissingKey = newKind("missing key", "OpenAIError", "missing_key", forOperator)

	// KindAuth: 401.
	KindAuth = newKind("not authenticated", "AuthenticationError", "auth", forOperator|refusesKey|beforeWork|hidden)

	// KindPermission: 403.
	KindPermission = newKind("not permitted", "PermissionDeniedError", "permission", forOperator|alwaysJSON)

	// KindBlocked: the API has blocked the person by their safety_identifier.
	KindBlocked = newKind("blocked", "PermissionDeniedError", "blocked", forOperator)

	// KindNotFound: 501, or a 404 that is not about the model.
	KindNotFound = newKind("not found", "NotFoundError", "not_found", forOperator|alwaysJSON)

	// KindAPIQuota: credit or budget is used up.
	KindAPIQuota = newKind("out of quota", "RateLimitError", "quota", forOperator|refusesKey|beforeWork)

	// KindRateLimit: a temporary 429.
	KindRateLimit = newKind("rate limited", "RateLimitError", "rate_limit", temporary|beforeWork)

	// KindBadRequest: 400, 422 and other 4xx.
	KindBadRequest = newKind("request refused", "BadRequestError", "parameter", forOperator|alwaysJSON)

	// KindServer: 408, 409, 5xx except 501, or a response that failed with a server error.
	KindServer = newKind("server error", "InternalServerError", "server", temporary)

	// KindTimeout: the deadline of the context passed.
	KindTimeout = newKind("timed out", "APIConnectionTimeoutError", "timeout", hidden)

	// KindCanceled: the context was canceled, or the API says that the response was.
	KindCanceled = newKind("canceled", "APIUserAbortError", "canceled", hidden)

	// KindConnection: DNS, a refused or broken connection, TLS, a proxy.
	KindConnection = newKind("connection failed", "APIConnectionError", "connection", temporary|forOperator|hidden)

	// KindBadResponse: a web page, a redirect, a response without output.
	KindBadResponse = newKind("not a response", "APIResponseValidationError", "bad_response", forOperator)

	// KindFailed: the response is too large, or failed without a code or words that name a kind.
	KindFailed = newKind("response failed", "APIError", "failed", reportOnly)

	// KindModel: the model is unknown, or not for this key.
	KindModel = newKind("model not available", "NotFoundError", "model", forOperator)

	// KindUnverified: the organization is not verified for this model.
	KindUnverified = newKind("organization not verified", "PermissionDeniedError", "unverified", forOperator)

	// KindFiltered: the API does not answer this question.
	KindFiltered = newKind("question refused", "BadRequestError", "filtered", reportOnly)

	// KindTooLong: the question, with what the model reads for it, is too long.
	KindTooLong = newKind("question too long", "BadRequestError", "too_long", reportOnly)

	// KindNoText: the response has no text, so there is no answer.
	KindNoText = newKind("no text", "", "no_text", forOperator)

	// KindShutdown: the process ends, and does not wait for the answer.
	KindShutdown = newKind("shut down", "APIUserAbortError", "shutdown", reportOnly)

	// KindArguments: the question is invalid and was not asked.
	KindArguments = newKind("invalid arguments", "", "arguments", reportOnly)

	// KindLimited: a quota of the person or of all people is used up, and the question was not
	// asked.
	KindLimited = newKind("limited", "", "limited", reportOnly)

	// KindInternal: a bug, or an error that names no kind.
	KindInternal = newKind("error", "", "internal", reportOnly)
)

// String returns the kind in words, such as rate limited.
func (k Kind) String() string { return k.words }

// Label returns the kind for metrics and logs, such as rate_limit.
func (k Kind) Label() string { return k.label }

// IsTemporary reports whether the request may succeed if it is made again.
func (k Kind) IsTemporary() bool { return k.handling&temporary != 0 }

// IsForOperator reports whether the operator of the server can fix the error.
func (k Kind) IsForOperator() bool { return k.handling&forOperator != 0 }

// RefusesKey reports whether the API refuses the key or its quota.
func (k Kind) RefusesKey() bool { return k.handling&refusesKey != 0 }

// IsBeforeWork reports whether the API refuses a request before any work, so that it costs nothing
// unless the response has an item.
func (k Kind) IsBeforeWork() bool { return k.handling&beforeWork != 0 }

// IsAlwaysJSON reports whether the API sends errors of the kind as JSON. A web page with their
// status is of a proxy or a firewall.
func (k Kind) IsAlwaysJSON() bool { return k.handling&alwaysJSON != 0 }

// HidesMessage reports whether the message of an error may repeat a part of the key, or is not of
// the API.
func (k Kind) HidesMessage() bool { return k.handling&hidden != 0 }

// kinds are all kinds, which newKind adds.
var kinds []Kind

func newKind(words, sdkClass, label string, h handling) Kind {
	k := Kind{words, sdkClass, label, h}
	kinds = append(kinds, k)
	return k
}

// Kinds returns all kinds.
func Kinds() []Kind { return kinds }

// KindOf returns the kind of an error:
//
//   - that of the first error in its chain with a method ErrorKind
//   - KindTimeout or KindCanceled for the error of a context
//   - KindInternal for any other error, and for nil
func KindOf(err error) Kind {
	withKind, ok := errors.AsType[interface {
		error
		ErrorKind() Kind
	}](err)

	switch {
	case ok:
		return withKind.ErrorKind()
	case errors.Is(err, context.DeadlineExceeded):
		return KindTimeout
	case errors.Is(err, context.Canceled):
		return KindCanceled
	}
	return KindInternal
}

// Errorf is fmt.Errorf for an error of this kind. The error is not an *APIError: it is not about a
// request to the API.
func (k Kind) Errorf(format string, args ...any) error {
	return kindError{fmt.Errorf(format, args...), k}
}

type kindError struct {
	error
	kind Kind
}

func (e kindError) ErrorKind() Kind { return e.kind }
