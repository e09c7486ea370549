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
	what      string        // a key of turns, apiErrors or faults, or "asked"
	value     string        // of what
	delay     time.Duration // before anything is sent
	slow      time.Duration // between the events of a stream
	stop      string        // the fault that ends a stream early, or ""
	stopAfter int           // events
	refuses   []string      // parameters that are refused
	refusal   string        // with this error
	status    string        // incomplete or failed; "" for completed
	failure   string        // the error that ends a stream without a response, or ""
	response  []byte        // the finished response, instead of what the model says
}

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
//	hang, cut, truncated, garbage, redirect=URL   other faults
//	delay=2s, slow=100ms                  before the answer, between events
//	cut-after=N, hang-after=N             where a stream stops
func (s *Server) Script(steps ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	always := false
	for _, word := range steps {
		if word == "always" {
			always = true
			continue
		}
		st, err := parse(word)
		if err != nil {
			return fmt.Errorf("parsing step %q: %w", word, err)
		}
		if always {
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
			st.refuses, st.refusal = append(st.refuses, value), "unsupported"
		case "unverified":
			st.refuses, st.refusal = []string{"stream", "reasoning.summary"}, name
		case "incomplete", "failed":
			st.status = name
		case "error":
			st.failure = cmp.Or(value, "500")
		case "file":
			st.response, err = os.ReadFile(value)
		default:
			st.what, st.value = name, value
			if _, isError := apiErrors[name]; !isError && faults[name] == nil && turns[name] == nil && name != "asked" {
				err = fmt.Errorf("unknown word %q", name)
			}
		}
		if err != nil {
			return step{}, err
		}
	}
	return st, nil
}

// faults are the answers that are not those of the API.
var faults = map[string]func(x *exchange, value string){
	"hang": func(x *exchange, _ string) { <-x.r.Context().Done() },
	"cut":  func(*exchange, string) { panic(http.ErrAbortHandler) }, // net/http closes the connection.
	"truncated": func(x *exchange, _ string) {
		x.w.Header().Set("Content-Length", "1000")
		x.send(http.StatusOK, "application/json", []byte(`{"id":"resp_truncated","object":"response","output":[`))
	},
	"redirect": func(x *exchange, url string) {
		x.w.Header().Set("Location", url)
		x.send(http.StatusTemporaryRedirect, "text/plain", nil)
	},
	"garbage": func(x *exchange, _ string) { // the page of a captive portal
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

const invalid = "invalid_request_error"

// apiErrors are worded as by the API, because they reach the user. %s is a parameter.
var apiErrors = map[string]apiError{
	"400": {400, "Invalid request.", invalid, "", ""},
	"401": {401, "Incorrect API key provided: sk-offli****line. You can find your API key at " +
		"https://platform.openai.com/account/api-keys.", invalid, "", "invalid_api_key"},
	"404": {404, "The model `gpt-5.2` does not exist or you do not have access to it.", invalid, "model", "model_not_found"},
	"429": {429, "Rate limit reached for gpt-5.2 in organization org-offline on requests per min (RPM): Limit 3, Used 3, " +
		"Requested 1. Please try again in 20ms.", "requests", "", "rate_limit_exceeded"},
	"quota": {429, "You exceeded your current quota, please check your plan and billing details.",
		"insufficient_quota", "", "insufficient_quota"},
	"500": {500, "An error occurred while processing your request. You can retry your request, or contact us through " +
		"our help center at help.openai.com if the error persists.", "server_error", "", "server_error"},
	"503":         {503, "The server is overloaded or not ready yet.", "server_error", "", "server_error"},
	"unsupported": {400, "Unsupported parameter: '%s' is not supported with this model.", invalid, "", "unsupported_parameter"},
	"unverified": {400, "Your organization must be verified to use '%s'. Please go to: " +
		"https://platform.openai.com/settings/organization/general and click on Verify Organization.",
		invalid, "", "unsupported_value"},
}
