package apitest

import (
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// step is the behaviour of one request. With the zero value the server answers as a model would.
type step struct {
	fakeapi.Step
	isAsked bool   // the first word of the question is the step
	fault   string // one of faults or the name of an error; "": none
	value   string // of the fault

	// How a stream ends early.
	stop      string // the fault that ends it, or ""
	stopAfter int    // events
	failure   string // the error that ends it without a response, or ""

	// What the response is.
	refuses  []string // parameters that are refused
	refusal  string   // with this error; "": unsupported
	blames   string   // the parameter that the error names; "": the refused one
	response []byte   // the finished response, instead of what the model says

	words []string // empty, incomplete, failed, ignores-background, echoes-background
}

var (
	turns  = []string{"ok", "search", "weather", "uncited"}
	faults = []string{"hang", "cut", "truncated", "redirect", "garbage"}
)

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
		case "asked":
			st.isAsked = true
		case "delay":
			st.Delay, err = time.ParseDuration(value)
		case "slow":
			st.Slow, err = time.ParseDuration(value)
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
		case "empty", "incomplete", "failed", "ignores-background", "echoes-background":
			st.words = append(st.words, name)
		case "error":
			st.failure = cmp.Or(value, "500")
		case "file":
			st.response, err = os.ReadFile(value)
		default:
			err = st.parseBehavior(name, value)
		}
		if err != nil {
			return step{}, err
		}
	}
	return st, nil
}

// parseBehavior reads a turn, a fault or an error.
func (st *step) parseBehavior(name, value string) error {
	switch {
	case slices.Contains(turns, name):
		st.Turn = name
	case slices.Contains(faults, name), isError(name):
		st.fault = name
		st.value = value
	default:
		return fmt.Errorf("unknown word %q", name)
	}
	return nil
}

// answer answers a request whose body was read. It reports whether the answer is complete.
func (st step) answer(
	api *fakeapi.API,
	w http.ResponseWriter,
	r *http.Request,
	body []byte,
) (complete bool) {
	if st.isAsked {
		question := gjson.GetBytes(body, `input.@reverse.#(role=="user").content.0.text`).Str
		word, _, _ := strings.Cut(strings.ReplaceAll(question, "\n", " "), " ")
		st, _ = parse(word) // as a model would if the word is not a step
	}

	refused := st.refused(body)
	switch {
	case st.fault != "":
		st.Replace = st.fail
	case refused != "":
		st.Replace = func(w http.ResponseWriter, _ *http.Request) bool {
			return sendError(w, cmp.Or(st.refusal, "unsupported"), cmp.Or(st.blames, refused))
		}
	}

	st.Edit = st.edit
	if st.has("ignores-background") || st.has("echoes-background") {
		body, _ = sjson.DeleteBytes(body, "background") // the path is valid
	}
	r.Body = io.NopCloser(bytes.NewReader(body))

	ending := &endingWriter{ResponseWriter: w, step: st, r: r}
	complete = api.Answer(ending, r, st.Step)
	return complete || ending.complete
}

// refused returns the first parameter of a request that is refused, or "".
func (st step) refused(body []byte) string {
	for _, param := range st.refuses {
		value := gjson.GetBytes(body, param)
		if value.Exists() && value.Type != gjson.False {
			return param
		}
	}
	return ""
}

// has reports whether one of the words is in the step.
func (st step) has(word string) bool { return slices.Contains(st.words, word) }

// edit changes what the model says.
func (st step) edit(final []byte) []byte {
	if st.response != nil {
		final = st.response
	}
	set := func(path, raw string) {
		final, _ = sjson.SetRawBytes(final, path, []byte(raw)) // the paths are valid
	}

	for _, word := range st.words {
		switch word {
		case "empty":
			set("output", gjson.GetBytes(final, `output.#(type=="reasoning")#`).Raw)
		case "incomplete":
			set("status", `"incomplete"`)
			set("incomplete_details", `{"reason":"max_output_tokens"}`)
		case "failed":
			set("status", `"failed"`)
			set("output", "[]")
			set("usage", "null")
			set("error", gjson.Get(apiErrors, "500.error.{code,message}").Raw)
		case "echoes-background":
			set("background", "true")
		}
	}
	return final
}

// fail answers with the fault of the step.
func (st step) fail(w http.ResponseWriter, r *http.Request) (complete bool) {
	switch st.fault {
	case "hang":
		<-r.Context().Done()
		return false
	case "cut":
		panic(http.ErrAbortHandler) // net/http closes the connection.
	case "truncated":
		body := `{"id":"resp_truncated","object":"response","output":[`
		w.Header().Set("Content-Length", "1000")
		return send(w, http.StatusOK, "application/json", body)
	case "redirect":
		w.Header().Set("Location", st.value)
		return send(w, http.StatusTemporaryRedirect, "text/plain", "")
	case "garbage": // the page of a captive portal
		page := "<!doctype html><title>Sign in</title><p>Sign in to use this network.</p>\n"
		return send(w, http.StatusOK, "text/html; charset=utf-8", page)
	}

	if st.value != "" {
		w.Header().Set("Retry-After", st.value)
	}
	return sendError(w, st.fault, "")
}

// send sends a whole body at once.
func send(w http.ResponseWriter, status int, contentType, body string) (complete bool) {
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body)
	_ = http.NewResponseController(w).Flush() // the context tells if the client has left
	return true
}

// endingWriter ends a stream early, as its step says: after events, not before the next one, which
// may come much later.
type endingWriter struct {
	http.ResponseWriter
	step     step
	r        *http.Request
	events   int  // so far
	complete bool // the stream has ended with an error event
}

func (w *endingWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *endingWriter) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	isEvent := bytes.HasPrefix(b, []byte("event: "))
	isHead := len(b) == 0 // of a stream
	if isEvent {
		w.events++
	}

	switch {
	case err != nil || !isEvent && !isHead:
		return n, err
	case w.step.stop != "" && w.events >= w.step.stopAfter:
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		w.step.fault = w.step.stop
		w.step.fail(w, w.r)
		return n, errEnded
	case w.step.failure != "" && w.events == 2:
		e := errorNamed(w.step.failure, "").Get("error").Raw
		const form = "event: error\ndata: {\"type\":\"error\",\"sequence_number\":2,\"error\":%s}\n\n"
		_, _ = fmt.Fprintf(w.ResponseWriter, form, e)
		w.complete = true
		return n, errEnded
	}
	return n, nil
}

var errEnded = errors.New("the stream has ended")

// apiErrors are error objects with their statuses, worded as by the API. %s is what an error is about.
//
//go:embed errors.json
var apiErrors string

func isError(name string) bool { return gjson.Get(apiErrors, name).Exists() }

// errorNamed returns an error with its status. about is what its message is about.
func errorNamed(name, about string) gjson.Result {
	return gjson.Parse(strings.ReplaceAll(gjson.Get(apiErrors, name+"|@ugly").Raw, "%s", about))
}

// sendError sends an error.
func sendError(w http.ResponseWriter, name, about string) (complete bool) {
	e := errorNamed(name, about)
	return send(w, int(e.Get("status").Int()), "application/json", `{"error":`+e.Get("error").Raw+`}`)
}
