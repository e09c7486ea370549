package answer

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

const (
	// uncited rests on a search and has nothing to cite.
	uncited = `{"id":"resp_1","status":"completed","usage":{"input_tokens":1,"output_tokens":2,"total_tokens":3},"output":[` +
		`{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gAAA"},` +
		`{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"x","sources":null}},` +
		`{"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Uncited."}]}]}`
	cites = `{"id":"resp_2","status":"completed","usage":{"input_tokens":10,"output_tokens":20,"total_tokens":30},"output":[` +
		`{"type":"message","id":"msg_2","role":"assistant","content":[{"type":"output_text","text":"Cited.",` +
		`"annotations":[{"type":"url_citation","url":"https://a.example/","title":"A"}]}]}]}`
	textless  = `{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning","id":"rs_1","encrypted_content":"gAAA"}]}`
	badParams = `{"error":{"message":"no","type":"invalid_request_error","code":"x"}}`
)

func TestRequery(t *testing.T) {
	const (
		citedText = "Cited.\n\nSources:\n- https://a.example/ (2025-08-09)"
		noText    = "incomplete: max_output_tokens; the model wrote no answer: ask for less, or raise max_output_tokens of the profile"
	)
	tests := []struct {
		name     string
		attempts int
		bodies   []string
		requests int
		want     string // text, or the error explained
	}{
		{"off", 0, []string{uncited}, 1, "Uncited."},
		{"good at once", 2, []string{cites}, 1, citedText},
		{"nothing to cite", 1, []string{uncited, cites}, 2, citedText},
		{"never anything to cite", 2, []string{uncited}, 3, "Uncited."},
		{"no text", 1, []string{textless, cites}, 2, citedText},
		{"never any text", 1, []string{textless}, 2, noText},
		{"text, then none", 1, []string{uncited, textless}, 2, "Uncited."},
		{"text, then an error", 1, []string{uncited, badParams}, 2, "Uncited."},
		{"no text, then an error", 1, []string{textless, badParams}, 2, noText},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			a, api := newAnswerer(func(o *Options) { o.RequeryAttempts = tt.attempts }, tt.bodies...)
			ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
			got := a.Explain("answer", err)
			if err == nil {
				got = ans.Text
			}
			if got != tt.want || len(api.sent) != tt.requests {
				t.Errorf("Ask = %q after %d requests, want %q after %d", got, len(api.sent), tt.want, tt.requests)
			}
		})
	}
}

// The second request has the first one's input, all its output unchanged, and
// what to do better. It refers to no stored response.
func TestRequeryIsStateless(t *testing.T) {
	a, api := newAnswerer(func(o *Options) { o.RequeryAttempts = 1 }, uncited, cites)
	ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	first, second := api.sent[0], api.sent[1]
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
	if m := ans.Meta; m.Usage.Total != 33 || m.ResponseID != "resp_2" || m.Searches != 1 || !ans.UsedSearch {
		t.Errorf("Meta = %+v, used_search %t: want the sum of both requests, one search and the last id", m, ans.UsedSearch)
	}
}

// A call that is cancelled during a second request has no answer.
func TestRequeryCancelled(t *testing.T) {
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
	a, _ := newAnswerer(func(o *Options) {
		o.Client = llm.New(llm.Options{APIKey: "test-key", HTTPClient: client})
		o.RequeryAttempts = 1
	}, "")
	if ans, err := a.Ask(ctx, "answer", Question{Query: "?"}, nil); a.Explain("answer", err) != "cancelled" || requests != 2 {
		t.Errorf("Ask = %v, %v after %d requests, want cancelled after 2", ans, err, requests)
	}
}

// There is a stream when there is a watcher or the options say so. The events
// of several requests are numbered as one run and end once.
func TestWatch(t *testing.T) {
	tests := []struct {
		stream string
		watch  bool
		want   any // stream in the request
	}{
		{"auto", false, nil}, {"auto", true, true},
		{"", false, nil}, {"", true, true},
		{"true", false, true}, {"true", true, true},
		{"false", false, nil}, {"false", true, nil},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %t", tt.stream, tt.watch), func(t *testing.T) {
			a, api := newAnswerer(func(o *Options) { o.Stream, o.RequeryAttempts = tt.stream, 1 }, uncited, cites)
			var seen []llm.Event
			var watch func(llm.Event)
			if tt.watch {
				watch = func(ev llm.Event) { seen = append(seen, ev) }
			}
			ans, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, watch)
			if err != nil || !strings.HasPrefix(ans.Text, "Cited.") {
				t.Fatalf("Ask = %+v, %v", ans, err)
			}
			if got := api.sent[1]["stream"]; got != tt.want {
				t.Errorf("stream = %v, want %v", got, tt.want)
			}
			if !tt.watch {
				return
			}
			blocks, text := 0, ""
			for _, ev := range seen[:len(seen)-2] {
				switch e := ev.(type) {
				case llm.BlockStart:
					if e.Index != blocks {
						t.Errorf("%+v starts as block %d", e, blocks)
					}
					blocks++
				case llm.BlockDelta:
					text += e.Text
				case llm.Usage, llm.Done:
					t.Errorf("%+v before the end", e)
				}
			}
			if text != "Uncited.Cited." || blocks != 4 {
				t.Errorf("text %q in %d blocks", text, blocks)
			}
			if u := seen[len(seen)-2]; u != llm.Event(ans.Meta.Usage) {
				t.Errorf("usage %v, want %v", u, ans.Meta.Usage)
			}
			if d, ok := seen[len(seen)-1].(llm.Done); !ok || d.Status != "completed" || d.Response.ID != "resp_2" {
				t.Errorf("events end with %v", seen[len(seen)-1])
			}
		})
	}
}

func TestStage(t *testing.T) {
	for _, tt := range []struct {
		ev          llm.Search
		stage, what string
	}{
		{llm.Search{Action: "search", Query: "q"}, "searching", "q"},
		{llm.Search{Action: "open_page", URL: "https://a.example/"}, "reading", "https://a.example/"},
		{llm.Search{Action: "find_in_page", URL: "https://a.example/", Query: "q"}, "reading", "https://a.example/"},
		{llm.Search{}, "searching", ""},
	} {
		if stage, what := Stage(tt.ev); stage != tt.stage || what != tt.what {
			t.Errorf("Stage(%+v) = %q, %q", tt.ev, stage, what)
		}
	}
}
