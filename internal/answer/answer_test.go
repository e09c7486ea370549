package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// api answers with the given bodies in turn, the last one repeatedly, and
// records the requests.
type api struct {
	bodies []string
	sent   []map[string]any
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	var sent map[string]any
	if err := json.NewDecoder(r.Body).Decode(&sent); err != nil {
		return nil, err
	}
	body := a.bodies[min(len(a.sent), len(a.bodies)-1)]
	a.sent = append(a.sent, sent)
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_1")
	switch {
	case body == "":
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasPrefix(body, `{"error":`):
		w.WriteHeader(http.StatusBadRequest)
	case sent["stream"] == true:
		w.Header().Set("Content-Type", "text/event-stream")
		body = stream(body)
	}
	_, _ = io.WriteString(w, body)
	return w.Result(), nil
}

// stream is a response as the API streams it, one text block a message.
func stream(body string) string {
	var r struct{ Output []map[string]any }
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		panic(err)
	}
	var b strings.Builder
	event := func(typ string, fields map[string]any) {
		fields["type"] = typ
		data, _ := json.Marshal(fields)
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", typ, data)
	}
	for i, item := range r.Output {
		event("response.output_item.added", map[string]any{"output_index": i, "item": map[string]any{"type": item["type"], "id": item["id"]}})
		parts, _ := item["content"].([]any)
		for j, part := range parts {
			at := func(more map[string]any) map[string]any {
				more["item_id"], more["output_index"], more["content_index"] = item["id"], i, j
				return more
			}
			event("response.content_part.added", at(map[string]any{"part": map[string]any{"type": "output_text", "text": ""}}))
			event("response.output_text.delta", at(map[string]any{"delta": part.(map[string]any)["text"]}))
			event("response.content_part.done", at(map[string]any{"part": part}))
		}
		event("response.output_item.done", map[string]any{"output_index": i, "item": item})
	}
	event("response.completed", map[string]any{"response": json.RawMessage(body)})
	return b.String()
}

// newAnswerer returns an Answerer for an API with these bodies. change, when
// not nil, alters its options.
func newAnswerer(change func(*Options), bodies ...string) (*Answerer, *api) {
	a := &api{bodies: bodies}
	o := Options{
		Client:       llm.New(llm.Options{APIKey: "test-key", HTTPClient: &http.Client{Transport: a}, MaxRetries: 1}),
		Instructions: "be right",
		Profiles:     map[string]Profile{"answer": {Model: "gpt-5.2", Effort: "medium", Verbosity: "low"}},
		Defaults:     Defaults{RecencyDays: 60, MaxResults: 5},
		Location:     tokyo,
		Guide:        func() Guide { return Guide{} },
		Now:          fixedNow,
	}
	if change != nil {
		change(&o)
	}
	return New(o), a
}

func fixture(t *testing.T, name string) string {
	t.Helper()
	body, err := os.ReadFile(filepath.Join("testdata", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func TestAskRequest(t *testing.T) {
	days := 0.5
	a, api := newAnswerer(nil, fixture(t, "definition"))
	q := Question{Query: "HTTP 404 の意味は？ <b>&", RecencyDays: &days, Domains: []string{"jma.go.jp", "tenki.jp"}, Style: "bullets"}
	if _, err := a.Ask(t.Context(), "answer", q, nil); err != nil {
		t.Fatal(err)
	}
	want := map[string]any{
		"model":        "gpt-5.2",
		"instructions": "be right",
		"input": []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text",
			"text": "HTTP 404 の意味は？ <b>&\n[Hints] recency_days=0.5, max_results=5. domains: jma.go.jp, tenki.jp. style: bullets. today: 2025-08-09 (Asia/Tokyo)."}}}},
		"tools":               []any{map[string]any{"type": "web_search"}},
		"tool_choice":         "auto",
		"parallel_tool_calls": true,
		"include":             []any{"web_search_call.action.sources", "reasoning.encrypted_content"},
		"store":               false,
		"text":                map[string]any{"verbosity": "low"},
		"reasoning":           map[string]any{"effort": "medium"},
	}
	if diff := cmp.Diff(want, api.sent[0]); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAskMeta(t *testing.T) {
	clock := midnight
	a, _ := newAnswerer(func(o *Options) {
		o.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
	}, "", fixture(t, "cited"))
	got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Meta{
		Usage:         llm.Usage{Input: 10, Cached: 4, Output: 20, Reasoning: 8, Total: 30},
		ResolvedModel: "gpt-5.2-2026-01-15",
		ResponseID:    "resp_1",
		RequestID:     "req_1",
		Searches:      1, // not the opened page
		Retries:       1,
		Elapsed:       got.Meta.Elapsed,
	}
	if diff := cmp.Diff(want, got.Meta); diff != "" || got.Meta.Elapsed < time.Second || got.Model != "gpt-5.2" {
		t.Errorf("model %s, %+v (-want +got):\n%s", got.Model, got.Meta, diff)
	}
}

func TestAskUnknownProfile(t *testing.T) {
	a, api := newAnswerer(nil, "{}")
	_, err := a.Ask(t.Context(), "answer_loud", Question{Query: "?"}, nil)
	if err == nil || !strings.Contains(err.Error(), `"answer_loud"`) || len(api.sent) > 0 {
		t.Errorf("Ask(answer_loud) = %v after %d requests", err, len(api.sent))
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestAskTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		never := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			<-r.Context().Done()
			return nil, r.Context().Err()
		})}
		a := New(Options{
			Client:   llm.New(llm.Options{APIKey: "test-key", HTTPClient: never, MaxRetries: 3}),
			Profiles: map[string]Profile{"answer": {Model: "gpt-5.2"}},
			Timeout:  300 * time.Second,
			Guide:    func() Guide { return Guide{} },
		})
		start := time.Now()
		_, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
		if got, want := a.Explain("answer", err), "timed out after 300 s: raise request.timeout_ms or OPENAI_API_TIMEOUT"; got != want {
			t.Errorf("Explain(%v) = %q, want %q", err, got, want)
		}
		if took := time.Since(start); took != 300*time.Second {
			t.Errorf("Ask took %v, want 300 s", took)
		}
	})
}

func TestAskCancelled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, api := newAnswerer(nil, "{}")
	if _, err := a.Ask(ctx, "answer", Question{Query: "?"}, nil); a.Explain("answer", err) != "cancelled" || len(api.sent) > 0 {
		t.Errorf("Ask = %v after %d requests, want cancelled", err, len(api.sent))
	}
}

func TestAskDebugLines(t *testing.T) {
	var b bytes.Buffer
	a, _ := newAnswerer(func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Profiles = map[string]Profile{"answer": {Model: "o3", Verbosity: "low"}}
	}, fixture(t, "definition"))
	if _, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"answer: profile=answer model=o3 supports={verbosity:false, reasoning:true}",
		"answer: request summary tools=web_search(on) reasoning=off text.verbosity=off",
	} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("debug log lacks %q:\n%s", want, b.String())
		}
	}
}
