package httpd

import (
	"fmt"
	"math"
	"net/http"

	"github.com/VictoriaMetrics/metrics"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

// prefix begins the names of the metrics of this program.
const prefix = "openai_responses_mcp_"

// Metrics counts calls for /metrics, in the Prometheus text format.
type Metrics struct{ set *metrics.Set }

// NewMetrics returns metrics without any calls.
func NewMetrics() *Metrics {
	m := &Metrics{set: metrics.NewSet()}
	build := fmt.Sprintf("build_info{version=%q}", version.String())
	m.gauge(build, func() int { return 1 })

	// Zeros, so that the first rejection is an increase.
	m.reject(rejection{status: http.StatusUnauthorized}, 0)
	m.reject(rejection{status: http.StatusForbidden}, 0)
	for _, reason := range []string{"person", "server", "bytes"} {
		m.reject(rejection{http.StatusTooManyRequests, reason}, 0)
	}
	return m
}

func (m *Metrics) gauge(name string, value func() int) {
	m.set.NewGauge(prefix+name, func() float64 { return float64(value()) })
}

func (m *Metrics) count(name, labels string, n int64) {
	m.set.GetOrCreateCounter(prefix + name + "{" + labels + "}").AddInt64(n)
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.Call) {
	caller := fmt.Sprintf("tool=%q,client=%q", c.Tool, c.Client)
	m.count("calls_total", fmt.Sprintf("%s,outcome=%q", caller, c.Outcome), 1)
	if c.Err != nil {
		m.count("errors_total", fmt.Sprintf("tool=%q,kind=%q", c.Tool, c.Kind()), 1)
	}

	tokens := func(kind string, n int64) {
		m.count("tokens_total", fmt.Sprintf("%s,kind=%q", caller, kind), n)
	}
	tokens("input", c.Meta.Usage.Input)
	tokens("cached", c.Meta.Usage.Cached)
	tokens("output", c.Meta.Usage.Output)
	tokens("reasoning", c.Meta.Usage.Reasoning)
	m.count("searches_total", caller, int64(c.Meta.Searches))
	m.count("retries_total", caller, int64(c.Meta.Retries))

	m.observeTime(fmt.Sprintf("tool=%q,outcome=%q", c.Tool, c.Outcome), c.Duration.Seconds())
}

// observeTime adds to the histogram of the time of calls. Its buckets are cumulative:
// histogram_quantile of Prometheus does not read those of the library.
func (m *Metrics) observeTime(labels string, seconds float64) {
	bounds := []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300, math.Inf(1)}
	for _, le := range bounds {
		n := int64(0)
		if seconds <= le {
			n = 1
		}
		m.count("call_seconds_bucket", fmt.Sprintf(`%s,le="%v"`, labels, le), n)
	}

	m.count("call_seconds_count", labels, 1)
	sum := prefix + "call_seconds_sum{" + labels + "}"
	m.set.GetOrCreateFloatCounter(sum).Add(seconds)
}

// reject counts n requests that were refused.
func (m *Metrics) reject(kind rejection, n int64) {
	labels := fmt.Sprintf(`status="%d"`, kind.status)
	if kind.reason != "" {
		labels += fmt.Sprintf(`,reason=%q`, kind.reason)
	}
	m.count("rejected_requests_total", labels, n)
}

// ServeHTTP is GET /metrics.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}
