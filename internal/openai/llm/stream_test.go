package llm

import (
	"io"
	"math"
	"net/http"
	"net/http/httptrace"
	"syscall"
	"testing"
	"testing/iotest"

	"github.com/tidwall/gjson"
)

// The events of a stream whose answer is "Yes." Its response has no status.
const (
	eventCreated = `{"type":"response.created",
		"response":{"id":"resp_1","status":"in_progress","output":[]}}`
	eventItem = `{"type":"response.output_item.added","output_index":0,
		"item":{"type":"message","id":"msg_1","role":"assistant","content":[]}}`
	eventPart = `{"type":"response.content_part.added","output_index":0,"item_id":"msg_1",
		"content_index":0,"part":{"type":"output_text","text":""}}`
	eventDelta = `{"type":"response.output_text.delta","output_index":0,"item_id":"msg_1",
		"content_index":0,"delta":"Yes."}`
	eventCompleted = `{"type":"response.completed","response":{"id":"resp_1",
		"model":"gpt-5.2","output":[{"type":"message","id":"msg_1","role":"assistant",
		"content":[{"type":"output_text","text":"Yes."}]}],
		"usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3}}}`
)

const yesScript = `
	call.BlockStart {"index":0,"kind":"text","id":"msg_1"}
	call.BlockDelta {"index":0,"text":"Yes."}
	call.BlockStop {"index":0}
	completed {"input_tokens":1,"output_tokens":2,"total_tokens":3}
	`

// failedStep is a stream that ends with a failed response.
func failedStep(members string) step {
	response := `{"status":"failed",` + members + `}`
	return sseStep(eventCreated, eventItem, `{"type":"response.failed","response":`+response+`}`)
}

// eventStep is a stream with an event after the start of a text.
func eventStep(body string) step { return sseStep(eventCreated, eventItem, eventPart, body) }

// broken is a request without an answer.
func broken(err error) step {
	return func(*http.Request) (*http.Response, error) { return nil, err }
}

// connected returns a step whose request gets a connection.
func connected(s step) step {
	return func(r *http.Request) (*http.Response, error) {
		httptrace.ContextClientTrace(r.Context()).GotConn(httptrace.GotConnInfo{})
		return s(r)
	}
}

// cuts are connections that break, by the message of the error.
var cuts = map[string]step{
	"the answer was cut off: unexpected EOF": cutStream(eventCreated, eventItem, eventPart),
	"the answer was cut off: reading an event: " +
		`invalid character '\n' in string literal`: answer(200,
		"data: "+eventCompleted[:50], "Content-Type", eventStream),
	"connection refused": broken(syscall.ECONNREFUSED),
	"the server closed the connection without an answer": broken(io.EOF),
}

// Each failure has its kind and its message. About half a second after a failure that may be
// temporary, a call asks once more.
func TestFailures(t *testing.T) {
	forms := map[string]func(string) step{
		"event":  eventStep,
		"failed": failedStep,
		"stream": func(body string) step { return answer(200, body, "Content-Type", eventStream) },
		"plain":  func(body string) step { return answer(200, body) },
	}
	eachRow(t, "failures", func(t *testing.T, _ string, row []string) {
		checkFailure(t, forms[row[0]](row[3]), row[1], row[2])
	})
	for message, step := range cuts {
		bubble(t, message, func(t *testing.T) {
			checkFailure(t, step, "connection", message)
		})
	}
}

func checkFailure(t *testing.T, fail step, kind, message string) {
	cl, api := newClient(1, fail)
	events, _, err := watch(t, cl, question())

	e := asError(t, err)
	wantEqual(t, "kind", e.Kind.Label(), kind)
	wantEqual(t, "message", e.Message, message)
	checkBlocks(t, events)

	want := 1
	switch kind {
	case "server", "connection", "rate_limit":
		want = 2
	}

	api.wantRequests(t, want)
	wantEqual(t, "attempts", e.Attempts, want)
	if kind == "server" {
		wait := api.at[1].Sub(api.at[0])
		wantEqual(t, "wait in seconds", math.Round(wait.Seconds()*2)/2, 0.5)
	}
}

// cutStream is a stream whose connection breaks.
func cutStream(payloads ...string) step { return cutOff(sseStep(payloads...)) }

// cutOff is a step whose connection breaks at its end.
func cutOff(next step) step {
	return func(req *http.Request) (*http.Response, error) {
		resp, _ := next(req)
		cut := iotest.ErrReader(io.ErrUnexpectedEOF)
		resp.Body = io.NopCloser(io.MultiReader(resp.Body, cut))
		return resp, nil
	}
}

// TestPlainAnswers has plain answers to a request for a stream, and streams, under all content
// types.
func TestPlainAnswers(t *testing.T) {
	bodies := map[string]string{
		"plain":  gjson.Get(eventCompleted, "response").Raw,
		"stream": frames(eventCreated, eventItem, eventPart, eventDelta, eventCompleted),
	}

	for _, contentType := range []string{"application/json", "text/event-stream", "text/plain", ""} {
		for name, body := range bodies {
			t.Run(name+" as "+contentType, func(t *testing.T) {
				cl, _ := newClient(0, answer(200, body, "Content-Type", contentType))
				events, r, err := watch(t, cl, question())

				wantSuccess(t, err)
				wantScript(t, events, r, yesScript)
			})
		}
	}
}
