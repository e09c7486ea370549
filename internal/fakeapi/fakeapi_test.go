package fakeapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// reply is what the server sent.
type reply struct {
	status int
	header http.Header
	body   string
	err    error // of the connection, also while the body is read
}

// start serves an API with these steps queued.
func start(t *testing.T, o Options, steps string) (s *Server, post func(ctx context.Context, body string) reply) {
	t.Helper()
	s = New(o)
	for word := range strings.FieldsSeq(steps) {
		st, err := ParseStep(word)
		if err != nil {
			t.Fatal(err)
		}
		s.Queue(st)
	}
	base, stop, err := s.Listen()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(stop)
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return s, func(ctx context.Context, body string) reply {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/responses", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer sk-test-0123456789abcdef")
		resp, err := client.Do(req)
		if err != nil {
			return reply{err: err}
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		return reply{resp.StatusCode, resp.Header, string(b), err}
	}
}

// ask is the body of a request with more members.
func ask(model, question, members string) string {
	b, _ := json.Marshal(question + "\n[Hints] recency_days=60")
	return `{"model":"` + model + `","input":[{"role":"user","content":[{"type":"input_text","text":` + string(b) + `}]}]` + members + `}`
}

const (
	streaming = `,"stream":true`
	searching = `,"tools":[{"type":"web_search"}],"include":["web_search_call.action.sources","reasoning.encrypted_content"]`
)

// payloads returns the payloads of an event stream and checks its framing.
func payloads(t *testing.T, body string) []string {
	t.Helper()
	var out []string
	for block := range strings.SplitSeq(strings.TrimSuffix(body, "\n\n"), "\n\n") {
		event, data, _ := strings.Cut(block, "\ndata: ")
		if event != "event: "+gjson.Get(data, "type").String() {
			t.Fatalf("bad event %q", block)
		}
		out = append(out, data)
	}
	return out
}

// Every turn says the same as one response and as a stream.
func TestTurns(t *testing.T) {
	for _, tt := range []struct{ step, question, members, status, types, text string }{
		{"", "What is SQL?", searching, "completed", "reasoning message", `question: "What is SQL?"`},
		{"", "Latest Go version?", searching, "completed", "reasoning web_search_call reasoning web_search_call message", "example.com"},
		{"", "東京の天気は？", searching, "completed", "reasoning web_search_call message", "オフライン"},
		{"", "What is 2+2?", `,"reasoning":{"effort":"none"}`, "completed", "message", "offline answer"},
		{"ok", "weather", searching, "completed", "reasoning message", "offline answer"},
		{"search", "x", "", "completed", "reasoning web_search_call reasoning web_search_call message", "offline"},
		{"uncited", "x", searching, "completed", "reasoning web_search_call message", "offline"},
		{"phases", "x", searching, "completed", "reasoning message web_search_call message", "looking this up"},
		{"refusal", "x", "", "completed", "reasoning message", ""},
		{"empty", "x", "", "completed", "reasoning", ""},
		{"incomplete", "x", "", "incomplete", "reasoning message", "offline"},
		{"incomplete:empty", "x", "", "incomplete", "reasoning", ""},
		{"failed", "x", "", "failed", "", ""},
		{"text=1+1=2, a", "x", "", "completed", "reasoning message", "1+1=2, a"},
	} {
		t.Run(tt.step+" "+tt.question, func(t *testing.T) {
			s, post := start(t, Options{}, "")
			st, err := ParseStep(tt.step)
			if err != nil {
				t.Fatalf("ParseStep = %v, %v", st, err)
			}
			s.Always(st)
			plain := gjson.Parse(post(t.Context(), ask("gpt-5.2", tt.question, tt.members)).body)
			var types []string
			for _, it := range plain.Get("output").Array() {
				types = append(types, it.Get("type").String())
			}
			text := plain.Get("output.#(type==message).content.0.text").String()
			if plain.Get("status").String() != tt.status || strings.Join(types, " ") != tt.types || !strings.Contains(text, tt.text) {
				t.Errorf("answer = %s", plain)
			}
			events := payloads(t, post(t.Context(), ask("gpt-5.2", tt.question, tt.members+streaming)).body)
			deltas := map[string]string{}
			var done []string
			for i, e := range events {
				if n := gjson.Get(e, "sequence_number"); int(n.Int()) != i {
					t.Errorf("event %d has number %s", i, n)
				}
				if typ := gjson.Get(e, "type").String(); typ == "response.output_item.done" {
					done = append(done, gjson.Get(e, "item").Raw)
				} else if d := gjson.Get(e, "delta").String(); d != "" {
					deltas[typ] += d
				}
			}
			final := gjson.Parse(events[len(events)-1])
			var whole []string
			for _, it := range final.Get("response.output").Array() {
				whole = append(whole, it.Raw)
			}
			if diff := cmp.Diff(whole, done); final.Get("type").String() != "response."+tt.status || diff != "" {
				t.Errorf("stream ends with %s, items (-final +done):\n%s", final, diff)
			}
			if tt.text != "" && !strings.Contains(deltas["response.output_text.delta"], tt.text) {
				t.Errorf("deltas = %q", deltas)
			}
		})
	}
}

