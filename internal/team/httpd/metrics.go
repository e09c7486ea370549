package httpd

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/VictoriaMetrics/metrics"
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
)

const (
	metricPrefix = "openai_responses_mcp_" // begins the names of the metrics of this program
	maxPeople    = 1000                    // names of people in the metrics; others are "other"
)

// metricSet counts calls and rejected requests for /metrics.
type metricSet struct {
	profiles map[string]answer.Profile // by tool; name the models and prices
	budget   *budget.Budget
	families []*family // in the order of the page

	calls, errors, limited, rejected, tokens, searches, cost, retries *family // counters
	callTime, apiTime, waitTime                                       *family // histograms
	storeFailures, storeTime                                          *family // one series each

	mu          sync.Mutex      // guards personNames
	personNames map[string]bool // names of people who have called, at most maxPeople

	// begunSeries has a key for the series of a person and a tool that observeStart has begun:
	// their labels, and the values of RefusedBy for the person.
	begunSeries sync.Map
}

// family is a metric that has a series for each combination of its labels.
type family struct {
	name, help string
	buckets    []float64 // upper bounds of the buckets of a histogram, in seconds; nil: a counter
	series     *metrics.Set
}

// Buckets of histograms. A reply of the store takes half a second at most.
var (
	callBuckets  = []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}
	storeBuckets = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5}
)

// seriesOnly is a number of events that begins a series at 0 and counts nothing. Prometheus shows
// the first event as an increase only if the series was at 0 before.
const seriesOnly = 0

// begunOutcomes are the outcomes whose series begin at 0.
var begunOutcomes = []string{
	server.OutcomeOK,
	server.OutcomeError,
	server.OutcomeCancelled,
	server.OutcomeLimited,
}

// newMetricSet returns a metricSet without calls. Without tokens all calls have one person, whose
// series begin here.
func newMetricSet(o Options) *metricSet {
	m := &metricSet{
		profiles:    o.ServerOptions.Settings.Profiles,
		budget:      o.ServerOptions.Budget,
		personNames: map[string]bool{},
	}
	m.declareFamilies()
	m.beginSeries()
	if !o.Access.NeedsToken() { // otherwise the series of a person begin with the first call
		for tool := range m.profiles {
			m.observeStart(&call.Call{
				Tool:   tool,
				Person: call.Person{Name: call.Anonymous},
			})
		}
	}
	return m
}

// observing returns the options of a server whose calls m observes, too. It makes m the observer of
// the store.
func (m *metricSet) observing(o server.Options) server.Options {
	observe := o.Observe
	o.ObserveStart = m.observeStart
	o.Observe = func(end server.CallEnd) {
		m.observe(end)
		observe(end)
	}
	if o.Budget.Store != nil {
		o.Budget.Store.SetObserver(m.observeStore)
	}
	return o
}

// declareFamilies adds all metrics but the gauges to the page.
func (m *metricSet) declareFamilies() {
	m.calls = m.counter("calls_total", "Calls that have ended.")
	m.errors = m.counter("errors_total", "Calls without an answer.")
	m.limited = m.counter("limited_calls_total", "Calls that a quota refused.")
	m.rejected = m.counter("rejected_requests_total", "Requests that were rejected.")
	m.tokens = m.counter("tokens_total", "Tokens that the API counted, or of the kind guessed.")
	m.searches = m.counter("searches_total", "Web searches of the API.")
	m.cost = m.counter("cost_usd_total", "Cost of calls whose model has a price.")
	m.retries = m.counter("retries_total", "Attempts after the first of requests to the API.")
	m.callTime = m.declare("call_seconds", "Time of calls, their waits included.", callBuckets)
	m.apiTime = m.declare("api_seconds", "Time of the requests of a call to the API.", callBuckets)
	m.waitTime = m.declare("rate_limit_wait_seconds",
		"Time that a call waited for the API's rate limit.", callBuckets)
	m.storeFailures = m.counter("store_failures_total", "Times that the store began to fail.")
	m.storeTime = m.declare("store_seconds", "Time of the uses of the store.", storeBuckets)
}

// beginSeries begins the series that do not depend on a person.
func (m *metricSet) beginSeries() {
	m.countRejections(seriesOnly, rejection{http.StatusUnauthorized, auth.ErrInvalidToken.Error(), ""})
	m.countRejections(seriesOnly, rejection{http.StatusForbidden, "Forbidden", ""})
	m.beginRejections("")
	m.beginRejections("other")
	m.storeFailures.add(seriesOnly, "")
	m.storeTime.addTime(seriesOnly, 0, "")
	for tool := range m.profiles {
		for _, outcome := range begunOutcomes {
			m.addTimes(seriesOnly, server.CallEnd{
				Call:    &call.Call{Tool: tool},
				Outcome: outcome,
			})
		}
		for _, kind := range call.Kinds() {
			m.errors.add(seriesOnly, "tool=%q,kind=%q", tool, kind.Label())
		}
	}
}

