package fakeapi

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// Step is the behaviour of one request. With the zero value the server answers
// as a model would. [ParseStep] makes others.
type Step struct {
	delay     time.Duration           // before anything is sent
	slow      time.Duration           // between the events of a stream
	stop      string                  // how a stream ends early: cut or hang; "" when it does not
	stopAfter int                     // events
	refuses   []string                // parameters that are refused with a 400
	send      func(*exchange)         // replaces the whole answer
	say       func(*request) []object // the output items
	status    string                  // incomplete, failed, or error: a stream without a response; "" for completed
	reason    string                  // of an incomplete response, or the code of a failed one
	replay    []recording             // turns, one a request
}

// ParseStep reads a step from a word. Parts that are joined by "+" apply
// together; text=, redirect= and file= take the rest of the word.
//
//	ok, search, weather, uncited, phases, refusal, empty   what the model says
//	text=TEXT                                              the answer, without a search
//	incomplete[:REASON|:empty], failed[:CODE]              the status of the response
//	error[:CODE]                                           a stream ends with an error event
//	400, 401, 403, 404, quota, 500 ... 599                 errors
//	429[:retry-after=1|:retry-after-ms=20|:none]           both headers without an argument
//	refuses=PARAM, refuses=include:ELEMENT, unverified     400 if the request has the parameter
//	hang, cut, truncated, redirect=URL                     other faults
//	garbage[:json|:empty]                                  a 200 that is not a response
//	delay=2s, slow=100ms                                   before the answer, between events
//	cut-after=N, hang-after=N                              where a stream stops
//	file=PATH                                              a .json answer, or a stream (.chunks.txt)
func ParseStep(word string) (Step, error) {
	var st Step
	for rest := word; rest != ""; {
		var part string
		part, rest, _ = strings.Cut(rest, "+")
		name, _, _ := strings.Cut(part, "=")
		if rest != "" && (name == "file" || name == "text" || name == "redirect") {
			part, rest = part+"+"+rest, ""
		}
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
	if status, err := strconv.Atoi(name); err == nil {
		return st.error(status, value)
	}
	switch name {
	case "":
	case "delay":
		st.delay, err = time.ParseDuration(value)
	case "slow":
		st.slow, err = time.ParseDuration(value)
	case "cut-after", "hang-after":
		st.stop = strings.TrimSuffix(name, "-after")
		st.stopAfter, err = strconv.Atoi(value)
	case "refuses":
		st.refuses = append(st.refuses, value)
	case "unverified":
		st.refuses = append(st.refuses, "unverified:stream", "unverified:reasoning.summary")
	case "text":
		st.say = func(r *request) []object { return r.thought(message(r, value)) }
	case "incomplete":
		if st.status = name; value == "empty" {
			st.say, value = says["empty"], ""
		}
		st.reason = cmp.Or(value, "max_output_tokens")
	case "failed", "error":
		st.status, st.reason = name, cmp.Or(value, "server_error")
	case "quota":
		st.send = func(x *exchange) { x.fail(failure(0, "insufficient_quota")) }
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
		body, ok := garbage[value]
		if !ok {
			return fmt.Errorf("unknown garbage %q", value)
		}
		st.send = func(x *exchange) { x.body(http.StatusOK, body[0], []byte(body[1])) }
	case "file":
		st.replay, err = readRecording(value)
	default:
		if st.say = says[name]; st.say == nil {
			return fmt.Errorf("unknown word %q", name)
		}
	}
	return err
}

// garbage are content types and bodies that are not a response, such as the page
// of a captive portal.
var garbage = map[string][2]string{
	"":      {"text/html; charset=utf-8", "<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>\n"},
	"json":  {"application/json", `{"hello":"world"}`},
	"empty": {"application/json", ""},
}

// error handles a part that is an HTTP status, with headers such as "retry-after=1".
func (st *Step) error(status int, args string) error {
	a, err := url.ParseQuery(strings.ReplaceAll(args, ",", "&"))
	if err == nil && (status < 400 || status > 599) {
		err = fmt.Errorf("status %d is not an error", status)
	}
	if status == http.StatusTooManyRequests && args == "" {
		a = url.Values{"retry-after": {"1"}, "retry-after-ms": {"20"}}
	}
	st.send = func(x *exchange) {
		e := failure(status, "")
		switch {
		case status == http.StatusUnauthorized:
			e = wrongKey(strings.TrimPrefix(x.r.Header.Get("Authorization"), "Bearer "))
		case status == http.StatusNotFound:
			_, id, _ := strings.Cut(x.r.URL.Path, "/models/")
			e = noModel(status, cmp.Or(id, x.req.Get("model").String()))
		}
		for _, name := range []string{"retry-after", "retry-after-ms"} {
			if a.Has(name) {
				x.w.Header().Set(name, a.Get(name))
			}
		}
		x.fail(e)
	}
	return err
}

// recording is a turn that was recorded: the payloads of a stream, or its result.
type recording struct {
	payloads []string
	answer   []byte    // the finished response, nil without one
	err      *apiError // instead of an answer
}

// readRecording reads a finished response, an error body, or streams: one
// payload a line, one turn after the other.
func readRecording(path string) ([]recording, error) {
	b, err := os.ReadFile(path)
	if err != nil {
		return nil, err // It names the path.
	}
	if !strings.HasSuffix(path, ".chunks.txt") {
		if !gjson.ValidBytes(b) {
			return nil, fmt.Errorf("recording %q is not JSON", path)
		}
		rec := recording{answer: b}
		if e := gjson.GetBytes(b, "error"); e.IsObject() && gjson.GetBytes(b, "object").String() != "response" {
			rec = recording{err: recordedError(e)}
		}
		return []recording{rec}, nil
	}
	var turns []recording
	for line := range strings.FieldsFuncSeq(string(b), func(c rune) bool { return c == '\n' || c == '\r' }) {
		e := gjson.Parse(line)
		if e.Get("type").String() == "response.created" || len(turns) == 0 {
			turns = append(turns, recording{})
		}
		t := &turns[len(turns)-1]
		t.payloads = append(t.payloads, line)
		if r := e.Get("response"); r.Exists() {
			t.answer = []byte(r.Raw)
		}
		if nested := e.Get("error"); nested.Exists() {
			e = nested
		}
		if gjson.Get(line, "type").String() == "error" {
			t.err = recordedError(e)
		}
	}
	return turns, nil
}

// recordedError is a recorded error with the HTTP status that belongs to its code.
func recordedError(e gjson.Result) *apiError {
	code := e.Get("code").String()
	return &apiError{status: failure(http.StatusBadRequest, code).status, Message: e.Get("message").String(),
		Type: e.Get("type").String(), Param: e.Get("param").Value(), Code: e.Get("code").Value()}
}
