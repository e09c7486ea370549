package answer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// midnight is 2025-08-09 00:30 in Tokyo and still the day before in UTC.
var midnight = time.Date(2025, 8, 8, 15, 30, 0, 0, time.UTC)

// api is a Responses API that answers with the given bodies in turn, the last
// one again and again, and keeps what it was sent.
type api struct {
	mu     sync.Mutex
	bodies []string
	sent   []string
}

func (a *api) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	a.mu.Lock()
	defer a.mu.Unlock()
	next := a.bodies[min(len(a.sent), len(a.bodies)-1)]
	a.sent = append(a.sent, string(body))
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Request-Id", "req_1")
	if strings.HasPrefix(next, `{"error":`) {
		w.WriteHeader(http.StatusBadRequest)
	}
	io.WriteString(w, next)
}

// request returns what was sent with the n-th request, decoded.
func (a *api) request(t *testing.T, n int) map[string]any {
	t.Helper()
	a.mu.Lock()
	defer a.mu.Unlock()
	if n >= len(a.sent) {
		t.Fatalf("%d requests were sent, want more than %d", len(a.sent), n)
	}
	var m map[string]any
	if err := json.Unmarshal([]byte(a.sent[n]), &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// newAnswerer returns an Answerer on an API with these bodies; change, when not
// nil, may alter its options.
func newAnswerer(t *testing.T, change func(*Options), bodies ...string) (*Answerer, *api) {
	t.Helper()
	a := &api{bodies: bodies}
	srv := httptest.NewServer(a)
	t.Cleanup(srv.Close)
	o := Options{
		Client:       llm.New(llm.Options{BaseURL: srv.URL, APIKey: "test-key"}),
		Instructions: "be right",
		Profiles:     map[string]Profile{"answer": {Model: "gpt-5.2", Effort: "medium", Verbosity: "low"}},
		Timeout:      time.Minute,
		MaxCitations: 3,
		Defaults:     Defaults{RecencyDays: 60, MaxResults: 5},
		Now:          func() time.Time { return midnight },
	}
	if change != nil {
		change(&o)
	}
	return New(o), a
}

// goldenJSON is the JSON of a tool result, as the goldens have it.
func goldenJSON(t *testing.T, v any) string {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// Each testdata/NAME.json is a response, NAME.golden the JSON of its answer.
// definition and weather are the two cases of spec §10.
func TestAskFixtures(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) == 0 {
		t.Fatalf("no fixtures: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			want, err := os.ReadFile(strings.TrimSuffix(file, ".json") + ".golden")
			if err != nil {
				t.Fatal(err)
			}
			a, _ := newAnswerer(t, nil, string(body))
			got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), goldenJSON(t, got)); diff != "" {
				t.Errorf("Ask(%s) (-want +got):\n%s", file, diff)
			}
		})
	}
}

func TestAskRecordings(t *testing.T) {
	dir := filepath.Join("..", "..", "..", "shared", "recordings")
	files, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	if len(files) == 0 {
		t.Skip("no recordings beside the repository")
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			body, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			a, _ := newAnswerer(t, nil, string(body))
			got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
			if err != nil { // an error body, or a function call and no text
				if line := explained(err); line == "" || strings.Contains(line, "\n") {
					t.Errorf("Explain(%v) = %q, want one line", err, line)
				}
				return
			}
			checkContract(t, got)
		})
	}
}

// checkContract holds an answer to spec §3.2.
func checkContract(t *testing.T, a *Answer) {
	t.Helper()
	if a.Text == "" || a.Citations == nil || a.Model == "" {
		t.Errorf("answer lacks a field: %+v", a)
	}
	if a.UsedSearch && len(a.Citations) > 0 && !strings.Contains(a.Text, "\n\nSources:\n- ") {
		t.Errorf("a searched answer has no Sources: %q", a.Text)
	}
	for _, c := range a.Citations {
		if isoDate(c.PublishedAt) != c.PublishedAt || c.URL == "" || strings.Contains(c.URL, "utm_source=openai") {
			t.Errorf("bad citation %+v", c)
		}
	}
}

