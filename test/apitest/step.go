package apitest

import (
	"bufio"
	"bytes"
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// step is the behaviour of one request. With the zero value the server answers as a model would.
type step struct {
	delay time.Duration // before anything is sent
	slow  time.Duration // between two events
	turn  string        // what the model says, one of turns; "": it decides
	asked bool          // the first word of the question is the step
	fault string        // the name of one of faults; "": none
	value string        // of the fault

	stop      string // the fault that ends a stream early, or "": it does not
	stopAfter int    // events

	refuses []string // parameters that are refused
	refusal string   // with this error
	blames  string   // the parameter that the error names; "": the refused one
	tokens  string   // of the input; "": as a model would use
	bills   string   // when a cancelled response has its usage
	file    []byte   // the finished response, instead of what the model says
	http    []byte   // the whole HTTP response, or nil
	edits   []string // names of edits
}

var turns = []string{"ok", "search", "uncited"}

// Script adds steps for the next requests, one request each. The step after the word "always" is
// for all requests that find no other step. Parts of a step that are joined by "+" apply together.
//
//	ok, search, uncited, empty            what the model says
//	asked                                 what the first word of the question says
//	file=PATH                             a finished response in JSON
//	http=PATH                             an HTTP response to any request
//	tokens=N                              used for the input, and none for the output
//	bills, bills-late                     a cancelled response has its usage: at once, or in a GET; with
//	                                      bills a cancel of a complete one returns it
//	goes-on                               a cancelled response still runs
//	incomplete, failed, cancelled         the status of the response
//	400, 401, 402, 404, 429, quota, 500, 503   errors; with =SECONDS they have Retry-After
//	no-credit                             an exhausted quota, in words only
//	gone, too-old                         errors of a GET: no such response, no stream of it
//	conflict                              a 409
//	no-scope, no-endpoint                 others: the key may not read models, no such path
//	error[=ERROR]                         a stream ends with an error event
//	refuses=PARAM, unverified             400 if the request has the parameter
//	blames=PARAM, without-code            the parameter that this 400 names; it has no code
//	quoting, blocked                      400s that quote the question, about the person
//	filtered, too-long                    about the question
//	ignores-background, echoes-background runs in the foreground; says otherwise
//	hang, cut, truncated, garbage, forbidden, redirect=URL   other faults
//	delay=2s, slow=100ms                  before the answer, between events
//	cut-after=N, hang-after=N             where a stream stops
func (s *Server) Script(steps ...string) error {
	s.mu.Lock()
	defer s.mu.Unlock()

	forAll := false
	for _, word := range steps {
		if word == "always" {
			forAll = true
			continue
		}

		st, err := parse(word)
		if err != nil {
			return fmt.Errorf("parsing step %q: %w", word, err)
		}
		if forAll {
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
			st.asked = true
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
		case "unverified":
			st.refuses = []string{"stream", "reasoning.summary"}
			st.refusal = name
		case "without-code":
			st.refusal = "invalid"
		case "blames":
			st.blames = value
		case "error":
			st.stop = name
			st.stopAfter = 2
			st.value = cmp.Or(value, "500")
		case "tokens":
			st.tokens = value
		case billsAtOnce, billsLate, goesOn:
			st.bills = name
		case "file":
			st.file, err = os.ReadFile(value)
		case "http":
			st.http, err = os.ReadFile(value)
		default:
			switch {
			case slices.Contains(turns, name):
				st.turn = name
			case gjson.Get(edits, name).Exists():
				st.edits = append(st.edits, name)
			case gjson.Get(faults, name).Exists():
				st.fault = name
				st.value = value
			default:
				err = fmt.Errorf("unknown word %q", name)
			}
		}
		if err != nil {
			return step{}, err
		}
	}
	return st, nil
}

// answer answers a request whose body was read. It reports whether the answer is complete.
func (st step) answer(
	jobs *sync.Map,
	w http.ResponseWriter,
	r *http.Request,
	body []byte,
) (complete bool) {
	if st.asked {
		question := gjson.GetBytes(body, `input.@reverse.#(role=="user").content.0.text`).Str
		word, _, _ := strings.Cut(strings.ReplaceAll(question, "\n", " "), " ")
		st, _ = parse(word) // as a model would if the word is not a step
	}

	about := ""
	for _, param := range slices.Backward(st.refuses) { // so that the first one counts
		value := gjson.GetBytes(body, param)
		if value.Exists() && value.Type != gjson.False {
			st.fault = st.refusal
			about = cmp.Or(st.blames, param)
		}
	}

	if strings.Contains(fmt.Sprint(st.edits), "-background") {
		body, _ = sjson.DeleteBytes(body, "background") // the path is valid
	}

	ending := &endingWriter{ResponseWriter: w, step: st, r: r}
	x := &exchange{
		step: st,
		jobs: jobs,
		w:    ending,
		r:    r,
		body: gjson.ParseBytes(body),
	}
	x.answer(about)
	return x.complete || ending.complete
}

// edit changes what the model says.
func (st step) edit(final []byte) []byte {
	if st.file != nil {
		final = st.file
	}
	if st.tokens != "" {
		const form = `{"input_tokens":%s,"output_tokens":0,"total_tokens":%[1]s}`
		usage := fmt.Sprintf(form, st.tokens)
		final, _ = sjson.SetRawBytes(final, "usage", []byte(usage))
	}
	for _, word := range st.edits {
		members := gjson.Get(edits, word).Map()
		if word == "empty" {
			members["output"] = gjson.GetBytes(final, `output.#(type=="reasoning")#`)
		}
		for name, value := range members {
			final, _ = sjson.SetRawBytes(final, name, []byte(value.Raw)) // the names are valid
		}
	}
	return final
}

// fail answers with the fault of the step. about is what the message of an error is about.
func (st step) fail(w http.ResponseWriter, r *http.Request, about string) (complete bool) {
	switch st.fault {
	case "hang":
		<-r.Context().Done()
		return false
	case "cut":
		panic(http.ErrAbortHandler) // net/http closes the connection.
	}

	fault := gjson.Get(faults, st.fault+"|@ugly")
	header := w.Header()
	header.Set("Content-Type", "application/json")
	for name, value := range fault.Get("headers").Map() {
		header.Set(name, value.Str)
	}
	if st.value != "" {
		header.Set(cmp.Or(fault.Get("value").Str, "Retry-After"), st.value)
	}

	body := fault.Get("body").Str
	e := fault.Get("error").Raw
	if e != "" {
		body = `{"error":` + strings.ReplaceAll(e, "%s", about) + `}`
	}
	w.WriteHeader(int(fault.Get("status").Int()))
	_, _ = io.WriteString(w, body) // the context tells if the client has left
	return true
}

// send answers with the HTTP response of the step.
func (st step) send(w http.ResponseWriter) (complete bool) {
	resp, err := http.ReadResponse(bufio.NewReader(bytes.NewReader(st.http)), nil)
	if err != nil {
		panic(err) // the test is wrong
	}
	maps.Copy(w.Header(), resp.Header)
	w.WriteHeader(resp.StatusCode)
	_, _ = io.Copy(w, resp.Body) // the context tells if the client has left
	return true
}

// endingWriter ends a stream early, as its step says: after an event, not before the next one,
// which may come much later.
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
	head := len(b) == 0 // of a stream
	event := bytes.HasPrefix(b, []byte("event: "))
	if event {
		w.events++
	}
	ends := w.step.stop != "" && (head || event) && w.events >= w.step.stopAfter
	if err != nil || !ends {
		return n, err
	}

	if w.step.stop == "error" {
		const form = `{"type":"error","sequence_number":2,"error":%s}`
		e := gjson.Get(faults, w.step.value+".error|@ugly")
		_, _ = fmt.Fprintf(w.ResponseWriter, "event: error\ndata: "+form+"\n\n", e)
		w.complete = true
	} else {
		_ = http.NewResponseController(w.ResponseWriter).Flush()
		w.step.fault = w.step.stop
		w.step.fail(w, w.r, "")
	}
	return n, errors.New("the stream has ended")
}

// faults are answers with their statuses: error objects, worded as by the API, where %s is what an
// error is about, and the pages of a firewall and of a captive portal. "value" is the header that
// gets the value of the fault, by default Retry-After.
//
//go:embed errors.json
var faults string

// edits are the members of a finished response that words of a step replace.
//
//go:embed edits.json
var edits string
