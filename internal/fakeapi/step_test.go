package fakeapi

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

func TestParseStepErrors(t *testing.T) {
	for _, word := range []string{
		"nonsense", "200", "delay=soon", "cut-after=few", "colour=red", "tools:rounds=0", "tools:depth=1",
		"429:retry=1", "garbage:tasty", "huge=x", "file=testdata/none.json", "slow=1ms+nonsense",
	} {
		if s, err := ParseStep(word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ParseStep(%q) = %v, %v, want an error that names it", word, s, err)
		}
	}
	if _, err := ParseSteps("ok nonsense"); err == nil {
		t.Error(`ParseSteps("ok nonsense") succeeded`)
	}
	if s, err := ParseStep("weather+delay=1ms"); err != nil || s.String() != "weather+delay=1ms" {
		t.Errorf("ParseStep = %q, %v", s, err)
	}
}

// Steps that are an HTTP error, in the words of the API.
func TestErrorSteps(t *testing.T) {
	f := newFixture(t, Options{})
	tests := []struct {
		word                       string
		status                     int
		typ, param, code, fragment string
	}{
		{"400", 400, "invalid_request_error", "", "", "Invalid request"},
		{"400:param=reasoning.effort", 400, "invalid_request_error", "reasoning.effort", "unsupported_parameter", "'reasoning.effort'"},
		{"400:param=tools,code=invalid_value", 400, "invalid_request_error", "tools", "invalid_value", "'tools'"},
		{"401", 401, "invalid_request_error", "", "invalid_api_key", "Incorrect API key provided: sk-test-********"},
		{"403", 403, "invalid_request_error", "", "", "insufficient permissions"},
		{"404", 404, "invalid_request_error", "", "model_not_found", "The model `offline` does not exist"},
		{"422", 422, "invalid_request_error", "", "", ""},
		{"429", 429, "requests", "", "rate_limit_exceeded", "Please try again in 20ms"},
		{"429:retry-after=2", 429, "requests", "", "rate_limit_exceeded", "Please try again in 2s"},
		{"quota", 429, "insufficient_quota", "", "insufficient_quota", "exceeded your current quota"},
		{"500", 500, "server_error", "", "server_error", "include the request ID req_"},
		{"503", 503, "service_unavailable_error", "", "", "overloaded"},
		{"error:insufficient_quota", 429, "insufficient_quota", "", "insufficient_quota", "quota"},
		{"error", 500, "server_error", "", "server_error", "An error occurred"},
	}
	for _, tt := range tests {
		f.queue(tt.word)
		r := f.post(question("offline", "x"))
		e := r.errorOf(t)
		if r.status != tt.status || e.Type != tt.typ || deref(e.Param) != tt.param || deref(e.Code) != tt.code ||
			!strings.Contains(e.Message, tt.fragment) {
			t.Errorf("step %s = %d %s, want %+v", tt.word, r.status, r.body, tt)
		}
		if r.header.Get("x-request-id") == "" {
			t.Errorf("step %s has no x-request-id", tt.word)
		}
	}
	f.queue("404")
	if e := f.do(t.Context(), http.MethodGet, "/models/o3", "").errorOf(t); !strings.Contains(e.Message, "`o3`") {
		t.Errorf("404 of a model request = %+v, want its id", e)
	}
}

func TestRetryAfter(t *testing.T) {
	f := newFixture(t, Options{})
	for word, want := range map[string][2]string{
		"429":                  {"1", "20"},
		"429:none":             {"", ""},
		"429:retry-after=3":    {"3", ""},
		"429:retry-after-ms=5": {"", "5"},
	} {
		f.queue(word)
		h := f.post(question("offline", "x")).header
		if got := [2]string{h.Get("Retry-After"), h.Get("Retry-After-Ms")}; got != want {
			t.Errorf("headers of %s = %q, want %q", word, got, want)
		}
	}
}

