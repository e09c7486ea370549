package answer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// canned is an API that gives every request the same answer.
type canned struct{ contentType, body string }

func (c canned) RoundTrip(r *http.Request) (*http.Response, error) {
	return &http.Response{
		StatusCode: http.StatusOK,
		Header:     http.Header{"Content-Type": {c.contentType}},
		Body:       io.NopCloser(strings.NewReader(c.body)),
		Request:    r,
	}, nil
}

// stream returns the events of a response, with 200 deltas before its end.
func stream(response string) string {
	delta, _ := json.Marshal(map[string]any{
		"type":         "response.output_text.delta",
		"item_id":      "msg_1",
		"output_index": 1,
		"delta":        "a few words",
	})
	deltas := strings.Repeat("data: "+string(delta)+"\n\n", 200)
	return deltas + `data: {"type":"response.completed","response":` + response + "}\n\n"
}

// BenchmarkAsk has a question and its answer, without the network. The API
// answers with an object or a stream.
func BenchmarkAsk(b *testing.B) {
	const fact = "Fact %d of the answer, in a sentence of usual length ([page](%s)).\n\n"
	var text strings.Builder
	var pages []string
	for i := range 20 {
		page := fmt.Sprintf("https://example.com/page/%d", i)
		pages = append(pages, page)
		fmt.Fprintf(&text, fact, i, page)
	}

	for name, item := range map[string]string{
		"short":        message("", "Yes. It is so."),
		"20_citations": message("", text.String(), pages...),
	} {
		response := completed(search(pages...), item)
		benchmark(b, name+"/plain", canned{"application/json", response})
		benchmark(b, name+"/streamed", canned{"text/event-stream", stream(response)})
	}
}

func benchmark(b *testing.B, name string, api canned) {
	a, _ := newAnswerer(func(o *Options) {
		o.Client = llm.New(llm.Options{
			APIKey:     "test-key",
			HTTPClient: &http.Client{Transport: api},
		})
	})

	b.Run(name, func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			call := &llm.Call{Tool: "answer", Sink: func(llm.Event) {}}
			_, err := a.Ask(b.Context(), call, Question{Query: "?"})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}