func TestCitation(t *testing.T) {
	_, post := start(t, Options{}, "")
	r := gjson.Parse(post(t.Context(), ask("offline", "明日の天気は？", searching)).body)
	if got := r.Get("output.0.action.sources").Raw; got != `[{"name":"oai-weather","type":"api"},{"type":"url","url":"`+weatherURL+`"}]` {
		t.Errorf("sources = %s", got)
	}
	part := r.Get("output.1.content.0")
	a := part.Get("annotations.0")
	span := string([]rune(part.Get("text").String())[a.Get("start_index").Int():a.Get("end_index").Int()])
	if span != "([example.org]("+weatherURL+"?utm_source=openai))" || r.Get("tool_usage.web_search.num_requests").Int() != 1 {
		t.Errorf("span = %q of %s", span, r)
	}
}

// Steps that end with an error, as it arrives in an answer that is not streamed.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		step, members string
		status        int // 0: the connection breaks
		error         string
	}{
		{"400", "", 400, `[null,null,"invalid_request_error"]`},
		{"401", "", 401, `[null,"invalid_api_key","invalid_request_error"]`},
		{"403", "", 403, `[null,null,"invalid_request_error"]`},
		{"404", "", 404, `["model","model_not_found","invalid_request_error"]`},
		{"429", "", 429, `[null,"rate_limit_exceeded","requests"]`},
		{"quota", "", 429, `[null,"insufficient_quota","insufficient_quota"]`},
		{"502", "", 502, `[null,"server_error","server_error"]`},
		{"503", "", 503, `[null,null,"service_unavailable_error"]`},
		{"error:insufficient_quota", "", 429, `[null,"insufficient_quota","insufficient_quota"]`},
		{"error", "", 500, `[null,"server_error","server_error"]`},
		{"refuses=store", `,"store":false`, 200, ""},
		{"refuses=store", `,"store":true`, 400, `["store","unsupported_parameter","invalid_request_error"]`},
		{"refuses=text.verbosity", `,"text":{}`, 200, ""},
		{"refuses=include:reasoning.encrypted_content", searching, 400, `["include[1]","unsupported_parameter","invalid_request_error"]`},
		{"unverified", streaming, 400, `["stream","unsupported_value","invalid_request_error"]`},
		{"unverified", `,"reasoning":{"summary":"auto"}`, 400, `["reasoning.summary","unsupported_value","invalid_request_error"]`},
		{"unverified", `,"stream":false`, 200, ""},
		{"redirect=http://example.com/a+b", "", 307, ""},
		{"garbage", "", 200, ""},
		{"cut", "", 0, ""},
		{"truncated", "", 0, ""},
		{"ok+cut-after=3", streaming, 0, ""},
		{"garbage:json delay=1ms", "", 200, ""},
	} {
		_, post := start(t, Options{}, tt.step)
		r := post(t.Context(), ask("gpt-5.2", "x", tt.members))
		if r.err != nil {
			r.status = 0
		}
		got := ""
		if e := gjson.Get(r.body, "error.[param,code,type]"); r.status >= 400 {
			got = strings.ReplaceAll(e.Raw, " ", "")
		}
		if r.status != tt.status || got != tt.error {
			t.Errorf("%s with %q: %d %s %v", tt.step, tt.members, r.status, r.body, r.err)
		}
	}
}

func TestRetryHeaders(t *testing.T) {
	_, post := start(t, Options{}, "429 429:none 429:retry-after=3 429:retry-after-ms=5")
	for _, want := range []string{"1 20", " ", "3 ", " 5"} {
		h := post(t.Context(), ask("m", "x", "")).header
		if got := h.Get("Retry-After") + " " + h.Get("Retry-After-Ms"); got != want {
			t.Errorf("headers = %q, want %q", got, want)
		}
	}
}

func TestParseStepErrors(t *testing.T) {
	for _, word := range []string{"nonsense", "200", "delay=soon", "cut-after=few", "colour=red", "garbage:tasty", "file=testdata/none.json", "slow=1ms+nonsense"} {
		if s, err := ParseStep(word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ParseStep(%q) = %v, %v, want an error that names it", word, s, err)
		}
	}
}

