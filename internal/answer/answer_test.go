package answer

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// silence is a body that never comes.
const silence = "silence"

// api answers with the given bodies in turn, the last one repeatedly, and records the requests.
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
	case body == silence:
		<-r.Context().Done()
		return nil, r.Context().Err()
	case body == "":
		w.Header().Set("Retry-After-Ms", "1")
		w.WriteHeader(http.StatusServiceUnavailable)
	case strings.HasPrefix(body, `{"error":`):
		w.WriteHeader(http.StatusBadRequest)
	}
	_, _ = io.WriteString(w, body)
	return w.Result(), nil
}

// newAnswerer returns an Answerer for an API with these bodies. change, when
// not nil, alters its options.
func newAnswerer(change func(*Options), bodies ...string) (*Answerer, *api) {
	a := &api{bodies: bodies}
	o := Options{
		Client:       llm.New(llm.Options{APIKey: "test-key", HTTPClient: &http.Client{Transport: a}, MaxRetries: 1}),
		Instructions: "be right",
		Profiles:     map[string]Profile{"answer": {Model: "gpt-5.2", ReasoningEffort: "medium", Verbosity: "low"}},
		Defaults:     Defaults{RecencyDays: 60, MaxResults: 5},
		Location:     tokyo,
		Now:          fixedNow,
	}
	if change != nil {
		change(&o)
	}
	return New(o), a
}

func TestAskMeta(t *testing.T) {
	const body = `{"id":"resp_1","status":"completed","model":"gpt-5.2-2026-01-15","output":[{"type":"web_search_call","action":{"type":"search"}},
		{"type":"web_search_call","action":{"type":"open_page"}},{"type":"message","content":[{"type":"output_text","text":"A."}]}],
		"usage":{"input_tokens":10,"input_tokens_details":{"cached_tokens":4},"output_tokens":20,"output_tokens_details":{"reasoning_tokens":8},"total_tokens":30}}`
	clock := midnight
	a, _ := newAnswerer(func(o *Options) {
		o.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
	}, "", body)
	got, err := a.Ask(t.Context(), "answer", Question{Query: "?"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	usage := llm.Usage{Input: 10, Cached: 4, Output: 20, Reasoning: 8, Total: 30}
	// The opened page is no search.
	want := Meta{usage, "gpt-5.2-2026-01-15", "resp_1", "req_1", 1, 1, got.Meta.Elapsed}
	if diff := cmp.Diff(want, got.Meta); diff != "" || got.Meta.Elapsed < time.Second || got.Model != "gpt-5.2" {
		t.Errorf("model %s, %+v (-want +got):\n%s", got.Model, got.Meta, diff)
	}
}
