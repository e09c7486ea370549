package apitest

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// post sends a request and returns the answer.
func post(s *Server, body string) string {
	w := httptest.NewRecorder()
	s.ServeHTTP(w, httptest.NewRequest("POST", "/v1/responses", strings.NewReader(body)))
	return w.Body.String()
}

// ask is the body of a request with more members.
func ask(question, members string) string {
	text, _ := json.Marshal(question + "\n[Hints] recency_days=60")
	content := fmt.Sprintf(`[{"type":"input_text","text":%s}]`, text)
	input := `[{"role":"user","content":` + content + `}]`

	return `{"model":"gpt-5.2","input":` + input + members + `}`
}

const searching = `,"tools":[{"type":"web_search"}]` +
	`,"include":["web_search_call.action.sources","reasoning.encrypted_content"]`

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
			s, err := New("always", tt.step)
			if err != nil {
				t.Fatal(err)
			}

			plain := post(s, ask(tt.question, tt.members))
			stream := post(s, ask(tt.question, tt.members+`,"stream":true`))

			for _, response := range []gjson.Result{gjson.Parse(plain), readStream(t, stream)} {
				words := []string{response.Get("status").String()}
				for _, kind := range response.Get("output.#.type").Array() {
					words = append(words, kind.String())
				}

				compare.Equal(t, "status and items", strings.Join(words, " "), tt.want)

				part := response.Get("output.#(type==message).content.0")
				compare.Contains(t, "text", part.Get("text").String(), tt.text)
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

		compare.Equal(t, "head of the event", head, "event: "+kind)
		compare.Equal(t, "number of the event", last.Get("sequence_number").Int(), int64(i))

		switch kind {
		case "response.output_item.done":
			items = append(items, last.Get("item").Raw)
		case "response.output_text.delta":
			deltas += last.Get("delta").String()
		}
	}

	response := last.Get("response")
	output := "[" + strings.Join(items, ",") + "]"
	compare.Equal(t, "items of the events", output, response.Get("output").Raw)

	texts := ""
	for _, text := range response.Get("output.#.content.#.text|@flatten").Array() {
		texts += text.String()
	}
	compare.Equal(t, "deltas", deltas, texts)
	return response
}