// Steps that change what the model says.
func TestTurnSteps(t *testing.T) {
	f := newFixture(t, Options{})
	tests := []struct {
		word, types, status, text string
	}{
		{"ok", "message", "completed", "offline answer"},
		{"weather", "web_search_call message", "completed", "offline answer"},
		{"search+delay=1ms", "web_search_call web_search_call message", "completed", "offline"},
		{"uncited", "web_search_call message", "completed", "offline"},
		{"phases", "message web_search_call message", "completed", "looking this up"},
		{"refusal", "message", "completed", "I can't help"},
		{"empty", "", "completed", ""},
		{"incomplete", "message", "incomplete", "offline answer"},
		{"incomplete:content_filter", "message", "incomplete", "offline answer"},
		{"incomplete:empty", "", "incomplete", ""},
		{"failed", "", "failed", ""},
		{"failed:insufficient_quota", "", "failed", ""},
		{"text=1+1=2, a+b", "message", "completed", "1+1=2, a+b"},
	}
	for _, tt := range tests {
		step, err := ParseStep(tt.word)
		if err != nil {
			t.Fatal(err)
		}
		f.Queue(step)
		w := f.post(question("offline", "What is SQL?", withSources)).response(t)
		if w.types() != tt.types || w.Status != tt.status || !strings.Contains(w.text(), tt.text) || (w.text() == "") != (tt.text == "") {
			t.Errorf("step %s = %s, %s, %q; want %+v", tt.word, w.types(), w.Status, w.text(), tt)
		}
		if (w.Status == "failed") != (w.Error != nil) || (w.Status == "incomplete") != (w.IncompleteDetails != nil) {
			t.Errorf("step %s: status %s with error %v, incomplete_details %v", tt.word, w.Status, w.Error, w.IncompleteDetails)
		}
	}
	// The API sends null for sources that it does not have.
	f.queue("uncited")
	if b := f.post(question("offline", "x", withSources)).body; !strings.Contains(string(b), `"sources": null`) {
		t.Errorf("uncited search = %s, want sources null", b)
	}
}

// Steps that are no answer at all.
func TestWireSteps(t *testing.T) {
	f := newFixture(t, Options{})
	tests := []struct {
		word   string
		status int // 0: the connection breaks before an answer
		whole  bool
		body   string
	}{
		{"cut", 0, false, ""},
		{"truncated", 200, false, `{"id":"resp_`},
		{"garbage", 200, true, "<!doctype html>"},
		{"garbage:json", 200, true, `{"hello":"world"}`},
		{"garbage:empty", 200, true, ""},
		{"garbage:sse", 200, true, "event: response.created"},
		{"huge=1", 200, true, `{"id":"aaaa`},
		{"redirect=http://example.com/v1/responses", 307, true, ""},
	}
	for _, tt := range tests {
		f.queue(tt.word)
		r := f.post(question("offline", "x"))
		if r.status != tt.status || (r.err == nil) != tt.whole || !strings.HasPrefix(string(r.body), tt.body) {
			t.Errorf("step %s = %d %.40q %v, want %+v", tt.word, r.status, r.body, r.err, tt)
		}
	}
	for i, r := range f.Requests() {
		if r.Aborted {
			t.Errorf("step %s: the client counts as gone, but the server broke off", tests[i].word)
		}
	}
	f.Queue(Body(418, "text/plain", "short and stout"))
	if r := f.post("any"); r.status != 418 || string(r.body) != "short and stout" {
		t.Errorf("Body(418) = %d %q", r.status, r.body)
	}
}

func TestRefusingSteps(t *testing.T) {
	f := newFixture(t, Options{})
	tests := []struct {
		word, extra, param, code string // param empty: an answer
	}{
		{"unverified", streaming, "stream", "unsupported_value"},
		{"unverified", `"reasoning":{"summary":"auto"}`, "reasoning.summary", "unsupported_value"},
		{"unverified", `"stream":false,"reasoning":{"effort":"low"}`, "", ""},
		{"refuses=store", `"user":"u"`, "store", "unsupported_parameter"},
		{"refuses=text.verbosity", `"text":{"verbosity":"low"}`, "text.verbosity", "unsupported_parameter"},
		{"refuses=text.verbosity", `"text":{}`, "", ""},
		{"refuses=include:reasoning.encrypted_content", withSeal, "include[1]", "unsupported_value"},
		{"refuses=include:reasoning.encrypted_content", withSources, "", ""},
	}
	for _, tt := range tests {
		f.queue(tt.word)
		r := f.post(question("gpt-5.2", "x", tt.extra))
		if tt.param == "" {
			r.response(t)
			continue
		}
		if e := r.errorOf(t); r.status != 400 || deref(e.Param) != tt.param || deref(e.Code) != tt.code {
			t.Errorf("step %s with %s = %d %s, want 400, param %s", tt.word, tt.extra, r.status, r.body, tt.param)
		}
	}
}

