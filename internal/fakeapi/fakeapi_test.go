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
	text, _ := json.Marshal(question + "\n[Hints] recency_days=60")
	content := fmt.Sprintf(`[{"type":"input_text","text":%s}]`, text)
	input := `[{"role":"user","content":` + content + `}]`

	return `{"model":"gpt-5.2","input":` + input + members + `}`
}

const (
	streaming = `,"stream":true`
	searching = `,"tools":[{"type":"web_search"}]` +
		`,"include":["web_search_call.action.sources","reasoning.encrypted_content"]`
)

// Every turn says the same as one response and as a stream.
func TestTurns(t *testing.T) {
	const (
		answered = "reasoning message"
		searched = "reasoning web_search_call message"
		opened   = "reasoning web_search_call reasoning web_search_call message"
		phased   = "reasoning message web_search_call message"
	)
	for _, tt := range []struct{ step, question, members, status, types, text string }{
		{"delay=0s", "What is SQL?", searching, "completed", answered, "> What is SQL?"},
		{"delay=0s", "Latest Go version?", searching, "completed", opened, "example.com"},
		{"delay=0s", "東京の天気は？", searching, "completed", searched, "オフライン"},
		{"delay=0s", "What is 2+2?", "", "completed", "message", "offline answer"},
		{"ok", "weather", searching, "completed", answered, "offline answer"},
		{"search", "x", "", "completed", "web_search_call web_search_call message", "offline"},
		{"uncited", "x", searching, "completed", searched, "offline"},
		{"phases", "x", searching, "completed", phased, "looking this up"},

		{"refusal", "x", searching, "completed", answered, ""},
		{"empty", "x", searching, "completed", "reasoning", ""},
		{"incomplete", "x", searching, "incomplete", answered, "offline"},
		{"failed", "x", "", "failed", "", ""},
	} {
		t.Run(tt.step+" "+tt.question, func(t *testing.T) {
			s := start(t, "always", tt.step)
			_, plain, err := post(t.Context(), s, ask(tt.question, tt.members))
			if err != nil {
				t.Fatal(err)
			}
			_, stream, err := post(t.Context(), s, ask(tt.question, tt.members+streaming))
			if err != nil {
				t.Fatal(err)
			}

			for _, response := range []gjson.Result{gjson.Parse(plain), readStream(t, stream)} {
				types := strings.Trim(response.Get("output.#.type").Raw, "[]")
				types = strings.NewReplacer(`"`, "", ",", " ").Replace(types)
				if types != tt.types {
					t.Errorf("types = %q, want %q", types, tt.types)
				}

				if got := response.Get("status").String(); got != tt.status {
					t.Errorf("status = %q, want %q", got, tt.status)
				}

				part := response.Get("output.#(type==message).content.0")
				if got := part.Get("text").String(); !strings.Contains(got, tt.text) {
					t.Errorf("text = %q, want %q in it", got, tt.text)
				}
				checkCitations(t, part)
			}
		})
	}
}

// checkCitations checks that each annotation spans a link to its page.
func checkCitations(t *testing.T, part gjson.Result) {
	t.Helper()
	text := []rune(part.Get("text").String())
	for _, a := range part.Get("annotations").Array() {
		span := string(text[a.Get("start_index").Int():a.Get("end_index").Int()])
		end := "](" + a.Get("url").String() + "))"
		if !strings.HasPrefix(span, "([") || !strings.HasSuffix(span, end) {
			t.Errorf("the citation is %q, want a link that ends with %q", span, end)
		}
	}
}

// readStream checks the events of a stream, and returns the response of the last one.
func readStream(t *testing.T, stream string) gjson.Result {
	t.Helper()
	var last gjson.Result
	var items []string
	deltas := ""
	for i, event := range strings.Split(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		head, data, _ := strings.Cut(event, "\ndata: ")

		last = gjson.Parse(data)
		kind := last.Get("type").String()

		if head != "event: "+kind {
			t.Errorf("event %d begins with %q, want its type %q", i, head, kind)
		}
		if n := last.Get("sequence_number").Int(); n != int64(i) {
			t.Errorf("event %d has number %d", i, n)
		}

		switch kind {
		case "response.output_item.done":
			items = append(items, last.Get("item").Raw)
		case "response.output_text.delta":
			deltas += last.Get("delta").String()
		}
	}

	response := last.Get("response")
	if got, want := "["+strings.Join(items, ",")+"]", response.Get("output").Raw; got != want {
		t.Errorf("items of the events = %s, want %s", got, want)
	}

	texts := ""
	for _, text := range response.Get("output.#.content.#.text|@flatten").Array() {
		texts += text.String()
	}
	if deltas != texts {
		t.Errorf("deltas = %q, want %q", deltas, texts)
	}
	return response
}

