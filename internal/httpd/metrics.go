package httpd

import (
	"fmt"
	"math"
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// Metrics counts calls for /metrics, in the Prometheus text format.
type Metrics struct{ set *metrics.Set }

// NewMetrics returns metrics without any calls.
func NewMetrics() *Metrics {
	m := &Metrics{metrics.NewSet()}
	m.gauge(fmt.Sprintf("build_info{version=%q}", version.String()), func() int { return 1 })
	for _, status := range []int{http.StatusUnauthorized, http.StatusForbidden, http.StatusTooManyRequests} {
		m.reject(status, 0) // so that the first one is an increase
	}
	return m
}

func (m *Metrics) gauge(name string, value func() int) {
	m.set.NewGauge("openai_responses_mcp_"+name, func() float64 { return float64(value()) })
}

func (m *Metrics) count(name, labels string, n int64) {
	m.set.GetOrCreateCounter(fmt.Sprintf("openai_responses_mcp_%s{%s}", name, labels)).AddInt64(n)
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.Call) {
	who := fmt.Sprintf("tool=%q,client=%q", c.Tool, c.Client)
	m.count("calls_total", fmt.Sprintf("%s,outcome=%q", who, c.Outcome), 1)
	if c.Err != nil {
		m.count("errors_total", fmt.Sprintf("tool=%q,kind=%q", c.Tool, c.Kind()), 1)
	}
	for kind, n := range map[string]int64{
		"input": c.Meta.Usage.Input, "cached": c.Meta.Usage.Cached,
		"output": c.Meta.Usage.Output, "reasoning": c.Meta.Usage.Reasoning,
	} {
		m.count("tokens_total", fmt.Sprintf("%s,kind=%q", who, kind), n)
	}
	m.count("searches_total", who, int64(c.Meta.Searches))
	m.count("retries_total", who, int64(c.Meta.Retries))
	// Cumulative buckets: histogram_quantile of Prometheus does not read those of the library.
	how, seconds := fmt.Sprintf("tool=%q,outcome=%q", c.Tool, c.Outcome), c.Duration.Seconds()
	for _, le := range []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, math.Inf(1)} {
		n := int64(0)
		if seconds <= le {
			n = 1
		}
		m.count("call_seconds_bucket", fmt.Sprintf(`%s,le="%v"`, how, le), n)
	}
	m.count("call_seconds_count", how, 1)
	m.set.GetOrCreateFloatCounter(fmt.Sprintf("openai_responses_mcp_call_seconds_sum{%s}", how)).Add(seconds)
}

// reject counts n requests that were refused.
func (m *Metrics) reject(status int, n int64) {
	m.count("rejected_requests_total", fmt.Sprintf(`status="%d"`, status), n)
}

// ServeHTTP is GET /metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}
