package llm

import (
	"os"
	"path/filepath"
	"testing"
)

func TestCreate(t *testing.T) {
	body, err := os.ReadFile(filepath.Join("testdata", "response", "weather.json"))
	if err != nil {
		t.Fatal(err)
	}
	c, _, _ := newClient(t, 0, answer(200, string(body), "X-Request-Id", "req_1"))
	q := question()
	q.Plain = true
	events, r, err := collect(c.Stream(t.Context(), q))
	if err != nil {
		t.Fatal(err)
	}
	if r.RequestID != "req_1" || r.Model != "gpt-5.2-2025-12-11" {
		t.Errorf("request id %q, model %q", r.RequestID, r.Model)
	}
	if want := (Usage{Input: 1200, Cached: 1024, Output: 90, Reasoning: 64, Total: 1290}); r.Tokens != want {
		t.Errorf("Tokens = %+v, want %+v", r.Tokens, want)
	}
	compare(t, events, `
		start 0 thinking rs_1
		delta 0 "Checking the weather"
		stop 0
		start 1 search ws_1
		searching search weather: Tokyo, Japan
		stop 1
		start 2 search ws_2
		searching open_page https://weather.example/tokyo
		stop 2
		start 3 text msg_1
		delta 3 "Looking it up."
		stop 3
		start 4 text msg_2
		delta 4 "晴れ, 12 °C."
		stop 4
		usage 1290
		done completed
		`)
}

// TestBadResponses has answers of 200 that are not responses.
func TestBadResponses(t *testing.T) {
	for _, tt := range []struct {
		body    string
		kind    Kind
		message string
	}{
		{"", KindBadResponse, "the answer is empty"},
		{"<html><body>Sign in</body></html>", KindBadResponse, `the answer is not a response object (application/json): <html><body>Sign in</body></html>`},
		{"null", KindBadResponse, `the answer is not a response object (application/json): null`},
		{"[]", KindBadResponse, `the answer is not a response object (application/json): []`},
		{"42", KindBadResponse, `the answer is not a response object (application/json): 42`},
		{`{"id": oops}`, KindBadResponse, `the answer is not a response object (application/json): {"id": oops}`},
		{`{}`, KindBadResponse, "the response has no output"},
		{`{"output":{}}`, KindBadResponse, "the response has no output"},
		{`{"status":"completed","output":"text"}`, KindBadResponse, "the response has no output"},
		{`{"status":"queued","output":[]}`, KindBadResponse, "the response is still queued: background responses are not supported"},
		{`{"id":"resp_1","output":[`, KindConnection, "the answer was cut off: unexpected end of JSON input"},
		{`{"status":"failed","error":{"code":"invalid_prompt","message":"Bad prompt"}}`, KindFailed, "Bad prompt"},
		{`{"status":"failed","error":"boom"}`, KindFailed, "boom"},
		{`{"status":"failed"}`, KindFailed, "the response failed"},
		{`{"status":"cancelled","output":[]}`, KindFailed, "the response failed"},
		{`{"error":"boom"}`, KindFailed, "boom"},
	} {
		c, _, _ := newClient(t, 0, answer(200, tt.body))
		_, err := c.Create(t.Context(), question())
		e := asError(t, err)
		if e.Kind != tt.kind || e.Message != tt.message || e.Status != 200 || e.Attempts != 1 {
			t.Errorf("%s: %v %d %q (%d attempts), want %v 200 %q", tt.body, e.Kind, e.Status, e.Message, e.Attempts, tt.kind, tt.message)
		}
	}
}
