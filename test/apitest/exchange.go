package apitest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/tidwall/gjson"
	"github.com/tidwall/sjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/fakeapi"
)

// object is a JSON object of the API, such as an event.
type object = map[string]any

// exchange is a request while it is answered.
type exchange struct {
	step
	jobs     *sync.Map // the responses in the background, *job by id
	w        http.ResponseWriter
	r        *http.Request
	body     gjson.Result // the body of the request
	complete bool         // whether the answer is complete
}

// answer answers a request after the delay of its step. about is what the message of an error is
// about.
func (x *exchange) answer(about string) {
	x.w.Header().Set("X-Request-Id", fakeapi.ID("req"))
	if !x.pause(x.delay) {
		return
	}
	if x.fault != "" {
		x.complete = x.fail(x.w, x.r, about)
		return
	}
	if x.http != nil {
		x.complete = x.send(x.w)
		return
	}

	path := x.r.URL.EscapedPath() // JSON needs no other escapes
	_, model, _ := strings.Cut(path, "/models/")
	_, response, _ := strings.Cut(path, "/responses/")
	switch { // base URLs have any prefix
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
		x.refuse(http.StatusNotFound, "Invalid URL ("+path+")")
	}
}

// respond answers POST /responses.
func (x *exchange) respond() {
	final := x.edit(x.response())
	background := x.body.Get("background").Bool()
	if background {
		final, _ = sjson.SetBytes(final, "background", true) // the path is valid
	}

	j := &job{
		start:  time.Now(),
		slow:   x.slow,
		events: eventsOf(final),
		bills:  x.bills,
	}
	if background {
		x.jobs.Store(gjson.GetBytes(final, "id").Str, j)
	}

	switch {
	case x.body.Get("stream").Bool():
		x.stream(j, 0)
	case background:
		x.sendJSON(http.StatusOK, j.events[0]["response"])
	default:
		x.sendJSON(http.StatusOK, json.RawMessage(final))
	}
}

// response returns what the model says, with what the request asks for and nothing else.
func (x *exchange) response() []byte {
	final := fakeapi.Response(x.body, x.turn)
	set := func(path string, v any) {
		final, _ = sjson.SetBytes(final, path, v) // the paths are valid
	}

	searches := 0 // the API does not bill the pages that are opened
	output := []json.RawMessage{}
	for _, item := range gjson.GetBytes(final, "output").Array() {
		raw := item.Raw
		if item.Get("action.type").Str == "search" {
			searches++
		}
		if !x.includes("web_search_call.action.sources") {
			raw, _ = sjson.Delete(raw, "action.sources")
		}
		if item.Get("type").Str == "reasoning" {
			if !x.includes("reasoning.encrypted_content") {
				continue // the client asks for it where the model reasons
			}
			if !x.body.Get("reasoning.summary").Exists() {
				raw, _ = sjson.Set(raw, "summary", []string{})
			}
		}
		output = append(output, json.RawMessage(raw))
	}
	set("output", output)
	set("tool_usage.web_search.num_requests", searches)
	set("model", strings.Replace(x.body.Get("model").Str, "gpt-5.2", "gpt-5.2-2025-12-11", 1))
	return final
}

// includes reports whether the request asks for an element of include.
func (x *exchange) includes(element string) bool {
	return x.body.Get(`include.#(=="` + element + `")`).Exists()
}

// stream sends the events of a response from the first one on, each when it exists.
func (x *exchange) stream(j *job, first int) {
	x.w.Header().Set("Content-Type", "text/event-stream; charset=utf-8")
	err := x.write(nil)

	for i := first; i < len(j.events); i++ {
		if err != nil || !x.pause(j.until(i)) {
			return
		}
		event := j.events[i]
		err = x.write(fmt.Appendf(nil, "event: %s\ndata: %s\n\n",
			event["type"],
			fakeapi.Encode(event)))
	}
	x.complete = err == nil
}

// pause waits for d. It reports whether the client still waits for an answer.
func (x *exchange) pause(d time.Duration) bool {
	select {
	case <-x.r.Context().Done():
	case <-time.After(d):
	}
	return x.r.Context().Err() == nil
}

// refuse sends an error, worded as by the API, because it reaches the user.
func (x *exchange) refuse(status int, message string) {
	x.sendJSON(status, object{"error": object{
		"message": message,
		"type":    "invalid_request_error",
	}})
}

// sendJSON sends a whole body.
func (x *exchange) sendJSON(status int, v any) {
	x.w.Header().Set("Content-Type", "application/json")
	x.w.WriteHeader(status)
	x.complete = x.write(fakeapi.Encode(v)) == nil
}

// write sends b at once.
func (x *exchange) write(b []byte) error {
	_, err := x.w.Write(b)
	_ = http.NewResponseController(x.w).Flush() // the context tells if the client has left
	return err
}
