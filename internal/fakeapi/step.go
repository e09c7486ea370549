package fakeapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
)

// step is the behaviour of one request. With the zero value the server answers as a model would.
type step struct {
	// behavior is one of behaviors or the name of an error. If it is "", the model decides.
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
	refusal  string   // with this error; "": unsupported
	blames   string   // the parameter that the error names; "": the refused one
	response []byte   // the finished response, instead of what the model says

	words []string // incomplete, failed, ignores-background, echoes-background
}

// has reports whether one of the words is in the step.
func (s step) has(word string) bool { return slices.Contains(s.words, word) }

// asked is the behavior that the first word of the question names.
const asked = "asked"

// behaviors are what the model says, and faults.
var behaviors = []string{
	asked, "ok", "search", "weather", "uncited", "empty",
	"hang", "cut", "truncated", "redirect", "garbage",
}

// Script adds steps for the next requests, one request each. The step after the word "always" is
// for all requests that find no other step. Parts of a step that are joined by "+" apply together.
//
//	ok, search, weather, uncited, empty   what the model says
//	asked                                 what the first word of the question says
//	file=PATH                             a finished response in JSON
//	incomplete, failed                    the status of the response
//	400, 401, 404, 429, quota, 500, 503   errors; with =SECONDS they have Retry-After
//	gone, too-old                         errors of a GET: no such response, no stream of it
//	error[=ERROR]                         a stream ends with an error event
//	refuses=PARAM, unverified             400 if the request has the parameter
//	blames=PARAM                          the parameter that this 400 names
//	ignores-background, echoes-background runs in the foreground; says otherwise
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
		case "unverified":
			st.refuses = []string{"stream", "reasoning.summary"}
			st.refusal = name
		case "blames":
			st.blames = value
		case "incomplete", "failed", "ignores-background", "echoes-background":
			st.words = append(st.words, name)
		case "error":
			st.failure = cmp.Or(value, "500")
		case "file":
			st.response, err = os.ReadFile(value)
		default:
			st.behavior = name
			st.value = value
			if !isError(name) && !slices.Contains(behaviors, name) {
				err = fmt.Errorf("unknown word %q", name)
			}
		}
		if err != nil {
			return step{}, err
		}
	}
	return st, nil
}

// fault answers in a way that the API does not. It reports whether name is one of these.
func (x *exchange) fault(name string) bool {
	switch name {
	case "hang":
		<-x.r.Context().Done()
	case "cut":
		panic(http.ErrAbortHandler) // net/http closes the connection.
	case "truncated":
		body := []byte(`{"id":"resp_truncated","object":"response","output":[`)
		x.w.Header().Set("Content-Length", "1000")
		x.send(http.StatusOK, "application/json", body)
	case "redirect":
		x.w.Header().Set("Location", x.step.value)
		x.send(http.StatusTemporaryRedirect, "text/plain", nil)
	case "garbage": // the page of a captive portal
		page := "<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>\n"
		x.send(http.StatusOK, "text/html; charset=utf-8", []byte(page))
	default:
		return false
	}
	return true
}

// apiErrors are error objects with their statuses, worded as by the API, because they reach the user.
// %s is what an error is about.
//
//go:embed errors.json
var apiErrors string

func isError(name string) bool { return gjson.Get(apiErrors, name).Exists() }

// errorNamed returns the status and the object of an error.
func errorNamed(name, about string) (status int, object json.RawMessage) {
	found := gjson.Get(apiErrors, name)
	text := strings.ReplaceAll(found.Get("error").Raw, "%s", about)
	return int(found.Get("status").Int()), json.RawMessage(text)
}
