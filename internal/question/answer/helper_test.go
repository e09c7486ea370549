package answer

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/openai/llm"
)

// midnight is 2025-08-09 00:30 in Tokyo and the day before in UTC.
var midnight = time.Date(2025, 8, 8, 15, 30, 0, 0, time.UTC)

// api answers with the given bodies in turn, the last one repeatedly, and counts the requests. A
// body may begin with its status.
type api struct {
	bodies   []string
	requests int
}

func (a *api) RoundTrip(r *http.Request) (*http.Response, error) {
	body := a.bodies[min(a.requests, len(a.bodies)-1)]
	a.requests++
	status := http.StatusOK
	_, _ = fmt.Sscan(body, &status)
	w := httptest.NewRecorder()
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, strings.TrimPrefix(body, fmt.Sprint(status, " ")))
	return w.Result(), nil
}

// newAnswerer returns an Answerer for an API with these bodies. In a bubble the time becomes
// midnight.
func newAnswerer(requeries int, bodies ...string) (*Answerer, *api) {
	time.Sleep(time.Until(midnight))
	a := &api{bodies: bodies}
	client := llm.New(llm.Options{
		APIKey:     "test-key",
		HTTPClient: &http.Client{Transport: a},
		MaxRetries: 1,
	})
	return New(Options{
		Create: client.Create,
		Get:    client.Get,
		Profiles: map[string]Profile{"answer": {
			ModelSettings: call.ModelSettings{Model: "gpt-5.2"},
			Search: WebSearch{
				BlockedDomains: []string{"bad.example"},
				Extra: map[string]any{
					"filters": map[string]any{"blocked_domains": []any{"worse.example"}},
				},
			},
		}},
		Requeries: requeries,
		Location:  time.FixedZone("Asia/Tokyo", 9*60*60),
	}), a
}

// ask returns the answer to a response with this body, or in place of its text the error.
func ask(t *testing.T, body string) (ans *Answer) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		a, _ := newAnswerer(0, body)
		var err error
		ans, err = a.Ask(t.Context(), &call.Call{Tool: "answer"}, Question{Query: "?"})
		if err != nil {
			ans = &Answer{Text: fmt.Sprint(call.KindOf(err), ": ", err)}
		}
	})
	return ans
}

// completed returns a response with these items.
func completed(items ...string) string {
	return `{"status":"completed","output":[` + strings.Join(items, ",") + `]}`
}

// incomplete returns a response that was cut short.
func incomplete(reason string, items ...string) string {
	return `{"status":"incomplete","incomplete_details":{"reason":"` + reason + `"},` +
		`"output":[` + strings.Join(items, ",") + `]}`
}

// message is a message item with one text and these citations.
func message(phase, text string, cited ...string) string {
	annotations := []map[string]any{}
	for _, u := range cited {
		annotations = append(annotations, map[string]any{
			"type":  "url_citation",
			"url":   u,
			"title": "T",
		})
	}
	m, _ := json.Marshal(map[string]any{
		"type":  "message",
		"role":  "assistant",
		"phase": phase,
		"content": []map[string]any{{
			"type":        "output_text",
			"text":        text,
			"annotations": annotations,
		}},
	})
	return string(m)
}

// search is a web_search_call item. A source without a dot is a name.
func search(sources ...string) string {
	list := []map[string]any{}
	for _, s := range sources {
		source := map[string]any{"type": "api", "name": s}
		if strings.Contains(s, "://") && strings.Contains(s, ".") {
			source = map[string]any{"type": "url", "url": s}
		}
		list = append(list, source)
	}
	m, _ := json.Marshal(map[string]any{
		"type":   "web_search_call",
		"status": "completed",
		"action": map[string]any{"type": "search", "query": "q", "sources": list},
	})
	return string(m)
}
