package fakeapi

import (
	"cmp"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"
)

// exchange is a request while it is answered.
type exchange struct {
	s    *Server
	w    http.ResponseWriter
	r    *http.Request
	body gjson.Result // of the request
	n    int          // the number of the request
	ids  int          // how many ids the answer has
	step step
	done bool // the answer is complete
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// net/http notices that a client leaves only after the body was read.
	body, err := io.ReadAll(r.Body)
	x := &exchange{s: s, w: w, r: r}
	s.arrive(x, body)

	defer func() {
		hasLeft := err != nil || r.Context().Err() != nil
		if hasLeft && !x.done {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.countLocked(&s.aborted)
		}
	}()

	w.Header().Set("x-request-id", x.id("req"))
	if err == nil && x.pause(x.step.delay) {
		x.answer()
	}
}

// arrive records a request and takes its step, so that the request after one that was waited
// for gets the next step.
func (s *Server) arrive(x *exchange, body []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()

	r := Recorded{
		Method: x.r.Method,
		Path:   x.r.URL.Path,
		Query:  x.r.URL.RawQuery,
		Header: x.r.Header.Clone(),
		Body:   body,
	}
	s.recorded = append(s.recorded, r)
	s.recorded = s.recorded[max(0, len(s.recorded)-maxRecorded):]
	s.countLocked(&s.arrived)

	x.body = gjson.ParseBytes(body)
	x.n = s.arrived

	x.step = s.always
	if len(s.queue) > 0 {
		x.step = s.queue[0]
		s.queue = s.queue[1:]
	}
	if x.step.behavior == asked {
		word, _, _ := strings.Cut(x.question(), " ")
		x.step, _ = parse(word) // as a model would if the word is not a step
	}
}

// answer follows the step or, where it has no error and no fault, picks the endpoint by the end of
// the path: base URLs have any prefix.
func (x *exchange) answer() {
	if isError(x.step.behavior) {
		if x.step.value != "" {
			x.w.Header().Set("Retry-After", x.step.value)
		}
		x.fail(x.step.behavior, "")
		return
	}

	if x.fault(x.step.behavior) {
		return
	}

	path := x.r.URL.EscapedPath() // JSON needs no other escapes
	_, model, _ := strings.Cut(path, "/models/")
	_, response, _ := strings.Cut(path, "/responses/")
	switch {
	case x.r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		x.respond()
	case response != "":
		x.fetch(response)
	case model != "":
		x.sendJSON(http.StatusOK, object{"id": model, "object": "model"})
	default:
		x.fail("no-endpoint", path)
	}
}

// respond answers POST /responses.
func (x *exchange) respond() {
	for _, param := range x.step.refuses {
		value := x.body.Get(param)
		if value.Exists() && value.Type != gjson.False {
			x.fail(cmp.Or(x.step.refusal, "unsupported"), cmp.Or(x.step.blames, param))
			return
		}
	}

	final := x.step.response
	if final == nil {
		final = x.response()
	}
	isBackground := x.body.Get("background").Bool() && !x.step.has("ignores-background")
	if isBackground {
		final, _ = sjson.SetBytes(final, "background", true) // the path is valid
	}

	j := &job{
		start:  time.Now(),
		slow:   x.step.slow,
		events: events(gjson.ParseBytes(final)),
	}
	isKept := isBackground && !x.step.has("echoes-background")
	if isKept {
		x.s.jobs.Store(gjson.GetBytes(final, "id").Str, j)
	}

	switch {
	case x.body.Get("stream").Bool():
		x.stream(j, 0)
	case isKept:
		x.sendJSON(http.StatusOK, j.events[0]["response"])
	default:
		x.sendJSON(http.StatusOK, json.RawMessage(final))
	}
}

// pause waits for d. It reports whether the client still waits for an answer.
func (x *exchange) pause(d time.Duration) bool {
	select {
	case <-x.r.Context().Done():
	case <-time.After(d):
	}
	return x.r.Context().Err() == nil
}

// fail sends an error. about is what its message is about.
func (x *exchange) fail(name, about string) {
	status, e := errorNamed(name, about)
	x.sendJSON(status, object{"error": e})
}

func (x *exchange) sendJSON(status int, v any) { x.send(status, "application/json", encode(v)) }

// send sends a whole body.
func (x *exchange) send(status int, contentType string, body []byte) {
	x.w.Header().Set("Content-Type", contentType)
	x.w.WriteHeader(status)
	x.write(body)
	x.done = true
}

// write sends b at once. The context tells if the client has left.
func (x *exchange) write(b []byte) {
	_, _ = x.w.Write(b)
	_ = http.NewResponseController(x.w).Flush()
}

// encode marshals a value of this package, which cannot fail.
func encode(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
