package httpd

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	prefix    = "openai_responses_mcp_" // of the names of the metrics of this program
	maxPeople = 1000                    // names in the metrics; further ones count as other
)

// Metrics counts calls for /metrics, in the Prometheus text format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
type Metrics struct {
	profiles map[string]answer.Profile  // by tool
	gauges   func() []gauge             // set before the first request
	inForce  func(call.Person) []string // names of quotas, set before the first request

	families []*family // in the order of the page

	calls, errors, limited, rejected, tokens, searches, cost, retries *family // counters
	callTime, apiTime, waitTime                                       *family // histograms
	storeFailures, storeTime                                          *family // a series each

	mu     sync.Mutex      // guards people
	people map[string]bool // names in the metrics, of people who have called

	begun sync.Map // callers, and what may refuse them, whose series have their zeros
}

// gauge is a metric that is read when it is asked for.
type gauge struct {
	name, help string
	value      float64
}

// family is a metric that has a series for each combination of its labels.
type family struct {
	name, typ, help string
	series          *metrics.Set
}

// buckets are those of the histograms, in seconds.
var buckets = []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}

// storeBuckets are those of the uses of the store, which have half a second.
var storeBuckets = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5}

// NewMetrics returns metrics without any calls. The profiles of the tools name the models.
func NewMetrics(profiles map[string]answer.Profile) *Metrics {
	m := &Metrics{
		profiles: profiles,
		people:   map[string]bool{},
		inForce:  func(call.Person) []string { return nil },
	}
	m.calls = m.declare("calls_total", "counter", "Calls that have ended.")
	m.errors = m.declare("errors_total", "counter", "Calls without an answer.")
	m.limited = m.declare("limited_calls_total", "counter", "Calls that a quota refused.")
	m.rejected = m.declare("rejected_requests_total", "counter", "Requests that were refused.")
	m.tokens = m.declare("tokens_total", "counter", "Tokens that the API counted, or of the kind guessed.")
	m.searches = m.declare("searches_total", "counter", "Web searches of the API.")
	m.cost = m.declare("cost_usd_total", "counter", "Cost of calls whose model has a price.")
	m.retries = m.declare("retries_total", "counter",
		"Requests to the API that were sent again.")
	m.callTime = m.declare("call_seconds", "histogram", "Time of calls, their waits included.")
	m.apiTime = m.declare("api_seconds", "histogram",
		"Time of the requests of a call to the API.")
	m.waitTime = m.declare("rate_limit_wait_seconds", "histogram",
		"Time that a call waited for the API's rate limit.")
	m.storeFailures = m.declare("store_failures_total", "counter", "Times that the store began to fail.")
	m.storeTime = m.declare("store_seconds", "histogram", "Time of the uses of the store.")

	// Zeros, so that the first one is an increase.
	m.reject(0, rejection{http.StatusUnauthorized, "invalid token", ""})
	m.reject(0, rejection{http.StatusForbidden, "Forbidden", ""})
	m.rejectNone("")
	m.rejectNone("other")
	m.storeFailures.series.NewFloatCounter(m.storeFailures.name)
	m.storeTime.series.NewPrometheusHistogramExt(m.storeTime.name, storeBuckets)
	for tool := range profiles {
		for _, outcome := range []string{server.OutcomeOK, server.OutcomeError} {
			m.addTimes(0, server.Ended{
				Call:    &call.Call{Tool: tool},
				Outcome: outcome,
			})
		}
		for _, kind := range call.Kinds() {
			m.errors.add(0, "tool=%q,kind=%q", tool, kind.Label())
		}
	}
	return m
}

// declare adds a metric to the page.
func (m *Metrics) declare(name, typ, help string) *family {
	f := &family{prefix + name, typ, help, metrics.NewSet()}
	m.families = append(m.families, f)
	return f
}

// add adds n to a series. The names of people and the IDs of models are printable, so %q escapes
// the values of labels as the format wants it.
func (f *family) add(n float64, labels string, values ...any) {
	series := f.name + "{" + fmt.Sprintf(labels, values...) + "}"
	f.series.GetOrCreateFloatCounter(series).Add(n)
}

// addTime adds a time to a histogram, n times of at most one.
func (f *family) addTime(n float64, labels string, took time.Duration) {
	series := f.name + "{" + labels + "}"
	h := f.series.GetOrCreatePrometheusHistogramExt(series, buckets)
	if n > 0 {
		h.Update(took.Seconds())
	}
}

// person returns the name of a person, or other for those who have not called, or called first
// after maxPeople. calls is whether the person calls now.
func (m *Metrics) person(name string, calls bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if calls && len(m.people) < maxPeople {
		m.people[name] = true
	}
	if m.people[name] {
		return name
	}
	return "other"
}

// ObserveStart begins the series of the person of a call with zeros, so that the first call is an
// increase. The call has no figures yet.
func (m *Metrics) ObserveStart(c *call.Call) {
	names := m.inForce(c.Person)
	begun := m.caller(c) + strings.Join(names, " ")
	_, done := m.begun.Load(begun)
	if done {
		return
	}

	for _, outcome := range []string{
		server.OutcomeOK,
		server.OutcomeError,
		server.OutcomeCancelled,
		server.OutcomeLimited,
	} {
		m.count(0, server.Ended{
			Call:    c,
			Outcome: outcome,
		})
	}

	for _, name := range names {
		m.limited.add(0, "%s,limit=%q", m.caller(c), name)
	}
	m.rejectNone(c.Person.Name)
	m.begun.Store(begun, true) // at the end: until then other calls of the person begin them, too
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.Ended) {
	m.count(1, c)
	m.addTimes(1, c)
	if c.Err != nil {
		m.errors.add(1, "tool=%q,kind=%q",
			c.Tool,
			call.KindOf(c.Err).Label())
	}
}

