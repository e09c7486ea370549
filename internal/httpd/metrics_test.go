package httpd

import (
	"fmt"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// newTestMetrics returns metrics for the tools, and a function that returns the page.
func newTestMetrics() (*Metrics, func() string) {
	m := NewMetrics(map[string]answer.Profile{"answer": {}})
	return m, func() string {
		res := httptest.NewRecorder()
		m.ServeHTTP(res, nil)
		return res.Body.String()
	}
}

// Before the first call each family has its description, and the series of alerts are 0.
func TestFirstPage(t *testing.T) {
	_, page := newTestMetrics()
	got := page()

	for _, want := range []string{
		"# HELP openai_responses_mcp_ready 1 while /readyz answers 200.",
		"# TYPE openai_responses_mcp_call_seconds histogram",
		prefix + `errors_total{tool="answer",kind="auth"} 0`,
		prefix + `errors_total{tool="answer",kind="shutdown"} 0`,
		prefix + `rejected_requests_total{status="429",reason="person"} 0`,
		prefix + `call_seconds_bucket{tool="answer",outcome="ok",le="120"} 0`,
		prefix + `call_seconds_count{tool="answer",outcome="error"} 0`,
	} {
		t.Run(want, func(t *testing.T) {
			if !strings.Contains(got, want+"\n") {
				t.Errorf("the page lacks %s:\n%s", want, got)
			}
		})
	}
	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			if n := strings.Count(got, "# TYPE "+prefix+f.name+" "); n != 1 {
				t.Errorf("%d descriptions, want 1", n)
			}
		})
	}
}

// The buckets of a histogram are in the order of numbers.
func TestBuckets(t *testing.T) {
	_, page := newTestMetrics()
	bucket := regexp.MustCompile(`call_seconds_bucket{tool="answer",outcome="ok",le="(.*)"}`)

	var bounds []string
	for _, match := range bucket.FindAllStringSubmatch(page(), -1) {
		bounds = append(bounds, match[1])
	}
	const want = "0.5 1 2.5 5 10 20 30 60 120 300 +Inf"
	if got := strings.Join(bounds, " "); got != want {
		t.Errorf("buckets %s, want %s", got, want)
	}
}

// The metrics have 1,000 names, and one for all others.
func TestManyClients(t *testing.T) {
	m, page := newTestMetrics()
	for i := range 1100 {
		m.Observe(server.Call{Tool: "answer", Client: fmt.Sprint("user-", i), Outcome: "ok"})
	}
	got := page()

	if n := strings.Count(got, prefix+"calls_total{"); n != 1001 {
		t.Errorf("%d series of calls, want 1001", n)
	}
	const others = prefix + `calls_total{tool="answer",client="other",outcome="ok"} 100`
	if !strings.Contains(got, others) {
		t.Errorf("the page lacks %s", others)
	}
}