// counter adds a counter to the page.
func (m *metricSet) counter(name, help string) *family { return m.declare(name, help, nil) }

// declare adds a metric to the page: a histogram, or without buckets a counter.
func (m *metricSet) declare(name, help string, buckets []float64) *family {
	f := &family{name, help, buckets, metrics.NewSet()}
	m.families = append(m.families, f)
	return f
}

// seriesName returns the name of the series with these labels, a format and its values. The names
// of people and the IDs of models are printable, so %q escapes the values of labels as the format
// of the page wants.
func (f *family) seriesName(labels string, values ...any) string {
	name := metricPrefix + f.name
	if labels != "" {
		name += "{" + fmt.Sprintf(labels, values...) + "}"
	}
	return name
}

// add adds n to the series of a counter.
func (f *family) add(n float64, labels string, values ...any) {
	f.series.GetOrCreateFloatCounter(f.seriesName(labels, values...)).Add(n)
}

// addTime adds a time to the series of a histogram, or begins it if n is seriesOnly.
func (f *family) addTime(n float64, took time.Duration, labels string, values ...any) {
	h := f.series.GetOrCreatePrometheusHistogramExt(f.seriesName(labels, values...), f.buckets)
	if n != seriesOnly {
		h.Update(took.Seconds())
	}
}

// personLabel returns the name of a person, or "other" if registerPerson has not kept it.
func (m *metricSet) personLabel(name string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.personNames[name] {
		return name
	}
	return "other"
}

// observeStart begins the series of the person of a call at 0 (see seriesOnly). The call has used
// nothing yet.
func (m *metricSet) observeStart(c *call.Call) {
	limits := m.budget.RefusedByValues(c.Person)
	personLabels := m.registerPerson(c)
	key := personLabels + strings.Join(limits, " ")
	_, begun := m.begunSeries.Load(key)
	if begun {
		return
	}

	for _, outcome := range begunOutcomes {
		m.countCall(seriesOnly, server.CallEnd{
			Call:    c,
			Outcome: outcome,
		})
	}

	for _, limit := range limits {
		m.limited.add(seriesOnly, "%s,limit=%q", personLabels, limit)
	}
	m.beginRejections(c.Person.Name)
	// At the end: other calls of the person must not go on before the series have begun.
	m.begunSeries.Store(key, true)
}

// observe counts a call that has ended.
func (m *metricSet) observe(end server.CallEnd) {
	m.countCall(1, end)
	m.addTimes(1, end)
	if end.Err != nil {
		m.errors.add(1, "tool=%q,kind=%q",
			end.Tool,
			call.KindOf(end.Err).Label())
	}
}

// registerPerson keeps the name of the person of a call, unless maxPeople are kept, and returns the
// labels of the tool and the person.
func (m *metricSet) registerPerson(c *call.Call) string {
	m.mu.Lock()
	if len(m.personNames) < maxPeople {
		m.personNames[c.Person.Name] = true
	}
	m.mu.Unlock()
	return fmt.Sprintf("tool=%q,client=%q", c.Tool, m.personLabel(c.Person.Name))
}

// countCall counts a call for its person. If n is seriesOnly, it begins the series: the call has
// used nothing yet.
func (m *metricSet) countCall(n float64, end server.CallEnd) {
	personLabels := m.registerPerson(end.Call)
	m.calls.add(n, "%s,outcome=%q", personLabels, end.Outcome)
	m.retries.add(float64(end.Retries), "%s", personLabels)
	if end.RefusedBy != "" {
		m.limited.add(n, "%s,limit=%q", personLabels, end.RefusedBy)
	}

	withModel := fmt.Sprintf("%s,model=%q",
		personLabels, m.profiles[end.Tool].Model)
	addTokens := func(kind string, n int64) {
		m.tokens.add(float64(n), "%s,kind=%q", withModel, kind)
	}
	usage := end.Usage
	addTokens("input", usage.Input)
	addTokens("cached", usage.Cached)
	if usage.CacheWrite > 0 {
		addTokens("cache_write", usage.CacheWrite)
	}
	addTokens("output", usage.Output)
	addTokens("reasoning", usage.Reasoning)
	if end.GuessedTokens > 0 {
		addTokens("guessed", end.GuessedTokens)
	}
	m.searches.add(float64(end.Searches), "%s", withModel)
	cost := m.profiles[end.Tool].Cost(end.Used)
	if cost != nil {
		m.cost.add(*cost, "%s", withModel)
	}
}

// addTimes adds the times of a call, or begins the histograms if n is seriesOnly.
func (m *metricSet) addTimes(n float64, end server.CallEnd) {
	const withOutcome = "tool=%q,outcome=%q"
	m.callTime.addTime(n, end.Duration, withOutcome, end.Tool, end.Outcome)
	m.apiTime.addTime(n, end.APITime, withOutcome, end.Tool, end.Outcome)
	m.waitTime.addTime(n, end.RateLimitWait, "tool=%q", end.Tool)
}

