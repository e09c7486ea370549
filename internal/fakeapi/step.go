package fakeapi

import (
	"cmp"
	_ "embed"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
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
	status, _ := errorNamed(name, "")
	isFault := faults[name] != nil
	isTurn := turns[name] != nil
	if status != 0 || isFault || isTurn || name == asked {
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
	Message string `json:"message"`
	Type    string `json:"type"`
	Param   string `json:"param,omitempty"` // the API sends null instead of nothing
	Code    string `json:"code,omitempty"`
}

// apiErrors are worded as by the API, because they reach the user. Each has a status. %s is what the
// message is about.
//
//go:embed errors.json
var apiErrors []byte

// errorNamed returns an error with its HTTP status, 0 if there is none with this name.
func errorNamed(name, about string) (status int64, e apiError) {
	found := gjson.GetBytes(apiErrors, name)
	_ = json.Unmarshal([]byte(found.Raw), &e) // a name that is unknown leaves it empty
	e.Message = strings.ReplaceAll(e.Message, "%s", about)
	return found.Get("status").Int(), e
}