func TestAskRequest(t *testing.T) {
	body, err := os.ReadFile("testdata/definition.json")
	if err != nil {
		t.Fatal(err)
	}
	days := 0.5
	a, sent := newAnswerer(t, nil, string(body))
	q := Question{Query: "HTTP 404 の意味は？ <b>&", RecencyDays: &days, Domains: []string{"jma.go.jp", "", "tenki.jp"}, Style: "bullets"}
	if _, err := a.Ask(t.Context(), "answer", q, nil); err != nil {
		t.Fatal(err)
	}
	got := sent.request(t, 0)
	want := map[string]any{
		"model":        "gpt-5.2",
		"instructions": "be right",
		"input": []any{map[string]any{"type": "message", "role": "user", "content": []any{map[string]any{"type": "input_text",
			"text": "HTTP 404 の意味は？ <b>&\n[Hints] recency_days=0.5, max_results=5. domains: jma.go.jp, tenki.jp style: bullets"}}}},
		"tools":               []any{map[string]any{"type": "web_search"}},
		"tool_choice":         "auto",
		"parallel_tool_calls": true,
		"include":             []any{"web_search_call.action.sources", "reasoning.encrypted_content"},
		"store":               false,
		"text":                map[string]any{"verbosity": "low"},
		"reasoning":           map[string]any{"effort": "medium"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("request (-want +got):\n%s", diff)
	}
}

func TestAskMeta(t *testing.T) {
	body, err := os.ReadFile("testdata/cited.json")
	if err != nil {
		t.Fatal(err)
	}
	clock := midnight
	a, _ := newAnswerer(t, func(o *Options) {
		o.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
	}, string(body))
	got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	want := Meta{
		Usage:         llm.Usage{Input: 10, Cached: 4, Output: 20, Reasoning: 8, Total: 30},
		ResolvedModel: "gpt-5.2-2026-01-15",
		ResponseID:    "resp_1",
		RequestID:     "req_1",
		Searches:      1, // the opened page is none
		Elapsed:       time.Second,
	}
	if diff := cmp.Diff(want, got.Meta); diff != "" {
		t.Errorf("Meta (-want +got):\n%s", diff)
	}
}

// A clock that somebody sets makes no call take less than no time, and moves no
// deadline: that counts by the clock that nobody sets, as does the duration
// when the clock is time.Now.
func TestClockJumps(t *testing.T) {
	body, err := os.ReadFile("testdata/cited.json")
	if err != nil {
		t.Fatal(err)
	}
	clock := midnight
	a, _ := newAnswerer(t, func(o *Options) {
		o.Now = func() time.Time { clock = clock.Add(-24 * time.Hour); return clock }
		o.Timeout = time.Hour
	}, string(body))
	got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil || got.Meta.Elapsed != 0 {
		t.Errorf("Ask = %v after %v, want an answer after no time", err, got.Meta.Elapsed)
	}
	ctx, cancel := a.bound(t.Context())
	defer cancel()
	for _, clock := range []func() time.Time{
		func() time.Time { d, _ := ctx.Deadline(); return d },
		New(Options{}).o.Now,
	} {
		if now := clock(); !strings.Contains(now.String(), " m=") { // as time.Time documents it
			t.Errorf("%v has no reading of the monotonic clock", now)
		}
	}
}

func TestAskUnknownProfile(t *testing.T) {
	a, sent := newAnswerer(t, nil, "{}")
	_, err := a.Ask(t.Context(), "answer_loud", Question{Query: "?"}, nil)
	if err == nil || !strings.Contains(err.Error(), `"answer_loud"`) || len(sent.sent) > 0 {
		t.Errorf("Ask(answer_loud) = %v after %d requests, want an error that names it and none", err, len(sent.sent))
	}
}

func TestAskNoText(t *testing.T) {
	for _, tt := range []struct{ body, want string }{
		{`{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[{"type":"reasoning"}]}`, "incomplete: max_output_tokens"},
		{`{"status":"incomplete","incomplete_details":{"reason":"content_filter"},"output":[]}`, "incomplete: content_filter"},
		{`{"status":"incomplete","incomplete_details":null,"output":[]}`, "incomplete: unknown"},
		{`{"status":"completed","output":[]}`, "no output"},
		{`{"status":"completed","output":[{"type":"message","content":[{"type":"output_text","text":" \n"}]}]}`, "no output"},
		// A marker alone is no text either.
		{`{"output":[{"type":"message","content":[{"type":"output_text","text":"\ue200cite\ue202turn0search0\ue201"}]}]}`, "no output"},
	} {
		a, _ := newAnswerer(t, nil, tt.body)
		_, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
		var e *NoTextError
		if !errors.As(err, &e) || e.Reason != tt.want || !strings.HasPrefix(explained(err), tt.want) {
			t.Errorf("Ask on %s = %v (%q), want %q", tt.body, err, explained(err), tt.want)
		}
	}
}

// roundTrip is an HTTP transport.
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
		})
		start := time.Now()
		_, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
		if want := "timed out after 300 s; raise request.timeout_ms or OPENAI_API_TIMEOUT"; explained(err) != want {
			t.Errorf("Explain(%v) = %q, want %q", err, explained(err), want)
		}
		if took := time.Since(start); took != 300*time.Second {
			t.Errorf("Ask took %v, want 300 s", took)
		}
	})
}

func TestAskCancel(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	a, sent := newAnswerer(t, nil, "{}")
	_, err := a.Ask(ctx, "answer", Question{Query: "?"}, nil)
	if explained(err) != "cancelled" || len(sent.sent) > 0 {
		t.Errorf("Ask(cancelled) = %v (%q) after %d requests", err, explained(err), len(sent.sent))
	}
}

func TestAskDebugLines(t *testing.T) {
	var b bytes.Buffer
	body, err := os.ReadFile("testdata/definition.json")
	if err != nil {
		t.Fatal(err)
	}
	a, _ := newAnswerer(t, func(o *Options) {
		o.Logger = slog.New(slog.NewTextHandler(&b, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.Profiles = map[string]Profile{"answer": {Model: "o3", Verbosity: "low"}}
	}, string(body))
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