// The queue comes first, then the choice by the question, then the default.
func TestOrder(t *testing.T) {
	s, post := start(t, Options{Keep: 2}, "500")
	st, err := ParseStep("502")
	if err != nil {
		t.Fatal(err)
	}
	s.Always(st)
	got := []int{post(t.Context(), `any`).status, post(t.Context(), `any`).status}
	s.Choose(func(q string) Step {
		st, err := ParseStep(map[string]string{"late": "503", "": "404"}[q])
		if err != nil {
			t.Error(err)
		}
		return st
	})
	for _, body := range []string{ask("m", "late", ""), ask("m", "fine", ""), `{"model":"m","input":"late"}`, `{"model":"m"}`, `{"input":"fine"}`} {
		got = append(got, post(t.Context(), body).status)
	}
	if diff := cmp.Diff([]int{500, 502, 503, 200, 503, 404, 400}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if log := s.Requests(); len(log) != 2 || string(log[1].Body) != `{"input":"fine"}` || log[1].Path != "/v1/responses" {
		t.Errorf("requests = %+v", log)
	}
}

func TestRoutes(t *testing.T) {
	h := New(Options{Key: "sk-right-key"})
	for _, tt := range []struct{ key, method, path, body, want string }{
		{"sk-right-key", "GET", "/v1/models/m", "", `200 "id":"m"`},
		{"sk-right-key", "POST", "/v1/responses", ask("m", "x", ""), `200 "status":"completed"`},
		{"sk-right-key", "DELETE", "/v1/responses", "", "404 Invalid URL (DELETE /v1/responses)"},
		{"sk-another-key-0123456789", "GET", "/v1/models", "", "401 provided: sk-anoth********6789."},
	} {
		r := httptest.NewRequest(tt.method, tt.path, strings.NewReader(tt.body))
		r.Header.Set("Authorization", "Bearer "+tt.key)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		status, fragment, _ := strings.Cut(tt.want, " ")
		if w.Header().Get("x-request-id") == "" || !strings.HasPrefix(w.Result().Status, status) || !strings.Contains(w.Body.String(), fragment) {
			t.Errorf("%s %s = %d %s, want %s", tt.method, tt.path, w.Code, w.Body, tt.want)
		}
	}
}

// A client that leaves is noticed, wherever the answer is.
func TestAborted(t *testing.T) {
	for _, step := range []string{"hang", "delay=1h", "ok+hang-after=3", "ok+slow=1h"} {
		s, post := start(t, Options{}, step)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		leave, left := context.WithCancel(ctx)
		done := make(chan reply)
		go func() { done <- post(leave, ask("offline", "x", streaming)) }()
		if err := s.WaitRequests(ctx, 1); err != nil {
			t.Fatal(err)
		}
		left()
		if r := <-done; r.err == nil {
			t.Errorf("%s: answered %d %s", step, r.status, r.body)
		}
		if err := s.WaitAborted(ctx, 1); err != nil {
			t.Errorf("%s: leaving was not noticed: %v", step, err)
		}
	}
}

const twoTurns = `{"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}
{"type":"response.novelty","payload":1}

{"type":"response.completed","response":{"id":"resp_1","status":"completed","output":[]}}
{"type":"response.created","response":{"id":"resp_2","status":"in_progress","output":[]}}
{"type":"error","code":"server_error","message":"Sorry.","param":null}
`

// A recording of two turns answers two requests, and each also as one response.
func TestReplay(t *testing.T) {
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return "file=" + path
	}
	stream := write("a+b.chunks.txt", twoTurns)
	const answer = `{"object":"response","status":"completed","error":null,"output":[{"type":"novelty","id":"n_1"}]}`
	const quota = `{"error":{"message":"No more.","type":"insufficient_quota","param":null,"code":"insufficient_quota"}}`
	_, post := start(t, Options{}, strings.Join([]string{stream, stream, write("answer.json", answer), write("answer.json", answer), write("error.json", quota)}, " "))
	var got []string
	for range 2 {
		got = append(got, payloads(t, post(t.Context(), ask("m", "x", streaming)).body)...)
	}
	if diff := cmp.Diff(strings.ReplaceAll(twoTurns, "\n\n", "\n"), strings.Join(got, "\n")+"\n"); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
	first, second := post(t.Context(), ask("m", "x", "")), post(t.Context(), ask("m", "x", ""))
	if gjson.Get(first.body, "id").String() != "resp_1" || second.status != 500 || gjson.Get(second.body, "error.message").String() != "Sorry." {
		t.Errorf("answers = %+v and %+v", first, second)
	}
	if r := post(t.Context(), ask("m", "x", "")); r.body != answer {
		t.Errorf("answer = %s", r.body)
	}
	events := payloads(t, post(t.Context(), ask("m", "x", streaming)).body)
	if last := events[len(events)-1]; len(events) != 5 || gjson.Get(last, "response").Raw != answer {
		t.Errorf("answer as a stream = %q", events)
	}
	if r := post(t.Context(), ask("m", "x", "")); r.status != 429 {
		t.Errorf("error = %+v", r)
	}
	if _, err := ParseStep(write("bad.json", "{")); err == nil {
		t.Error("a file that is not JSON was accepted")
	}
}