// caller returns the labels of the tool and the person of a call.
func (m *Metrics) caller(c *call.Call) string {
	return fmt.Sprintf("tool=%q,client=%q", c.Tool, m.person(c.Person.Name, true))
}

// count counts a call for its person (n is 1), or begins the series with a call that has no figures
// (0).
func (m *Metrics) count(n float64, c server.Ended) {
	caller := m.caller(c.Call)
	m.calls.add(n, "%s,outcome=%q", caller, c.Outcome)
	m.retries.add(float64(c.Retries), "%s", caller)
	if c.RefusedBy != "" {
		m.limited.add(n, "%s,limit=%q", caller, c.RefusedBy)
	}

	priced := fmt.Sprintf("%s,model=%q",
		caller, m.profiles[c.Tool].Model)
	tokens := func(kind string, n int64) {
		m.tokens.add(float64(n), "%s,kind=%q", priced, kind)
	}
	usage := c.Usage
	tokens("input", usage.Input)
	tokens("cached", usage.Cached)
	if usage.CacheWrite > 0 {
		tokens("cache_write", usage.CacheWrite)
	}
	tokens("output", usage.Output)
	tokens("reasoning", usage.Reasoning)
	if c.Guessed > 0 {
		tokens("guessed", c.Guessed)
	}
	m.searches.add(float64(c.Searches), "%s", priced)
	cost := m.profiles[c.Tool].Cost(c.Used)
	if cost != nil {
		m.cost.add(*cost, "%s", priced)
	}
}

// addTimes adds the times of a call (n is 1), or begins the histograms (0).
func (m *Metrics) addTimes(n float64, c server.Ended) {
	tool := fmt.Sprintf("tool=%q", c.Tool)
	ended := fmt.Sprintf("%s,outcome=%q", tool, c.Outcome)
	m.callTime.addTime(n, ended, c.Duration)
	m.apiTime.addTime(n, ended, c.Time)
	m.waitTime.addTime(n, tool, c.Waited)
}

// useStore counts a use of the store, after which it fails or not.
func (m *Metrics) useStore(took time.Duration, fails bool) {
	f := m.storeTime
	f.series.GetOrCreatePrometheusHistogramExt(f.name, storeBuckets).Update(took.Seconds())
	if fails {
		f = m.storeFailures
		f.series.GetOrCreateFloatCounter(f.name).Add(1)
	}
}

// reject counts n requests that were refused.
func (m *Metrics) reject(n float64, r rejection) {
	labels := fmt.Sprintf("status=\"%d\",reason=%q", r.status, r.reason)
	if r.person != "" {
		labels += fmt.Sprintf(",client=%q", m.person(r.person, false))
	}
	m.rejected.add(n, "%s", labels)
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
	needed := 3*s.People.Bounds.MaxCalls + maxUnauthenticated + others
	if n == 1 && limit < needed {
		s.Log.Warn("the limit of open files is too low for --max-calls: raise it (ulimit -n, "+
			"LimitNOFILE), or lower --max-calls", "limit", limit, "needed", needed)
	}
}

// gauges are the metrics that are read when they are asked for.
func (s *instance) gauges() []gauge {
	ready := 1.0
	if s.ready() != nil {
		ready = 0
	}

	requests, running, waiting := s.People.Counts()
	build := fmt.Sprintf("build_info{version=%q}", version.String())
	gauges := []gauge{
		{build, "Version of the program.", 1},
		{"ready", "1 while /readyz answers 200.", ready},
		{
			"stale_files",
			"Files that cannot be used: their last content stays in use.",
			float64(s.StaleFiles()),
		},
		{"max_calls", "Calls that run at once.", float64(s.People.Bounds.MaxCalls)},
		{
			"store_failing",
			"1 while the store of the quotas fails.",
			float64(s.Budget.Store.Failing()),
		},
		{"requests_in_flight", "Requests that run or wait.", float64(requests)},
		{
			"calls_running",
			"Calls that have a slot, those without a request included.",
			float64(running),
		},
		{
			"requests_waiting",
			"Calls that wait, for others or for the API's rate limit.",
			float64(waiting + s.Waiting()),
		},
	}
	near := s.Budget.Near()
	for _, q := range s.Budget.Limits.All() {
		gauges = append(gauges, gauge{q.Setting, "A quota; 0: none.", q.Limit})
	}
	for _, q := range s.Budget.Limits.All() {
		gauges = append(gauges, gauge{
			fmt.Sprintf("near_limit{limit=%q}", q.Name),
			"People who have used 80 % of a quota; of those of all people 1.",
			float64(near[q.Name]),
		})
	}
	return gauges
}

// ServeHTTP is GET /metrics. Each family has its description.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var page bytes.Buffer
	const description = "# HELP %[1]s %[3]s\n# TYPE %[1]s %[2]s\n"
	last := ""
	for _, g := range m.gauges() {
		name, _, _ := strings.Cut(g.name, "{")
		if name != last {
			fmt.Fprintf(&page, description, prefix+name, "gauge", g.help)
		}
		last = name
		value := strconv.FormatFloat(g.value, 'f', -1, 64)
		fmt.Fprintf(&page, "%s%s %s\n", prefix, g.name, value)
	}
	for _, f := range m.families {
		fmt.Fprintf(&page, description, f.name, f.typ, f.help)
		f.series.WritePrometheus(&page)
	}

	metrics.WriteProcessMetrics(&page)
	metrics.WriteFDMetrics(&page) // not part of them: it reads a directory
	_, _ = page.WriteTo(w)
}
