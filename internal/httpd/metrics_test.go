package httpd

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// newTestMetrics returns metrics for the tools, and a function that returns the page.
func newTestMetrics() (*Metrics, func() string) {
	m := NewMetrics(map[string]answer.Profile{"answer": {Model: `a"b\c`}})
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

	for _, f := range families {
		t.Run(f.name, func(t *testing.T) {
			want := "# HELP " + prefix + f.name + " " + f.help + "\n" +
				"# TYPE " + prefix + f.name + " " + f.kind + "\n"
			if !strings.Contains(got, want) {
				t.Errorf("the page lacks %s:\n%s", want, got)
			}
		})
	}
	for _, series := range []string{
		`errors_total{tool="answer",kind="auth"}`,
		`errors_total{tool="answer",kind="shutdown"}`,
		`rejected_requests_total{status="429",reason="person"}`,
		`call_seconds_bucket{tool="answer",outcome="ok",le="120"}`,
		`call_seconds_count{tool="answer",outcome="error"}`,
	} {
		t.Run(series, func(t *testing.T) {
			if want := "\n" + prefix + series + " 0\n"; !strings.Contains(got, want) {
				t.Errorf("the page lacks %s:\n%s", want, got)
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

// No printable name breaks the page. Others are not accepted, or printable before.
func TestClientNames(t *testing.T) {
	for _, tt := range []struct{ name, client, want string }{
		{"quotes and backslashes", `a"b\`, `a\"b\\`},
		{"emoji", "🙂", "🙂"},
		{"end of a label", `",le="5"} 1`, `\",le=\"5\"} 1`},
	} {
		t.Run(tt.name, func(t *testing.T) {
			m, page := newTestMetrics()
			m.Observe(server.Call{Tool: "answer", Client: tt.client, Outcome: "ok"})

			series := `searches_total{tool="answer",client="` + tt.want + `",model="a\"b\\c"} 0`
			if got := page(); !strings.Contains(got, "\n"+prefix+series+"\n") {
				t.Errorf("the page lacks %s:\n%s", series, got)
			}
		})
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

// The GET with which an SDK begins is counted, but not worth a line of the log.
func TestGet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, slow)
		s.request(get("/mcp"), http.StatusMethodNotAllowed)
		s.metrics(`rejected_requests_total{status="405"} 1`)
		s.end()
		s.logged("rejected", 0)
	})
}
