package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/redact"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const (
	testURL  = "http://api.test/v1?api-version=1"
	testKey  = "sk-test-0123456789"
	finished = `{"id":"resp_1","status":"completed","model":"gpt-5.2-2026-01-01","output":[
		{"type":"message","id":"msg_1","role":"assistant",
		"content":[{"type":"output_text","text":"Yes."}]}]}`
)

// step is what an API does with one request.
type step func(*http.Request) (*http.Response, error)

func (s step) RoundTrip(req *http.Request) (*http.Response, error) {
	return s(req)
}

// answer is a step that answers with status and body; headers come in pairs.
func answer(status int, body string, headers ...string) step {
	return func(req *http.Request) (*http.Response, error) {
		header := http.Header{"Content-Type": {"application/json"}}
		for i := 0; i+1 < len(headers); i += 2 {
			header.Set(headers[i], headers[i+1])
		}

		return &http.Response{
			StatusCode: status,
			Header:     header,
			Body:       io.NopCloser(strings.NewReader(body)),
			Request:    req,
		}, nil
	}
}

// succeed is a step that answers the question.
var succeed = answer(200, finished)

func refusedAs(param, message string) step {
	return answer(400, apiBody("invalid_request_error", "unsupported_parameter", param, message))
}

func apiBody(typ, code, param, message string) string {
	const body = `{"error":{"type":%q,"code":%q,"param":%q,"message":%q}}`
	return fmt.Sprintf(body, typ, code, param, message)
}

// table returns the columns of a table in testdata, by the first one, which is the name of a row.
func table(t *testing.T, name string) map[string][]string {
	rows := map[string][]string{}
	for _, row := range compare.Table(t, name, 6) {
		if rows[row[0]] != nil {
			t.Errorf("%s.table has two rows with the name %q", name, row[0])
		}
		rows[row[0]] = row[1:]
	}

	return rows
}

// frames is a stream of payloads, whose types are the names of the events.
func frames(payloads ...string) string { return namedFrames(namings["all"], payloads) }

// namedFrames is a stream of payloads, whose events have names of a naming.
func namedFrames(naming func(i int, kind string) string, payloads []string) string {
	var b strings.Builder
	for i, payload := range payloads {
		name := naming(i, gjson.Get(payload[:min(len(payload), 1000)], "type").Str)
		if name != "" {
			b.WriteString("event: " + name + "\n")
		}
		b.WriteString("data: " + strings.ReplaceAll(payload, "\n", "\ndata:") + "\n\n")
	}
	return b.String()
}

func sseStep(payloads ...string) step {
	return answer(200, frames(payloads...),
		"Content-Type", "text/event-stream; charset=utf-8",
		"X-Request-Id", "req_1")
}

// scripted is an API in memory: it plays its steps, the last one again and again, or the step of
// the person. The requests are kept. A scripted works in a synctest bubble.
type scripted struct {
	steps  []step
	mu     sync.Mutex       // guards the fields below
	people map[string]step  // by identifier
	sent   []map[string]any // the parameters of the requests
	late   int              // requests that were tried after their contexts had ended
	header http.Header
	url    string
	at     []time.Time

	log bytes.Buffer // of the client
}

func (s *scripted) RoundTrip(req *http.Request) (*http.Response, error) {
	err := req.Context().Err()
	if err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.late++
		return nil, err
	}
	return s.record(req)(req)
}

// record keeps a request, and returns what the API does with it.
func (s *scripted) record(req *http.Request) step {
	s.mu.Lock()
	defer s.mu.Unlock()
	var params map[string]any
	if req.Body != nil {
		_ = json.NewDecoder(req.Body).Decode(&params)
	}

	next := s.people[identifierOf(params)]
	if next == nil {
		next = s.steps[min(len(s.sent), len(s.steps)-1)]
	}
	s.sent = append(s.sent, params)
	s.header = req.Header
	s.url = req.URL.String()
	s.at = append(s.at, time.Now())
	return next
}

// identifierOf returns the identifier of the person of a request.
func identifierOf(params map[string]any) string {
	id, _ := params[safetyIdentifierParam].(string)
	return id
}

// sentBy returns the parameters of a person's requests.
func (s *scripted) sentBy(p call.Person) (sent []map[string]any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, params := range s.sent {
		if identifierOf(params) == safetyIdentifier(p) {
			sent = append(sent, params)
		}
	}
	return sent
}

func (s *scripted) wantRequests(t testing.TB, want int) {
	t.Helper()
	wantEqual(t, "number of requests", len(s.sent), want)
}

// newClient returns a client of an API that plays steps.
func newClient(retries int, steps ...step) (*Client, *scripted) {
	api := &scripted{steps: steps, people: map[string]step{}}
	return newClientOf(testURL, api, retries, &api.log), api
}

// newClientOf returns a client of an API.
func newClientOf(url string, api http.RoundTripper, retries int, log io.Writer) *Client {
	level := &slog.HandlerOptions{Level: slog.LevelDebug}
	return New(Options{
		API:        API{BaseURL: url},
		APIKey:     testKey,
		MaxRetries: retries,
		Redactor:   redact.New(testKey),
		HTTPClient: &http.Client{Transport: api},
		Logger:     slog.New(slog.NewTextHandler(log, level)),
	})
}

