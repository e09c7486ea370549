package fakeapi

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

// reply is what the server sent.
type reply struct {
	status int
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
		return reply{resp.StatusCode, string(b), err}
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
		{"", "What is SQL?", searching, "completed", "reasoning message", "> What is SQL?"},
		{"", "Latest Go version?", searching, "completed", "reasoning web_search_call reasoning web_search_call message", "example.com"},
		{"", "東京の天気は？", searching, "completed", "reasoning web_search_call message", "オフライン"},
		{"", "What is 2+2?", "", "completed", "message", "offline answer"},
		{"ok", "weather", searching, "completed", "reasoning message", "offline answer"},
		{"search", "x", "", "completed", "web_search_call web_search_call message", "offline"},
		{"uncited", "x", searching, "completed", "reasoning web_search_call message", "offline"},
		{"phases", "x", searching, "completed", "reasoning message web_search_call message", "looking this up"},
		{"refusal", "x", searching, "completed", "reasoning message", ""},
		{"empty", "x", searching, "completed", "reasoning", ""},
		{"incomplete", "x", searching, "incomplete", "reasoning message", "offline"},
		{"failed", "x", "", "failed", "", ""},
	} {
		t.Run(tt.step+" "+tt.question, func(t *testing.T) {
			_, post := start(t, Options{}, tt.step+" "+tt.step)
			plain := gjson.Parse(post(t.Context(), ask("gpt-5.2", tt.question, tt.members)).body)
			part := plain.Get("output.#(type==message).content.0")
			text := part.Get("text").String()
			types := strings.Trim(plain.Get("output.#.type").Raw, "[]")
			types = strings.NewReplacer(`"`, "", ",", " ").Replace(types)
			if plain.Get("status").String() != tt.status || types != tt.types || !strings.Contains(text, tt.text) {
				t.Errorf("answer = %s", plain)
			}
			for _, a := range part.Get("annotations").Array() {
				span := string([]rune(text)[a.Get("start_index").Int():a.Get("end_index").Int()])
				if !strings.HasPrefix(span, "([") || !strings.HasSuffix(span, "]("+a.Get("url").String()+"))") {
					t.Errorf("citation of %q in %s", span, plain)
				}
			}
			events := payloads(t, post(t.Context(), ask("gpt-5.2", tt.question, tt.members+streaming)).body)
			var deltas string
			var done []string
			for i, e := range events {
				if n := gjson.Get(e, "sequence_number"); int(n.Int()) != i {
					t.Errorf("event %d has number %s", i, n)
				}
				switch gjson.Get(e, "type").String() {
				case "response.output_item.done":
					done = append(done, gjson.Get(e, "item").Raw)
				case "response.output_text.delta":
					deltas += gjson.Get(e, "delta").String()
				}
			}
			final := gjson.Parse(events[len(events)-1])
			diff := cmp.Diff(final.Get("response.output").Raw, "["+strings.Join(done, ",")+"]")
			if final.Get("type").String() != "response."+tt.status || diff != "" {
				t.Errorf("stream ends with %s, items (-final +done):\n%s", final, diff)
			}
			if tt.text != "" && !strings.Contains(deltas, tt.text) {
				t.Errorf("deltas = %q", deltas)
			}
		})
	}
}

// Steps that end with an error, as it arrives in an answer that is not streamed.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		step, members string
		status        int // 0: the connection breaks
		error         string
	}{
		{"400", "", 400, `["invalid_request_error"]`},
		{"401", "", 401, `["invalid_api_key","invalid_request_error"]`},
		{"404", "", 404, `["model","model_not_found","invalid_request_error"]`},
		{"429", "", 429, `["rate_limit_exceeded","requests"]`},
		{"quota", "", 429, `["insufficient_quota","insufficient_quota"]`},
		{"502", "", 502, `["server_error","server_error"]`},
		{"error:insufficient_quota", "", 429, `["insufficient_quota","insufficient_quota"]`},
		{"error", "", 500, `["server_error","server_error"]`},
		{"refuses=store", `,"store":false`, 200, ""},
		{"refuses=store", `,"store":true`, 400, `["store","unsupported_parameter","invalid_request_error"]`},
		{"refuses=text.verbosity", `,"text":{}`, 200, ""},
		{"unverified", streaming, 400, `["stream","unsupported_value","invalid_request_error"]`},
		{"unverified", `,"reasoning":{"summary":"auto"}`, 400, `["reasoning.summary","unsupported_value","invalid_request_error"]`},
		{"unverified", `,"stream":false`, 200, ""},
		{"redirect=http://example.com/a", "", 307, ""},
		{"garbage", "", 200, ""},
		{"cut", "", 0, ""},
		{"truncated", "", 0, ""},
		{"ok+cut-after=3", streaming, 0, ""},
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

func TestParseStepErrors(t *testing.T) {
	for _, word := range []string{"nonsense", "200", "delay=soon", "cut-after=few", "colour=red", "file=none.json", "slow=1ms+nonsense"} {
		if s, err := ParseStep(word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("ParseStep(%q) = %v, %v, want an error that names it", word, s, err)
		}
	}
}

// The queue comes first.
func TestOrder(t *testing.T) {
	s, post := start(t, Options{Keep: 2}, "500 asked asked")
	st, err := ParseStep("502")
	if err != nil {
		t.Fatal(err)
	}
	s.Always(st)
	var got []int
	for _, body := range []string{"any", ask("m", "503 too late", ""), ask("m", "What is SQL?", ""), "any", `{"model":"m"}`} {
		got = append(got, post(t.Context(), body).status)
	}
	if diff := cmp.Diff([]int{500, 503, 200, 502, 502}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if log := s.Requests(); len(log) != 2 || string(log[1].Body) != `{"model":"m"}` || log[1].Path != "/v1/responses" {
		t.Errorf("requests = %+v", log)
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
