package fakeapi

import (
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
	api  *API
	w    http.ResponseWriter
	r    *http.Request
	step Step
	body gjson.Result // the body of the request
	n    int64        // the number of the request
	ids  int          // number of ids in the answer so far
	done bool         // whether the answer is complete
}

// Answer answers a request. It reports whether the answer is complete: a client may leave before.
func (a *API) Answer(w http.ResponseWriter, r *http.Request, step Step) (complete bool) {
	// net/http notices that a client leaves only after the body was read.
	body, err := io.ReadAll(r.Body)
	x := &exchange{
		api:  a,
		w:    w,
		r:    r,
		step: step,
		body: gjson.ParseBytes(body),
		n:    a.requests.Add(1),
	}
	w.Header().Set("x-request-id", x.id("req"))

	switch {
	case err != nil || !x.pause(step.Delay):
		return false
	case step.Replace != nil:
		return step.Replace(w, r)
	}
	x.answer()
	return x.done
}

// answer picks the endpoint by the end of the path: base URLs have any prefix.
func (x *exchange) answer() {
	path := x.r.URL.EscapedPath() // JSON needs no other escapes
	_, model, _ := strings.Cut(path, "/models/")
	_, response, _ := strings.Cut(path, "/responses/")
	switch {
	case x.r.Method == http.MethodPost && strings.HasSuffix(path, "/responses"):
		x.respond()
	case response != "":
		x.fetch(response)
	case model != "":
		x.sendJSON(http.StatusOK, object{
			"id":     model,
			"object": "model",
		})
	default:
		x.fail(http.StatusNotFound, "Invalid URL ("+path+")")
	}
}

// respond answers POST /responses.
func (x *exchange) respond() {
	final := x.response()
	if x.step.Edit != nil {
		final = x.step.Edit(final)
	}
	isBackground := x.body.Get("background").Bool()
	if isBackground {
		final, _ = sjson.SetBytes(final, "background", true) // the path is valid
	}

	j := &job{
		start:  time.Now(),
		slow:   x.step.Slow,
		events: events(gjson.ParseBytes(final)),
	}
	if isBackground {
		x.api.jobs.Store(gjson.GetBytes(final, "id").Str, j)
	}

	switch {
	case x.body.Get("stream").Bool():
		x.stream(j, 0)
	case isBackground:
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

// fail sends an error, worded as by the API, because it reaches the user.
func (x *exchange) fail(status int, message string) {
	x.sendJSON(status, object{"error": object{
		"message": message,
		"type":    "invalid_request_error",
	}})
}

// sendJSON sends a whole body.
func (x *exchange) sendJSON(status int, v any) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	x.done = x.write(encode(v)) == nil
}

// write sends b at once.
func (x *exchange) write(b []byte) error {
	_, err := x.w.Write(b)
	_ = http.NewResponseController(x.w).Flush() // the context tells if the client has left
	return err
}

// encode marshals a value of this package, which cannot fail.
func encode(v any) []byte {
	b, _ := json.Marshal(v)
	return b
}
