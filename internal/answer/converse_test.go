package answer

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	// uncited rests on a search and names nothing.
	uncited = `{"id":"resp_1","status":"completed","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"output":[` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` +
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x","sources":null}},` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Uncited."}]}]}`
	// cites is its better second answer.
	cites = `{"id":"resp_2","status":"completed","usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30},"output":[` +
		`{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"Cited.",` +
		`"annotations":[{"type":"url_citation","url":"https://a.example/","title":"A"}]}]}]}`
	silent  = `{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"}]}`
	refused = `{"error":{"message":"no","type":"invalid_request_error","code":"x"}}`
)

func TestAskRequery(t *testing.T) {
	tests := []struct {
		name     string
		attempts int
		bodies   []string
		requests int
		want     string // text, or the error explained
	}{
		{"off", 0, []string{uncited}, 1, "Uncited."},
		{"good at once", 2, []string{cites}, 1, "Cited.\n\nSources:\n- https://a.example/ (2025-08-09)"},
		{"nothing to cite", 1, []string{uncited, cites}, 2, "Cited.\n\nSources:\n- https://a.example/ (2025-08-09)"},
		{"never anything to cite", 2, []string{uncited}, 3, "Uncited."},
		{"no text", 1, []string{silent, cites}, 2, "Cited.\n\nSources:\n- https://a.example/ (2025-08-09)"},
		{"no text ever", 1, []string{silent}, 2, "incomplete: max_output_tokens; the model wrote no answer: ask for less, or raise max_output_tokens in request.extra_body"},
		{"text, then none", 1, []string{uncited, silent}, 2, "Uncited."},
		{"text, then an error", 1, []string{uncited, refused}, 2, "Uncited."},
		{"no text, then an error", 1, []string{silent, refused}, 2, "incomplete: max_output_tokens; the model wrote no answer: ask for less, or raise max_output_tokens in request.extra_body"},
		{"a call that nobody offered", 2, []string{`{"status":"completed","output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}`}, 1, "no output; the model wrote no answer: try again"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, sent := newAnswerer(t, func(o *Options) { o.RequeryAttempts = tt.attempts }, tt.bodies...)
			ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
			got := explained(err)
			if err == nil {
				got = ans.Text
			}
			if got != tt.want || len(sent.sent) != tt.requests {
				t.Errorf("Ask = %q after %d requests, want %q after %d", got, len(sent.sent), tt.want, tt.requests)
			}
		})
	}
}

// The second request holds the first one's input, all its output as it came,
// and what to do better; nothing refers to a response that the API has stored.
func TestAskRequeryIsStateless(t *testing.T) {
	a, sent := newAnswerer(t, func(o *Options) { o.RequeryAttempts = 1 }, uncited, cites)
	ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := sent.request(t, 0), sent.request(t, 1)
	if _, ok := second["previous_response_id"]; ok || second["store"] != false {
		t.Errorf("the second request keeps state: %v", second)
	}
	var response struct{ Output []any }
	if err := json.Unmarshal([]byte(uncited), &response); err != nil {
		t.Fatal(err)
	}
	want := append(first["input"].([]any), response.Output...)
	input := second["input"].([]any)
	if diff := cmp.Diff(want, input[:len(input)-1]); diff != "" {
		t.Errorf("input sent back (-want +got):\n%s", diff)
	}
	if last, _ := json.Marshal(input[len(input)-1]); !strings.Contains(string(last), askForSources) {
		t.Errorf("last input item = %s, want %q", last, askForSources)
	}
	if ans.Meta.Usage.Total != 33 || ans.Meta.ResponseID != "resp_2" || ans.Meta.Searches != 1 || !ans.UsedSearch {
		t.Errorf("Meta = %+v, used_search %t: want the sum of both requests, one search and the last id", ans.Meta, ans.UsedSearch)
	}
}

// A call that was cancelled while it asked again has no answer, not even the
// first one.
func TestAskRequeryCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	requests := 0
	client := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		if requests++; requests == 2 {
			cancel()
			return nil, ctx.Err()
		}
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(strings.NewReader(uncited)), Request: r}, nil
	})}
	a := New(Options{
		Client:          llm.New(llm.Options{APIKey: "test-key", HTTPClient: client}),
		Profiles:        map[string]Profile{"answer": {Model: "gpt-5.2"}},
		RequeryAttempts: 1,
	})
	ans, err := a.Ask(ctx, "answer", Question{Query: "?"}, nil)
	if explained(err) != "cancelled" || requests != 2 {
		t.Errorf("Ask = %v, %v after %d requests, want cancelled after 2", ans, err, requests)
	}
}