func TestQueueAndAlways(t *testing.T) {
	f := newFixture(t, Options{})
	always, err := ParseStep("503")
	if err != nil {
		t.Fatal(err)
	}
	f.queue("429 500")
	f.Always(always)
	for i, want := range []int{429, 500, 503, 503} {
		if got := f.post(question("offline", "x")).status; got != want {
			t.Errorf("status of request %d = %d, want %d", i, got, want)
		}
	}
	f.queue("ok")
	f.post(question("offline", "x")).response(t)
}

// A client that goes away is seen, whatever the server was doing.
func TestAborted(t *testing.T) {
	for _, word := range []string{"hang", "delay=1h", "ok+hang-after=3", "ok+slow=1h"} {
		f := newFixture(t, Options{})
		f.queue(word)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan reply)
		go func() { done <- f.do(ctx, http.MethodPost, "/responses", question("offline", "x", streaming)) }()
		if err := f.WaitRequests(patience(t), 1); err != nil {
			t.Fatal(err)
		}
		if f.Requests()[0].Aborted {
			t.Errorf("%s: aborted before the client left", word)
		}
		cancel()
		if r := <-done; r.err == nil {
			t.Errorf("%s: answered %d %s", word, r.status, r.body)
		}
		if err := f.WaitAborted(patience(t), 1); err != nil || !f.Requests()[0].Aborted {
			t.Errorf("%s: departure not seen: %v", word, err)
		}
	}
}

func TestDelay(t *testing.T) {
	f := newFixture(t, Options{})
	f.queue("ok+delay=30ms")
	start := time.Now()
	f.post(question("offline", "x")).response(t)
	if d := time.Since(start); d < 30*time.Millisecond {
		t.Errorf("answer after %v, want at least 30ms", d)
	}
}

func TestFileOfAnswer(t *testing.T) {
	f := newFixture(t, Options{})
	dir := t.TempDir()
	answer, errBody := filepath.Join(dir, "a+b.json"), filepath.Join(dir, "error.json")
	for path, text := range map[string]string{
		answer:  `{"object":"response","status":"completed","error":null,"output":[{"type":"novelty","id":"n_1"}]}`,
		errBody: `{"error":{"message":"No more.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`,
	} {
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f.queue("file=" + answer + " file=" + errBody)
	if w := f.post(question("offline", "x")).response(t); w.types() != "novelty" {
		t.Errorf("replayed answer = %+v, want the file's", w)
	}
	if r := f.post(question("offline", "x")); r.status != 429 || *r.errorOf(t).Code != "insufficient_quota" {
		t.Errorf("replayed error = %d %s, want 429", r.status, r.body)
	}
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := ParseStep("file=" + bad); err == nil {
		t.Error("a file that is not JSON was accepted")
	}
}

// Each question gets its own behaviour, whatever the order; the queue comes first.
func TestChoose(t *testing.T) {
	f := newFixture(t, Options{})
	f.Choose(func(question string) Step {
		step, err := ParseStep(map[string]string{"late": "503", "": "404"}[question])
		if err != nil {
			t.Error(err)
		}
		return step
	})
	f.queue("500")
	for _, tt := range []struct {
		body string
		want int
	}{
		{question("gpt-5.2", "late"), 500},
		{question("gpt-5.2", "late"), 503},
		{question("gpt-5.2", "fine"), 200},
		{`{"model":"gpt-5.2"}`, 404},
		{`no JSON`, 404},
	} {
		if got := f.post(tt.body); got.status != tt.want {
			t.Errorf("status = %d, want %d: %s", got.status, tt.want, tt.body)
		}
	}
}

// A request that was waited for has taken its step, so that the next one gets
// the next: a test may count on the order of what it queued.
func TestStepAtArrival(t *testing.T) {
	for range 1000 {
		s := New(Options{})
		var taken atomic.Bool
		s.Choose(func(string) Step {
			taken.Store(true)
			return Step{}
		})
		var done sync.WaitGroup
		done.Go(func() {
			s.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/v1/models", nil))
		})
		if err := s.WaitRequests(t.Context(), 1); err != nil || !taken.Load() {
			t.Fatalf("a request arrived (%v) before its step was taken", err)
		}
		done.Wait()
	}
}
