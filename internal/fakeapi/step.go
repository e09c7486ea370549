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

// Step is the behaviour of one request. With the zero value the server answers
// as a model would. [ParseStep] makes others.
type Step struct {
	asked     bool                    // the first word of the question is the step
	delay     time.Duration           // before anything is sent
	slow      time.Duration           // between the events of a stream
	stop      func(*exchange)         // how a stream ends early, nil when it does not
	stopAfter int                     // events
	refuses   []string                // parameters that are refused
	refusal   func(string) apiError   // with this error
	send      func(*exchange)         // replaces the whole answer
	say       func(*request) []object // the output items; nil: as a model would
	status    string                  // incomplete, failed, or error: a stream without a response; "" for completed
	code      string                  // of the error event
	response  []byte                  // the finished response, instead of what the model says
}

// ParseStep reads a step from a word. Parts that are joined by "+" apply together.
//
//	ok, search, weather, uncited, phases, refusal, empty   what the model says
//	asked                                                  what the first word of the question says
//	file=PATH                                              a finished response in JSON
//	incomplete, failed                                     the status of the response
//	error[:CODE]                                           a stream ends with an error event
//	quota, 400, 401, 404, 500 ... 599                      errors
//	429[:retry-after=1|:retry-after-ms=20]                 the latter without an argument
//	refuses=PARAM, unverified                              400 if the request has the parameter
//	hang, cut, truncated, redirect=URL                     other faults
//	garbage                                                a 200 with a page
//	delay=2s, slow=100ms                                   before the answer, between events
//	cut-after=N, hang-after=N                              where a stream stops
func ParseStep(word string) (Step, error) {
	var st Step
	for part := range strings.SplitSeq(word, "+") {
		if err := st.apply(part); err != nil {
			return Step{}, fmt.Errorf("parsing step %q: %w", word, err)
		}
	}
	return st, nil
}

// apply adds one part of a word: name, name=value or name:arguments.
func (st *Step) apply(part string) (err error) {
	i := strings.IndexAny(part+"=", "=:")
	name, value := part[:i], part[min(i+1, len(part)):]
	switch name {
	case "":
	case "asked":
		st.asked = true
	case "delay":
		st.delay, err = time.ParseDuration(value)
	case "slow":
		st.slow, err = time.ParseDuration(value)
	case "cut-after":
		st.stop = (*exchange).cut
		st.stopAfter, err = strconv.Atoi(value)
	case "hang-after":
		st.stop = (*exchange).hang
		st.stopAfter, err = strconv.Atoi(value)
	case "refuses":
		st.refuses, st.refusal = append(st.refuses, value), unsupported
	case "unverified":
		st.refuses, st.refusal = []string{"stream", "reasoning.summary"}, unverified
	case "incomplete", "failed", "error":
		st.status, st.code = name, value
	case "quota":
		st.send = func(x *exchange) { x.fail(failure("insufficient_quota")) }
	case "hang":
		st.send = (*exchange).hang
	case "cut":
		st.send = (*exchange).cut
	case "truncated":
		st.send = func(x *exchange) {
			x.w.Header().Set("Content-Length", "1000")
			x.write([]byte(`{"id":"resp_truncated","object":"response","status":"completed","output":[`))
			x.cut()
		}
	case "redirect":
		st.send = func(x *exchange) {
			x.w.Header().Set("Location", value)
			x.body(http.StatusTemporaryRedirect, "text/plain", nil)
		}
	case "garbage":
		st.send = func(x *exchange) { x.body(http.StatusOK, "text/html; charset=utf-8", []byte(page)) }
	case "file":
		st.response, err = os.ReadFile(value)
	default:
		if status, _ := strconv.Atoi(name); status >= 400 && status <= 599 {
			st.send = func(x *exchange) { x.refuse(status, value) }
		} else if st.say = says[name]; st.say == nil {
			return fmt.Errorf("unknown word %q", name)
		}
	}
	return err
}

// page is that of a captive portal.
const page = "<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>\n"

// refuse sends the error of an HTTP status, 429 with a header such as "retry-after=1".
func (x *exchange) refuse(status int, header string) {
	if status == http.StatusTooManyRequests {
		name, value, _ := strings.Cut(cmp.Or(header, "retry-after-ms=20"), "=")
		x.w.Header().Set(name, value)
	}
	x.fail(x.refused(status))
}
