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
	h := http.Header{"Content-Type": {c.contentType}}
	return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(c.body)), Request: r}, nil
}

// BenchmarkAsk has a question and its answer, without the network. The API
// answers with an object or a stream of 200 deltas.
func BenchmarkAsk(b *testing.B) {
	var text strings.Builder
	var urls []string
	for i := range 20 {
		urls = append(urls, fmt.Sprintf("https://example.com/page/%d", i))
		fmt.Fprintf(&text, "Fact %d of the answer, in a sentence of usual length ([page](%s)).\n\n", i, urls[i])
	}
	for name, item := range map[string]string{
		"short":        message("", "Yes. It is so."),
		"20_citations": message("", text.String(), urls...),
	} {
		whole := `{"id":"resp_1","status":"completed","model":"gpt-5.2","output":` + output(search(urls...), item) + `}`
		delta, _ := json.Marshal(map[string]any{"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "delta": "a few words"})
		stream := strings.Repeat("data: "+string(delta)+"\n\n", 200) + `data: {"type":"response.completed","response":` + whole + "}\n\n"
		for kind, api := range map[string]canned{"plain": {"application/json", whole}, "streamed": {"text/event-stream", stream}} {
			a, _ := newAnswerer(func(o *Options) {
				o.Client = llm.New(llm.Options{APIKey: "test-key", HTTPClient: &http.Client{Transport: api}})
			})
			b.Run(name+"/"+kind, func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := a.Ask(b.Context(), "answer", Question{Query: "?"}, func(llm.Event) {}); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