// Steps that end with an error, as it arrives in an answer that is not streamed.
func TestErrors(t *testing.T) {
	const (
		unsupported = `["store","unsupported_parameter","invalid_request_error"]`
		noStream    = `["stream","unsupported_value","invalid_request_error"]`
		noSummary   = `["reasoning.summary","unsupported_value","invalid_request_error"]`
	)
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
		{"refuses=store", `,"store":true`, 400, unsupported},
		{"refuses=text.verbosity", `,"text":{}`, 200, ""},
		{"unverified", streaming, 400, noStream},
		{"unverified", `,"reasoning":{"summary":"auto"}`, 400, noSummary},
		{"unverified", `,"stream":false`, 200, ""},

		{"redirect=http://example.com/a", "", 307, ""},
		{"garbage", "", 200, ""},
		{"cut", "", 0, ""},
		{"truncated", "", 0, ""},
		{"ok+cut-after=3", streaming, 0, ""},
	} {
		t.Run(tt.step+tt.members, func(t *testing.T) {
			status, body, err := post(t.Context(), start(t, tt.step), ask("x", tt.members))
			if err != nil {
				status = 0
			}
			if status != tt.status {
				t.Fatalf("status = %d, want %d: %s %v", status, tt.status, body, err)
			}

			got := ""
			if status >= 400 {
				got = gjson.Get(body, "error.[param,code,type]").Raw
			}
			if strings.Contains(body, "%s") {
				t.Errorf("the message lacks what it is about: %s", body)
			}
			if got != tt.error {
				t.Errorf("error = %s, want %s", got, tt.error)
			}
		})
	}
}

func TestBadSteps(t *testing.T) {
	for _, word := range []string{
		"nonsense",
		"200",
		"delay=soon",
		"cut-after=few",
		"file=none.json",
		"slow=1ms+nonsense",
	} {
		t.Run(word, func(t *testing.T) {
			s, err := Start("ok", word)
			if err == nil || !strings.Contains(err.Error(), word) {
				t.Errorf("Start() = %v, %v, want an error that names %s", s, err, word)
			}
		})
	}
}

// The steps of the next requests come before the one of all others.
func TestOrder(t *testing.T) {
	const last = `{"model":"m"}`
	s := start(t, "500", "asked", "asked", "always", "503")

	var got []int
	for _, body := range []string{
		"any",
		ask("404 too late", ""),
		ask("What is SQL?", ""),
		"any",
		last,
	} {
		status, _, _ := post(t.Context(), s, body)
		got = append(got, status)
	}
	if diff := cmp.Diff([]int{500, 404, 200, 503, 503}, got); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}

	requests := s.Requests()
	if len(requests) != 5 {
		t.Fatalf("%d requests, want 5", len(requests))
	}

	if got := requests[4].Path; got != "/v1/responses" {
		t.Errorf("path = %q, want /v1/responses", got)
	}
	if got := string(requests[4].Body); got != last {
		t.Errorf("body = %s, want %s", got, last)
	}
}

// A client that leaves is noticed, wherever the answer is.
func TestAborted(t *testing.T) {
	for _, step := range []string{"hang", "delay=1h", "ok+hang-after=3", "ok+slow=1h"} {
		t.Run(step, func(t *testing.T) {
			s := start(t, step)
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()

			request, leave := context.WithCancel(ctx)
			go func() { // ends when the client has left
				_, _, _ = post(request, s, ask("x", streaming))
			}()

			err := s.WaitRequests(ctx, 1)
			if err != nil {
				t.Fatal(err)
			}

			leave()
			err = s.WaitAborted(ctx, 1)
			if err != nil {
				t.Errorf("leaving was not noticed: %v", err)
			}
		})
	}
}
