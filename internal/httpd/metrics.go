package httpd

import (
	"fmt"
	"net/http"
	"sync/atomic"

	"github.com/VictoriaMetrics/metrics"

	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// Metrics counts calls for /metrics, in the Prometheus text format.
type Metrics struct {
	set      *metrics.Set
	inFlight atomic.Int64 // requests, waiting ones included
}

// NewMetrics returns metrics without any calls.
func NewMetrics() *Metrics {
	m := &Metrics{set: metrics.NewSet()}
	m.set.NewGauge("openai_responses_mcp_requests_in_flight", func() float64 { return float64(m.inFlight.Load()) })
	return m
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.Call) {
	count := func(name, labels string, n int64) {
		m.set.GetOrCreateCounter(fmt.Sprintf("openai_responses_mcp_%s{%s}", name, labels)).AddInt64(n)
	}
	who := fmt.Sprintf("tool=%q,client=%q", c.Tool, c.Client)
	count("calls_total", fmt.Sprintf("%s,outcome=%q", who, c.Outcome), 1)
	m.set.GetOrCreateFloatCounter(fmt.Sprintf("openai_responses_mcp_call_seconds_total{%s}", who)).Add(c.Duration.Seconds())
	for kind, n := range map[string]int64{
		"input": c.Meta.Usage.Input, "cached": c.Meta.Usage.Cached,
		"output": c.Meta.Usage.Output, "reasoning": c.Meta.Usage.Reasoning,
	} {
		count("tokens_total", fmt.Sprintf("%s,kind=%q", who, kind), n)
	}
	count("searches_total", who, int64(c.Meta.Searches))
	count("retries_total", who, int64(c.Meta.Retries))
}

// write is GET /metrics.
func (m *Metrics) write(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	m.set.WritePrometheus(w)
	metrics.WriteProcessMetrics(w)
}
