package apitest

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

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

// The status and the items of a response.
const (
	answered = "completed reasoning message"
	searched = "completed reasoning web_search_call message"
	opened   = "completed reasoning web_search_call reasoning web_search_call message"
	bare     = "completed web_search_call web_search_call message"
)

var turnTests = []struct{ step, question, members, want, text string }{
	{
		"delay=0s", "What is SQL?", searching,
		answered, "> What is SQL?",
	},
	{
		"delay=0s", "Latest Go version?", searching,
		opened, "example.com",
	},
	{
		"delay=0s", "東京の天気は？", searching,
		opened, "オフライン",
	},
	{
		"delay=0s", "Weather?", "",
		"completed message", "offline answer",
	},

	{
		"ok", "weather", searching,
		answered, "offline answer",
	},
	{
		"search", "x", "",
		bare, "offline",
	},
	{
		"uncited", "x", searching,
		searched, "offline",
	},
	{
		"empty", "x", searching,
		"completed reasoning", "",
	},
	{
		"incomplete", "x", searching,
		"incomplete reasoning message", "offline",
	},
	{
		"failed", "x", "",
		"failed", "",
	},
}

// Every turn says the same as one response and as a stream.
func TestTurns(t *testing.T) {
	for _, tt := range turnTests {
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
				words := []string{response.Get("status").String()}
				for _, kind := range response.Get("output.#.type").Array() {
					words = append(words, kind.String())
				}

				if got := strings.Join(words, " "); got != tt.want {
					t.Errorf("status and items = %q, want %q", got, tt.want)
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

// Steps that end with an error, or only for some requests. want is the status and, of an error,
// param, code and type.
func TestErrors(t *testing.T) {
	const (
		unsupported = `400 ["store","unsupported_parameter","invalid_request_error"]`
		noStream    = `400 ["stream","unsupported_value","invalid_request_error"]`
		noSummary   = `400 ["reasoning.summary","unsupported_value","invalid_request_error"]`
	)
	for _, tt := range []struct{ step, members, want string }{
		{"400", "", `400 ["invalid_request_error"]`},
		{"401", "", `401 ["invalid_api_key","invalid_request_error"]`},
		{"404", "", `404 ["model","model_not_found","invalid_request_error"]`},
		{"429", "", `429 ["rate_limit_exceeded","requests"]`},
		{"quota", "", `429 ["insufficient_quota","insufficient_quota"]`},
		{"503", "", `503 ["server_error","server_error"]`},
		{"500", "", `500 ["server_error","server_error"]`},

		{"refuses=store", `,"store":false`, "200 []"},
		{"refuses=store", `,"store":true`, unsupported},
		{"refuses=user+blames=store", `,"user":"me"`, unsupported},
		{"refuses=text.verbosity", `,"text":{}`, "200 []"},
		{"unverified", streaming, noStream},
		{"unverified", `,"reasoning":{"summary":"auto"}`, noSummary},
		{"unverified", `,"stream":false`, "200 []"},

		{"cut", "", "broken"},
		{"truncated", "", "broken"},
		{"ok+cut-after=3", streaming, "broken"},
	} {
		t.Run(tt.step+tt.members, func(t *testing.T) {
			status, body, err := post(t.Context(), start(t, tt.step), ask("x", tt.members))
			got := fmt.Sprint(status, " ", gjson.Get(body, "error.[param,code,type]").Raw)
			if err != nil {
				got = "broken"
			}

			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			if strings.Contains(body, "%s") {
				t.Errorf("the message lacks what it is about: %s", body)
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
