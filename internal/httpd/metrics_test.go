package httpd

import (
	"errors"
	"io"
	"net/http/httptest"
	"os"
	"regexp"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// The alert rules and the dashboard use metrics that exist.
func TestMetricNames(t *testing.T) {
	o := options(t, slow, io.Discard)
	o.handler(t.Context(), t.Context())
	o.Metrics.Observe(server.Call{Tool: "answer", Client: "alice", Outcome: "error", Err: errors.New("x")})
	w := httptest.NewRecorder()
	o.Metrics.ServeHTTP(w, nil)
	known := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^\w+`).FindAllString(w.Body.String(), -1) {
		known[m] = true
	}
	for _, file := range []string{"prometheus/rules.yaml", "grafana/dashboard.json"} {
		text, err := os.ReadFile("../../config/" + file)
		if err != nil {
			t.Fatal(err)
		}
		names := regexp.MustCompile(`\b(openai_responses_mcp|process)_\w+`).FindAllString(string(text), -1)
		if len(names) == 0 {
			t.Errorf("%s uses no metrics", file)
		}
		for _, name := range names {
			if !known[name] {
				t.Errorf("%s uses %s, which /metrics does not have", file, name)
			}
		}
	}
}
