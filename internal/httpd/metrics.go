package httpd

import (
	"bytes"
	"cmp"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

const (
	prefix     = "openai_responses_mcp_" // of the names of the metrics of this program
	maxClients = 1000                    // names in the metrics; further ones count as other
)

// families are the metrics of this program, in the order of the page. No name begins with another.
var families = []struct{ name, kind, help string }{
	{"build_info", "gauge", "Version of the program."},
	{"ready", "gauge", "1 while /readyz answers 200."},
	{"max_calls", "gauge", "Requests that run at once."},
	{"requests_in_flight", "gauge", "Requests that run or wait."},
	{"requests_waiting", "gauge", "Calls that wait, for others or for the API's rate limit."},
	{"calls_total", "counter", "Calls that have ended."},
	{"errors_total", "counter", "Calls without an answer."},
	{"rejected_requests_total", "counter", "Requests that got a status 4xx."},
	{"tokens_total", "counter", "Tokens that the API counted."},
	{"searches_total", "counter", "Web searches of the API."},
	{"retries_total", "counter", "Requests to the API that were sent again."},
	{"call_seconds", "histogram", "Time of calls, their waits included."},
	{"api_seconds", "histogram", "Time of the requests of a call to the API."},
	{"rate_limit_wait_seconds", "histogram", "Time that a call waited for the API's rate limit."},
}

// Metrics counts calls for /metrics, in the Prometheus text format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
type Metrics struct {
	set      *metrics.Set
	profiles map[string]answer.Profile // by tool

	mu      sync.Mutex
	clients map[string]bool // names in the metrics
}

// NewMetrics returns metrics without any calls. The profiles of the tools name the models.
func NewMetrics(profiles map[string]answer.Profile) *Metrics {
	m := &Metrics{
		set:      metrics.NewSet(),
		profiles: profiles,
		clients:  map[string]bool{},
	}
	m.gauge(fmt.Sprintf("build_info{version=%q}", version.String()), func() int { return 1 })

	// Zeros, so that the first one is an increase.
	for _, kind := range []rejection{
		{http.StatusUnauthorized, ""},
		{http.StatusForbidden, ""},
		{http.StatusTooManyRequests, "person"},
		{http.StatusTooManyRequests, "server"},
		{http.StatusTooManyRequests, "bytes"},
	} {
		m.reject(kind, 0)
	}
	for tool := range profiles {
		for _, kind := range server.Kinds() {
			m.count(0, "errors_total{tool=%q,kind=%q}", tool, kind)
		}
		m.observeTimes(server.Call{Tool: tool, Outcome: "ok"}, 0)
		m.observeTimes(server.Call{Tool: tool, Outcome: "error"}, 0)
	}
	return m
}

func (m *Metrics) gauge(name string, value func() int) {
	m.set.NewGauge(prefix+name, func() float64 { return float64(value()) })
}

// count adds n to a counter. The names of people and the IDs of models are printable, so %q escapes
// the values of labels as the format wants it.
func (m *Metrics) count(n int64, series string, labels ...any) {
	m.set.GetOrCreateCounter(prefix + fmt.Sprintf(series, labels...)).AddInt64(n)
}

// client returns the name of a client, or other for those after the first maxClients.
func (m *Metrics) client(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()

	if !m.clients[name] && len(m.clients) == maxClients {
		return "other"
	}
	m.clients[name] = true
	return name
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.Call) {
	caller := fmt.Sprintf("tool=%q,client=%q", c.Tool, m.client(c.Client))
	m.count(1, "calls_total{%s,outcome=%q}", caller, c.Outcome)
	m.count(int64(c.Meta.Retries), "retries_total{%s}", caller)
	if c.Err != nil {
		m.count(1, "errors_total{tool=%q,kind=%q}", c.Tool, c.Kind())
	}

	priced := fmt.Sprintf("%s,model=%q", caller, m.profiles[c.Tool].Model)
	tokens := func(kind string, n int64) {
		m.count(n, "tokens_total{%s,kind=%q}", priced, kind)
	}
	tokens("input", c.Meta.Usage.Input)
	tokens("cached", c.Meta.Usage.Cached)
	tokens("output", c.Meta.Usage.Output)
	tokens("reasoning", c.Meta.Usage.Reasoning)
	m.count(int64(c.Meta.Searches), "searches_total{%s}", priced)

	m.observeTimes(c, 1)
}

// observeTimes adds the times of a call to the histograms, n times.
func (m *Metrics) observeTimes(c server.Call, n int64) {
	tool := fmt.Sprintf("tool=%q", c.Tool)
	ended := fmt.Sprintf("%s,outcome=%q", tool, c.Outcome)
	m.observe("call_seconds", ended, c.Duration, n)
	m.observe("api_seconds", ended, c.Stats.Time, n)
	m.observe("rate_limit_wait_seconds", tool, c.Stats.Waited, n)
}

// observe adds a time to a histogram, n times. The buckets are cumulative: histogram_quantile of
// Prometheus does not read those of the library.
func (m *Metrics) observe(name, labels string, took time.Duration, n int64) {
	seconds := took.Seconds()
	bounds := []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, math.Inf(1)}
	for _, le := range bounds {
		inside := int64(0)
		if seconds <= le {
			inside = n
		}
		m.count(inside, "%s_bucket{%s,le=\"%v\"}", name, labels, le)
	}

	m.count(n, "%s_count{%s}", name, labels)
	sum := fmt.Sprintf("%s%s_sum{%s}", prefix, name, labels)
	m.set.GetOrCreateFloatCounter(sum).Add(seconds)
}

// reject counts n requests that were refused.
func (m *Metrics) reject(kind rejection, n int64) {
	labels := fmt.Sprintf(`status="%d"`, kind.status)
	if kind.reason != "" {
		labels += fmt.Sprintf(",reason=%q", kind.reason)
	}
	m.count(n, "rejected_requests_total{%s}", labels)
}

// ServeHTTP is GET /metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var page bytes.Buffer
	m.write(&page)
	metrics.WriteProcessMetrics(&page)
	_, _ = page.WriteTo(w)
}

// write writes each family with its description. The library has the samples in the order of text.
func (m *Metrics) write(page *bytes.Buffer) {
	var samples bytes.Buffer
	m.set.WritePrometheus(&samples)
	lines := slices.SortedFunc(strings.Lines(samples.String()), compareSamples)

	for _, f := range families {
		name := prefix + f.name
		fmt.Fprintf(page, "# HELP %s %s\n# TYPE %s %s\n", name, f.help, name, f.kind)
		for _, line := range lines {
			if strings.HasPrefix(line, name) {
				page.WriteString(line)
			}
		}
	}
}

// compareSamples orders the lines of samples by text, but the buckets of a histogram by number.
func compareSamples(a, b string) int {
	seriesA, restA, _ := strings.Cut(a, `,le="`)
	seriesB, restB, _ := strings.Cut(b, `,le="`)
	return cmp.Or(cmp.Compare(seriesA, seriesB), cmp.Compare(bound(restA), bound(restB)))
}

// bound returns the number that a line goes on with, or 0.
func bound(rest string) float64 {
	number, _, _ := strings.Cut(rest, `"`)
	le, _ := strconv.ParseFloat(number, 64)
	return le
}
