package httpd

import (
	"bytes"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/version"
)

const (
	prefix    = "openai_responses_mcp_" // of the names of the metrics of this program
	maxPeople = 1000                    // names in the metrics; further ones count as other
)

// families are the metrics of this program in the order of the page: name, kind, and what it is.
const families = `build_info gauge Version of the program.
ready gauge 1 while /readyz answers 200.
stale_files gauge Files that cannot be used: their last content stays in use.
max_calls gauge Requests that run at once.
requests_in_flight gauge Requests that run or wait.
calls_running gauge Calls that have a place, those without a request included.
requests_waiting gauge Calls that wait, for others or for the API's rate limit.
calls_total counter Calls that have ended.
errors_total counter Calls without an answer.
rejected_requests_total counter Requests that were refused.
tokens_total counter Tokens that the API counted.
searches_total counter Web searches of the API.
retries_total counter Requests to the API that were sent again.
call_seconds histogram Time of calls, their waits included.
api_seconds histogram Time of the requests of a call to the API.
rate_limit_wait_seconds histogram Time that a call waited for the API's rate limit.`

// Metrics counts calls for /metrics, in the Prometheus text format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
type Metrics struct {
	profiles map[string]answer.Profile // by tool
	gauges   func() map[string]int     // by family; set before the first request

	families map[string]*metrics.Set

	mu     sync.Mutex      // guards people
	people map[string]bool // names in the metrics
}

// buckets are those of the histograms, in seconds.
var buckets = []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}

// NewMetrics returns metrics without any calls. The profiles of the tools name the models.
func NewMetrics(profiles map[string]answer.Profile) *Metrics {
	m := &Metrics{
		profiles: profiles,
		families: map[string]*metrics.Set{},
		people:   map[string]bool{},
	}
	for line := range strings.Lines(families) {
		name, _, _ := strings.Cut(line, " ")
		m.families[name] = metrics.NewSet()
	}
	m.add(1, "build_info{version=%q}", version.String())

	// Zeros, so that the first one is an increase.
	m.reject(0, rejection{http.StatusUnauthorized, "invalid token", ""})
	m.reject(0, rejection{http.StatusForbidden, "Forbidden", ""})
	m.rejectNone("")
	for tool := range profiles {
		for _, kind := range call.Kinds() {
			m.add(0, "errors_total{tool=%q,kind=%q}", tool, kind.Label())
		}
	}
	return m
}

// add adds n to a series. The names of people and the IDs of models are printable, so %q escapes
// the values of labels as the format wants it.
func (m *Metrics) add(n float64, format string, labels ...any) {
	family, _, _ := strings.Cut(format, "{")
	series := prefix + fmt.Sprintf(format, labels...)
	m.families[family].GetOrCreateFloatCounter(series).Add(n)
}

// person returns the name of a person, or other for those after the first maxPeople. The series of
// a new one begin with zeros, so that the first call is an increase.
func (m *Metrics) person(name string) string {
	m.mu.Lock()
	known := m.people[name]
	full := len(m.people) == maxPeople
	if !full {
		m.people[name] = true
	}
	m.mu.Unlock()

	switch {
	case known:
		return name
	case full:
		return "other"
	}
	m.rejectNone(name)
	for tool := range m.profiles {
		c := &call.Call{
			Tool:   tool,
			Person: call.Person{Name: name},
		}
		for _, outcome := range []string{"ok", "error"} {
			m.count(0, server.Ended{
				Call:    c,
				Outcome: outcome,
			})
		}
	}
	return name
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.Ended) {
	m.count(1, c)
}

// count counts n calls, of which only one can have figures.
func (m *Metrics) count(n float64, c server.Ended) {
	caller := fmt.Sprintf("tool=%q,client=%q",
		c.Tool, m.person(c.Person.Name))
	m.add(n, "calls_total{%s,outcome=%q}", caller, c.Outcome)
	m.add(float64(c.Retries), "retries_total{%s}", caller)
	if c.Err != nil {
		m.add(1, "errors_total{tool=%q,kind=%q}",
			c.Tool,
			call.KindOf(c.Err).Label())
	}

	priced := fmt.Sprintf("%s,model=%q",
		caller, m.profiles[c.Tool].Model)
	tokens := func(kind string, n int64) {
		m.add(float64(n), "tokens_total{%s,kind=%q}", priced, kind)
	}
	usage := c.Usage
	tokens("input", usage.Input)
	tokens("cached", usage.Cached)
	if usage.CacheWrite > 0 {
		tokens("cache_write", usage.CacheWrite)
	}
	tokens("output", usage.Output)
	tokens("reasoning", usage.Reasoning)
	m.add(float64(c.Searches), "searches_total{%s}", priced)

	tool := fmt.Sprintf("tool=%q", c.Tool)
	ended := fmt.Sprintf("%s,outcome=%q", tool, c.Outcome)
	m.addTime(n, "call_seconds", ended, c.Duration)
	m.addTime(n, "api_seconds", ended, c.Time)
	m.addTime(n, "rate_limit_wait_seconds", tool, c.Waited)
}

// addTime adds a time to a histogram, n times of at most one.
func (m *Metrics) addTime(n float64, family, labels string, took time.Duration) {
	series := prefix + family + "{" + labels + "}"
	h := m.families[family].GetOrCreatePrometheusHistogramExt(series, buckets)
	if n > 0 {
		h.Update(took.Seconds())
	}
}

// reject counts n requests that were refused.
func (m *Metrics) reject(n float64, kind rejection) {
	labels := fmt.Sprintf("status=\"%d\",reason=%q", kind.status, kind.reason)
	if kind.person != "" {
		labels += fmt.Sprintf(",client=%q", m.person(kind.person))
	}
	m.add(n, "rejected_requests_total{%s}", labels)
}

// rejectNone adds zeros for the limits of a person.
func (m *Metrics) rejectNone(person string) {
	for _, reason := range []string{"person", "server", "bytes"} {
		m.reject(0, rejection{http.StatusTooManyRequests, reason, person})
	}
}

// checkDescriptors logs whether the process may not open enough files and connections: one for each
// request that runs or waits, and one to the API for each that runs.
func (s *instance) checkDescriptors() {
	var page bytes.Buffer
	metrics.WriteFDMetrics(&page)
	limit := 0
	n, _ := fmt.Sscanf(page.String(), "process_max_fds %d", &limit) // Linux has it

	const others = 50 // files, listeners, idle connections
	needed := 3*s.People.Limits.MaxCalls + maxUnauthenticated + others
	if n == 1 && limit < needed {
		s.Log.Warn("the limit of open files is too low for --max-calls: raise it (ulimit -n, "+
			"LimitNOFILE), or lower --max-calls", "limit", limit, "needed", needed)
	}
}

// ServeHTTP is GET /metrics. Each family has its description.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var page bytes.Buffer
	gauges := m.gauges()
	for line := range strings.Lines(families) {
		name, more, _ := strings.Cut(line, " ")
		kind, help, _ := strings.Cut(strings.TrimSpace(more), " ")
		fmt.Fprintf(&page, "# HELP %s%s %s\n", prefix, name, help)
		fmt.Fprintf(&page, "# TYPE %s%s %s\n", prefix, name, kind)
		value, ok := gauges[name]
		if ok {
			fmt.Fprintf(&page, "%s%s %d\n", prefix, name, value)
		}
		m.families[name].WritePrometheus(&page)
	}

	metrics.WriteProcessMetrics(&page)
	metrics.WriteFDMetrics(&page) // not part of them: it reads a directory
	_, _ = page.WriteTo(w)
}