// wantEqual compares a value with what it should be.
func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	compare.Equal(t, what, got, want)
}

// asError returns err as a *call.APIError, or ends the test.
func asError(t testing.TB, err error) *call.APIError {
	t.Helper()
	e, ok := errors.AsType[*call.APIError](err)
	if !ok {
		t.Fatalf("error = %v (%T), want a *call.APIError", err, err)
	}

	return e
}

// kindOf is the kind of an error, none for success.
func kindOf(t testing.TB, err error) call.Kind {
	t.Helper()
	if err == nil {
		return call.Kind{}
	}

	return asError(t, err).Kind
}

// wantKind checks the kind of an error; Kind{}: success.
func wantKind(t testing.TB, err error, want call.Kind) {
	t.Helper()
	wantEqual(t, fmt.Sprint("kind of ", err), kindOf(t, err).Label(), want.Label())
}

func wantSuccess(t testing.TB, err error) {
	t.Helper()
	wantKind(t, err, call.Kind{})
}

func wantWarnings(t testing.TB, log fmt.Stringer, want int) {
	t.Helper()
	n := strings.Count(log.String(), "level=WARN")
	wantEqual(t, "warnings in "+log.String(), n, want)
}

func object(t *testing.T, text string) (members map[string]any) {
	t.Helper()
	err := json.Unmarshal([]byte(text), &members)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}

	return members
}

func question() call.Request {
	return call.Request{
		ModelSettings: call.ModelSettings{Model: "gpt-5.2", ReasoningEffort: "medium", Verbosity: "low"},
		Instructions:  "Answer.",
		Input:         []json.RawMessage{json.RawMessage(`{"role":"user","content":"Hello?"}`)},
		Tools:         []map[string]any{{"type": "web_search"}},
		Include:       []string{"web_search_call.action.sources"},
	}
}

// create makes a call.
func create(t testing.TB, cl *Client, request call.Request) (*call.Response, error) {
	return cl.Create(t.Context(), &call.Call{}, request)
}

// createError returns the error of a call.
func createError(t testing.TB, cl *Client) error {
	_, err := create(t, cl, question())
	return err
}

// watch makes a call and returns its events, too.
func watch(
	t testing.TB, cl *Client, request call.Request,
) (events []call.Event, response *call.Response, err error) {
	response, err = cl.Create(t.Context(), recorded(&events), request)
	return events, response, err
}

// recorded returns a call whose events are appended to events.
func recorded(events *[]call.Event) *call.Call {
	return &call.Call{Sink: func(ev call.Event) { *events = append(*events, ev) }}
}

// within returns a context that ends after a time.
func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), d)
	t.Cleanup(cancel)
	return ctx
}

// bubble runs a subtest in a synctest bubble.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, f)
	})
}

// eachRow runs a subtest in a synctest bubble for each row of a table in testdata. The first column
// is its name.
func eachRow(t *testing.T, name string, test func(t *testing.T, name string, row []string)) {
	for name, row := range table(t, name) {
		bubble(t, name, func(t *testing.T) { test(t, name, row) })
	}
}

// endsAfter returns a context that ends after a time because of cause.
func endsAfter(t testing.TB, d time.Duration, cause error) context.Context {
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(d, func() { cancel(cause) })
	return ctx
}

func wantCause(t testing.TB, err, cause error) {
	t.Helper()
	if !errors.Is(err, cause) {
		t.Errorf("error = %v, want %v", err, cause)
	}
}

// script writes down the events of a call as JSON, a line each, and then how its response ended and
// what it used.
func script(events []call.Event, r *call.Response) string {
	var b strings.Builder
	line := func(name string, v any) {
		data, _ := json.Marshal(v) // events have no values that fail
		fmt.Fprintf(&b, "%s %s\n", name, data)
	}
	for _, e := range events {
		line(fmt.Sprintf("%T", e), e)
	}
	line(r.Status, r.Usage)
	return b.String()
}

// wantScript compares a call with a script that is indented by tabs.
func wantScript(t *testing.T, events []call.Event, r *call.Response, want string) {
	t.Helper()
	want = strings.ReplaceAll(strings.TrimLeft(want, "\n"), "\t", "")
	wantEqual(t, "events and response", script(events, r), want)
}

// checkBlocks fails where starts and stops do not pair or a delta does not fit its block.
func checkBlocks(t testing.TB, events []call.Event) {
	t.Helper()
	kinds := map[int]string{} // of the open blocks
	next := 0
	for _, e := range append(events, nil) { // nil: the end
		ok := true
		switch e := e.(type) {
		case call.BlockStart:
			ok = e.Index == next
			next++
			kinds[e.Index] = e.Kind
		case call.BlockDelta:
			text := map[string]string{
				call.BlockText:     e.Text,
				call.BlockThinking: e.Thinking,
				call.BlockToolUse:  e.InputJSON,
			}[kinds[e.Index]]
			ok = text != "" && text == e.Text+e.Thinking+e.InputJSON
		case call.BlockStop:
			ok = kinds[e.Index] != ""
			delete(kinds, e.Index)
		case call.Retrying, nil:
			ok = len(kinds) == 0
		}

		if !ok {
			t.Errorf("%#v while these blocks are open: %v", e, kinds)
		}
	}
}
