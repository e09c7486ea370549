package fakeapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/tidwall/gjson"
)

func start(t *testing.T, steps ...string) *Server {
	t.Helper()
	s, err := Start(steps...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// post sends a request and returns what the server sent. The error is that of the connection,
// also while the body is read.
func post(ctx context.Context, s *Server, body string) (status int, answer string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL+"/responses", strings.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	resp, err := http.DefaultTransport.RoundTrip(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(b), err
}

// ask is the body of a request with more members.
func ask(question, members string) string {
	b, _ := json.Marshal(question + "\n[Hints] recency_days=60")
	return fmt.Sprintf(`{"model":"gpt-5.2","input":[{"role":"user","content":[{"type":"input_text","text":%s}]}]%s}`, b, members)
}

const (
	streaming = `,"stream":true`
	searching = `,"tools":[{"type":"web_search"}],"include":["web_search_call.action.sources","reasoning.encrypted_content"]`
)

// Every turn says the same as one response and as a stream.
func TestTurns(t *testing.T) {
	for _, tt := range []struct{ step, question, members, status, types, text string }{
		{"delay=0s", "What is SQL?", searching, "completed", "reasoning message", "> What is SQL?"},
		{"delay=0s", "Latest Go version?", searching, "completed", "reasoning web_search_call reasoning web_search_call message", "example.com"},
		{"delay=0s", "東京の天気は？", searching, "completed", "reasoning web_search_call message", "オフライン"},
		{"delay=0s", "What is 2+2?", "", "completed", "message", "offline answer"},
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
			s := start(t, "always", tt.step)
			_, plain, err := post(t.Context(), s, ask(tt.question, tt.members))
			if err != nil {
				t.Fatal(err)
			}
			part := gjson.Get(plain, "output.#(type==message).content.0")
			text := part.Get("text").String()
			types := strings.NewReplacer(`"`, "", ",", " ", "[", "", "]", "").Replace(gjson.Get(plain, "output.#.type").Raw)
			if gjson.Get(plain, "status").String() != tt.status || types != tt.types || !strings.Contains(text, tt.text) {
				t.Errorf("answer = %s", plain)
			}
			for _, a := range part.Get("annotations").Array() {
				span := string([]rune(text)[a.Get("start_index").Int():a.Get("end_index").Int()])
				if !strings.HasPrefix(span, "([") || !strings.HasSuffix(span, "]("+a.Get("url").String()+"))") {
					t.Errorf("citation of %q in %s", span, plain)
				}
			}
			_, stream, _ := post(t.Context(), s, ask(tt.question, tt.members+streaming))
			var deltas, data string
			var done []string
			for i, block := range strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
				var event string
				event, data, _ = strings.Cut(block, "\ndata: ")
				e := gjson.Parse(data)
				if event != "event: "+e.Get("type").String() || int(e.Get("sequence_number").Int()) != i {
					t.Errorf("event %d is %q", i, block)
				}
				switch e.Get("type").String() {
				case "response.output_item.done":
					done = append(done, e.Get("item").Raw)
				case "response.output_text.delta":
					deltas += e.Get("delta").String()
				}
			}
			diff := cmp.Diff(gjson.Get(data, "response.output").Raw, "["+strings.Join(done, ",")+"]")
			if gjson.Get(data, "type").String() != "response."+tt.status || diff != "" {
				t.Errorf("stream ends with %s, items (-final +done):\n%s", data, diff)
			}
			if !strings.Contains(deltas, tt.text) {
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
		{"503", "", 503, `["server_error","server_error"]`},
		{"500", "", 500, `["server_error","server_error"]`},
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
		status, body, err := post(t.Context(), start(t, tt.step), ask("x", tt.members))
		if err != nil {
			status = 0
		}
		got := ""
		if status >= 400 {
			got = strings.ReplaceAll(gjson.Get(body, "error.[param,code,type]").Raw, " ", "")
		}
		if status != tt.status || got != tt.error {
			t.Errorf("%s with %q: %d %s %v", tt.step, tt.members, status, body, err)
		}
	}
}

func TestBadSteps(t *testing.T) {
	for _, word := range []string{"nonsense", "200", "delay=soon", "cut-after=few", "file=none.json", "slow=1ms+nonsense"} {
		if s, err := Start("ok", word); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("Start(%q) = %v, %v, want an error that names it", word, s, err)
		}
	}
}

// The steps of the next requests come before the one of all others.
func TestOrder(t *testing.T) {
	s := start(t, "500", "asked", "asked", "always", "503")
	var got []int
	for _, body := range []string{"any", ask("404 too late", ""), ask("What is SQL?", ""), "any", `{"model":"m"}`} {
		status, _, _ := post(t.Context(), s, body)
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{500, 404, 200, 503, 503}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	if log := s.Requests(); len(log) != 5 || string(log[4].Body) != `{"model":"m"}` || log[4].Path != "/v1/responses" {
		t.Errorf("requests = %+v", log)
	}
}

// A client that leaves is noticed, wherever the answer is.
func TestAborted(t *testing.T) {
	for _, step := range []string{"hang", "delay=1h", "ok+hang-after=3", "ok+slow=1h"} {
		s := start(t, step)
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		leave, left := context.WithCancel(ctx)
		go func() { _, _, _ = post(leave, s, ask("x", streaming)) }() // ends when the client has left
		if err := s.WaitRequests(ctx, 1); err != nil {
			t.Fatal(err)
		}
		left()
		if err := s.WaitAborted(ctx, 1); err != nil {
			t.Errorf("%s: leaving was not noticed: %v", step, err)
		}
	}
}
