package fakeapi

import (
	"cmp"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"
)

// step is the behaviour of one request. With the zero value the server answers as a model would.
type step struct {
	// behavior is a key of turns, apiErrors or faults, or asked. If it is "", the model decides.
	behavior string
	value    string        // of the behavior
	delay    time.Duration // before anything is sent

	// How a stream goes on.
	slow      time.Duration // between events
	stop      string        // the fault that ends it early, or ""
	stopAfter int           // events
	failure   string        // the error that ends it without a response, or ""

	// What the response is.
	refuses  []string // parameters that are refused
	refusal  string   // with this error
	blames   string   // the parameter that the error names; "": the refused one
	status   string   // incomplete or failed; "" for completed
	response []byte   // the finished response, instead of what the model says

	background string // ignores-background or echoes-background, or ""
	get        string // what GETs of the response get: gone, too-old, poll-429, or ""
}

// asked is the behavior that the first word of the question names.
const asked = "asked"

// Script adds steps for the next requests, one request each. The step after the word "always" is
// for all requests that find no other step. Parts of a step that are joined by "+" apply together.
//
//	ok, search, weather, uncited, phases, refusal, empty   what the model says
//	asked                                 what the first word of the question says
//	file=PATH                             a finished response in JSON
//	incomplete, failed                    the status of the response
//	400, 401, 404, 429, quota, 500, 503   errors; with =SECONDS they have Retry-After
//	error[=ERROR]                         a stream ends with an error event
//	refuses=PARAM, unverified             400 if the request has the parameter
//	refuses-background[=PARAM]            400 for background that names PARAM
//	ignores-background, echoes-background runs in the foreground; says otherwise
//	gone, too-old, poll-429               what GETs of a background response get: always 404,
//	                                      no stream, first 429
//	hang, cut, truncated, garbage, redirect=URL   other faults
//	delay=2s, slow=100ms                  before the answer, between events
//	cut-after=N, hang-after=N             where a stream stops
func (s *Server) Script(steps ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	isForAll := false
	for _, word := range steps {
		if word == "always" {
			isForAll = true
			continue
		}

		st, err := parse(word)
		if err != nil {
			return fmt.Errorf("parsing step %q: %w", word, err)
		}
		if isForAll {
			s.always = st
		} else {
			s.queue = append(s.queue, st)
		}
	}
	return nil
}

// parse reads a step, whose parts are name or name=value.
func parse(word string) (st step, err error) {
	for part := range strings.SplitSeq(word, "+") {
		name, value, _ := strings.Cut(part, "=")
		switch name {
		case "delay":
			st.delay, err = time.ParseDuration(value)
		case "slow":
			st.slow, err = time.ParseDuration(value)
		case "cut-after", "hang-after":
			st.stop = strings.TrimSuffix(name, "-after")
			st.stopAfter, err = strconv.Atoi(value)
		case "refuses":
			st.refuses = append(st.refuses, value)
			st.refusal = "unsupported"
		case "refuses-background":
			st.refuses = []string{"background"}
			st.refusal = "unsupported"
			st.blames = value
		case "ignores-background", "echoes-background":
			st.background = name
		case "gone", "too-old", "poll-429":
			st.get = name
		case "unverified":
			st.refuses = []string{"stream", "reasoning.summary"}
			st.refusal = name
		case "incomplete", "failed":
			st.status = name
		case "error":
			st.failure = cmp.Or(value, "500")
		case "file":
			st.response, err = os.ReadFile(value)
		default:
			st.behavior = name
			st.value = value
			err = checkBehavior(name)
		}
		if err != nil {
			return step{}, err
		}
	}
	return st, nil
}

func checkBehavior(name string) error {
	_, isError := apiErrors[name]
	isFault := faults[name] != nil
	isTurn := turns[name] != nil
	if isError || isFault || isTurn || name == asked {
		return nil
	}
	return fmt.Errorf("unknown word %q", name)
}

// faults are the answers that are not those of the API. The value is that of the step.
var faults = map[string]func(x *exchange, value string){
	"hang": func(x *exchange, _ string) { <-x.r.Context().Done() },

	// net/http closes the connection.
	"cut": func(*exchange, string) { panic(http.ErrAbortHandler) },

	"truncated": func(x *exchange, _ string) {
		body := []byte(`{"id":"resp_truncated","object":"response","output":[`)
		x.w.Header().Set("Content-Length", "1000")
		x.send(http.StatusOK, "application/json", body)
	},
	"redirect": func(x *exchange, url string) {
		x.w.Header().Set("Location", url)
		x.send(http.StatusTemporaryRedirect, "text/plain", nil)
	},

	// The page of a captive portal.
	"garbage": func(x *exchange, _ string) {
		page := "<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>\n"
		x.send(http.StatusOK, "text/html; charset=utf-8", []byte(page))
	},
}

// apiError is the error object of a failed request and of an error event.
type apiError struct {
	status  int
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"` // the API sends null instead of nothing
	Code    string `json:"code,omitempty"`
}

// Types of errors.
const (
	invalidRequest = "invalid_request_error"
	serverError    = "server_error"
	quotaError     = "insufficient_quota"
)

// apiErrors are worded as by the API, because they reach the user. %s is a parameter.
var apiErrors = map[string]apiError{
	"400": {
		status:  http.StatusBadRequest,
		Message: "Invalid request.",
		Type:    invalidRequest,
	},
	"401": {
		status: http.StatusUnauthorized,
		Message: "Incorrect API key provided: sk-offli****line. " +
			"You can find your API key at https://platform.openai.com/account/api-keys.",
		Type: invalidRequest,
		Code: "invalid_api_key",
	},
	"404": {
		status:  http.StatusNotFound,
		Message: "The model `gpt-5.2` does not exist or you do not have access to it.",
		Type:    invalidRequest,
		Param:   "model",
		Code:    "model_not_found",
	},
	"429": {
		status: http.StatusTooManyRequests,
		Message: "Rate limit reached for gpt-5.2 in organization org-offline on requests per min " +
			"(RPM): Limit 3, Used 3, Requested 1. Please try again in 20ms.",
		Type: "requests",
		Code: "rate_limit_exceeded",
	},
	"quota": {
		status:  http.StatusTooManyRequests,
		Message: "You exceeded your current quota, please check your plan and billing details.",
		Type:    quotaError,
		Code:    quotaError,
	},
	"500": {
		status: http.StatusInternalServerError,
		Message: "An error occurred while processing your request. You can retry your request, " +
			"or contact us through our help center at help.openai.com if the error persists.",
		Type: serverError,
		Code: serverError,
	},
	"503": {
		status:  http.StatusServiceUnavailable,
		Message: "The server is overloaded or not ready yet.",
		Type:    serverError,
		Code:    serverError,
	},
	"too-old": {
		status: http.StatusBadRequest,
		Message: "This response can no longer be streamed " +
			"because it is more than 5 minutes old.",
		Type: invalidRequest,
	},
	"ended": {
		status:  http.StatusBadRequest,
		Message: "Cannot cancel a completed response.",
		Type:    invalidRequest,
	},
	"unsupported": {
		status:  http.StatusBadRequest,
		Message: "Unsupported parameter: '%s' is not supported with this model.",
		Type:    invalidRequest,
		Code:    "unsupported_parameter",
	},
	"unverified": {
		status: http.StatusBadRequest,
		Message: "Your organization must be verified to use '%s'. Please go to: " +
			"https://platform.openai.com/settings/organization/general " +
			"and click on Verify Organization.",
		Type: invalidRequest,
		Code: "unsupported_value",
	},
}