// observeStore counts a use of the store. beginsToFail says that the store began to fail with this
// use.
func (m *metricSet) observeStore(took time.Duration, beginsToFail bool) {
	m.storeTime.addTime(1, took, "")
	if beginsToFail {
		m.storeFailures.add(1, "")
	}
}

// countRejections counts n requests that were rejected.
func (m *metricSet) countRejections(n float64, r rejection) {
	labels := fmt.Sprintf("status=\"%d\",reason=%q", r.status, r.reason)
	if r.person != "" {
		labels += fmt.Sprintf(",client=%q", m.personLabel(r.person))
	}
	m.rejected.add(n, "%s", labels)
}

// beginRejections begins the series of the requests of a person that the limits reject.
func (m *metricSet) beginRejections(person string) {
	for _, reason := range people.Reasons {
		m.countRejections(seriesOnly, rejection{http.StatusTooManyRequests, reason, person})
	}
}

// checkDescriptors logs a warning if the process may not open enough files and connections. For
// each of MaxCalls it needs three: a request that runs, one that waits, and the connection to the
// API.
func (s *instance) checkDescriptors() {
	var page bytes.Buffer
	metrics.WriteFDMetrics(&page)
	limit := 0
	n, _ := fmt.Sscanf(page.String(), "process_max_fds %d", &limit) // only on Linux

	const others = 50 // files, listeners, idle connections
	needed := 3*s.people.Bounds.MaxCalls + maxUnauthenticated + others
	if n == 1 && limit < needed {
		s.Log.Warn("the limit of open files is too low for --max-calls: raise it (ulimit -n, "+
			"LimitNOFILE), or lower --max-calls", "limit", limit, "needed", needed)
	}
}

// serveMetrics answers GET /metrics in the Prometheus text format
// (https://prometheus.io/docs/instrumenting/exposition_formats). Each metric has a description.
func (s *instance) serveMetrics(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "text/plain; version=0.0.4; charset=utf-8")
	var page bytes.Buffer
	s.writeGauges(&page)
	for _, f := range s.metrics.families {
		typ := "counter"
		if f.buckets != nil {
			typ = "histogram"
		}
		describe(&page, f.name, typ, f.help)
		f.series.WritePrometheus(&page)
	}

	metrics.WriteProcessMetrics(&page)
	metrics.WriteFDMetrics(&page) // not in WriteProcessMetrics, as it reads a directory
	_, _ = page.WriteTo(w)
}

// describe writes the description of a metric.
func describe(w io.Writer, name, typ, help string) {
	fmt.Fprintf(w, "# HELP %[1]s %[3]s\n# TYPE %[1]s %[2]s\n", metricPrefix+name, typ, help)
}

// writeGauges writes the gauges: metrics whose values are read for each page.
func (s *instance) writeGauges(w io.Writer) {
	series := func(name string, value float64) {
		fmt.Fprintf(w, "%s%s %s\n", metricPrefix, name, strconv.FormatFloat(value, 'f', -1, 64))
	}
	gauge := func(name string, value float64, help string) {
		describe(w, name, "gauge", help)
		series(name, value)
	}
	oneIf := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}

	describe(w, "build_info", "gauge", "Version of the program.")
	series(fmt.Sprintf("build_info{version=%q}", version.String()), 1)
	gauge("ready", oneIf(s.checkReady() == nil), "1 while /readyz answers 200.")
	gauge("stale_files", float64(s.NumStaleFiles()),
		"Files that cannot be used: their last content stays in use.")
	gauge("max_calls", float64(s.people.Bounds.MaxCalls), "Calls that run at once.")
	gauge("store_failing", oneIf(s.ServerOptions.Budget.Store.IsFailing()),
		"1 while the store of the quotas fails.")

	requests, running, waiting := s.people.Counts()
	gauge("requests_in_flight", float64(requests), "Requests that run or wait.")
	gauge("calls_running", float64(running),
		"Calls that have a slot, those without a request included.")
	gauge("calls_waiting", float64(waiting+s.NumWaitingForRateLimit()),
		"Calls that wait, for others or for the API's rate limit.")

	quotas := s.ServerOptions.Budget.Limits.Quotas()
	for _, q := range quotas {
		gauge(q.Setting, q.Limit, "A quota; 0: none.")
	}
	near := s.ServerOptions.Budget.NearLimitCounts()
	describe(w, "near_limit", "gauge",
		"People who have used 80 % of a quota; of those of all people 1.")
	for _, q := range quotas {
		series(fmt.Sprintf("near_limit{limit=%q}", q.Name), float64(near[q.Name]))
	}
}
