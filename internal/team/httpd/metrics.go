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
	"github.com/modelcontextprotocol/go-sdk/auth"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/people"
)

const (
	prefix    = "openai_responses_mcp_" // begins the names of the metrics of this program
	maxPeople = 1000                    // names of people in the metrics; further people are "other"
)

// Metrics counts calls for /metrics, in the Prometheus text format
// (https://prometheus.io/docs/instrumenting/exposition_formats).
type Metrics struct {
	profiles   map[string]answer.Profile  // by tool
	gauges     func() []gauge             // set by instance.wireMetrics
	quotaNames func(call.Person) []string // names of quotas (Budget.QuotaNames), set by wireMetrics

	families []*family // in the order of the page

	calls, errors, limited, rejected, tokens, searches, cost, retries *family // counters
	callTime, apiTime, waitTime                                       *family // histograms
	storeFailures, storeTime                                          *family // one series each

	mu     sync.Mutex      // guards people
	people map[string]bool // names of people who have called, at most maxPeople

	// begun holds the labels of callers, followed by the names of their quotas, whose series have
	// begun with zeros (ObserveStart).
	begun sync.Map
}

// gauge is a metric whose value is read for each page.
type gauge struct {
	name, help string
	value      float64
}

// family is a metric that has a series for each combination of its labels.
type family struct {
	name, typ, help string
	series          *metrics.Set
}

// buckets are the upper bounds of the buckets of a histogram, in seconds.
var buckets = []float64{0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 300}

// storeBuckets are the buckets of storeTime: a use of the store takes half a second at most.
var storeBuckets = []float64{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5}

// NewMetrics returns metrics without any calls. The profiles, by tool, name the models and prices.
func NewMetrics(profiles map[string]answer.Profile) *Metrics {
	m := &Metrics{
		profiles:   profiles,
		people:     map[string]bool{},
		quotaNames: func(call.Person) []string { return nil },
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

	// These series begin with zeros, so that the first event is an increase.
	m.countRejections(0, rejection{http.StatusUnauthorized, auth.ErrInvalidToken.Error(), ""})
	m.countRejections(0, rejection{http.StatusForbidden, "Forbidden", ""})
	m.zeroRejections("")
	m.zeroRejections("other")
	m.storeFailures.series.NewFloatCounter(m.storeFailures.name)
	m.storeTime.series.NewPrometheusHistogramExt(m.storeTime.name, storeBuckets)
	for tool := range profiles {
		for _, outcome := range []string{server.OutcomeOK, server.OutcomeError} {
			m.addTimes(0, server.CallEnd{
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

// add adds n to the series with these labels, a format and its values. The names of people and the
// IDs of models are printable, so %q escapes the values of labels as the format of the page wants.
func (f *family) add(n float64, labels string, values ...any) {
	series := f.name + "{" + fmt.Sprintf(labels, values...) + "}"
	f.series.GetOrCreateFloatCounter(series).Add(n)
}

// addTime adds a time to a histogram if n is 1. If n is 0, it only begins the series.
func (f *family) addTime(n float64, labels string, took time.Duration) {
	series := f.name + "{" + labels + "}"
	h := f.series.GetOrCreatePrometheusHistogramExt(series, buckets)
	if n > 0 {
		h.Update(took.Seconds())
	}
}

// personLabel returns the name of a person, or "other" for people who have not called, or who
// called after maxPeople others. isCalling is whether the person calls now.
func (m *Metrics) personLabel(name string, isCalling bool) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if isCalling && len(m.people) < maxPeople {
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
	names := m.quotaNames(c.Person)
	key := m.caller(c) + strings.Join(names, " ")
	_, begun := m.begun.Load(key)
	if begun {
		return
	}

	for _, outcome := range []string{
		server.OutcomeOK,
		server.OutcomeError,
		server.OutcomeCancelled,
		server.OutcomeLimited,
	} {
		m.count(0, server.CallEnd{
			Call:    c,
			Outcome: outcome,
		})
	}

	for _, name := range names {
		m.limited.add(0, "%s,limit=%q", m.caller(c), name)
	}
	m.zeroRejections(c.Person.Name)
	m.begun.Store(key, true) // only now: no call of the person goes on before the series have begun
}

// Observe counts a call that has ended.
func (m *Metrics) Observe(c server.CallEnd) {
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
	return fmt.Sprintf("tool=%q,client=%q", c.Tool, m.personLabel(c.Person.Name, true))
}

// count counts a call for its person if n is 1. If n is 0, it only begins the series: the call has
// no figures yet.
func (m *Metrics) count(n float64, c server.CallEnd) {
	caller := m.caller(c.Call)
	m.calls.add(n, "%s,outcome=%q", caller, c.Outcome)
	m.retries.add(float64(c.Retries), "%s", caller)
	if c.RefusedBy != "" {
		m.limited.add(n, "%s,limit=%q", caller, c.RefusedBy)
	}

	withModel := fmt.Sprintf("%s,model=%q",
		caller, m.profiles[c.Tool].Model)
	addTokens := func(kind string, n int64) {
		m.tokens.add(float64(n), "%s,kind=%q", withModel, kind)
	}
	usage := c.Usage
	addTokens("input", usage.Input)
	addTokens("cached", usage.Cached)
	if usage.CacheWrite > 0 {
		addTokens("cache_write", usage.CacheWrite)
	}
	addTokens("output", usage.Output)
	addTokens("reasoning", usage.Reasoning)
	if c.GuessedTokens > 0 {
		addTokens("guessed", c.GuessedTokens)
	}
	m.searches.add(float64(c.Searches), "%s", withModel)
	cost := m.profiles[c.Tool].Cost(c.Used)
	if cost != nil {
		m.cost.add(*cost, "%s", withModel)
	}
}

// addTimes adds the times of a call if n is 1, or begins the histograms if n is 0.
func (m *Metrics) addTimes(n float64, c server.CallEnd) {
	tool := fmt.Sprintf("tool=%q", c.Tool)
	withOutcome := fmt.Sprintf("%s,outcome=%q", tool, c.Outcome)
	m.callTime.addTime(n, withOutcome, c.Duration)
	m.apiTime.addTime(n, withOutcome, c.APITime)
	m.waitTime.addTime(n, tool, c.RateLimitWait)
}

// observeStore counts a use of the store. fails is whether the store began to fail with it.
func (m *Metrics) observeStore(took time.Duration, fails bool) {
	f := m.storeTime
	f.series.GetOrCreatePrometheusHistogramExt(f.name, storeBuckets).Update(took.Seconds())
	if fails {
		f = m.storeFailures
		f.series.GetOrCreateFloatCounter(f.name).Add(1)
	}
}

// countRejections counts n requests that were refused.
func (m *Metrics) countRejections(n float64, r rejection) {
	labels := fmt.Sprintf("status=\"%d\",reason=%q", r.status, r.reason)
	if r.person != "" {
		labels += fmt.Sprintf(",client=%q", m.personLabel(r.person, false))
	}
	m.rejected.add(n, "%s", labels)
}

// zeroRejections begins the series of the requests of a person that the limits reject.
func (m *Metrics) zeroRejections(person string) {
	for _, reason := range []string{people.ReasonPerson, people.ReasonServer, people.ReasonBytes} {
		m.countRejections(0, rejection{http.StatusTooManyRequests, reason, person})
	}
}

// checkDescriptors logs a warning if the process may not open enough files and connections. It
// needs one for each request that runs or waits, and one to the API for each call that runs.
func (s *instance) checkDescriptors() {
	var page bytes.Buffer
	metrics.WriteFDMetrics(&page)
	limit := 0
	n, _ := fmt.Sscanf(page.String(), "process_max_fds %d", &limit) // only on Linux

	const others = 50 // files, listeners, idle connections
	needed := 3*s.People.Bounds.MaxCalls + maxUnauthenticated + others
	if n == 1 && limit < needed {
		s.Log.Warn("the limit of open files is too low for --max-calls: raise it (ulimit -n, "+
			"LimitNOFILE), or lower --max-calls", "limit", limit, "needed", needed)
	}
}

// gauges returns the present values of all gauges.
func (s *instance) gauges() []gauge {
	isTrue := func(b bool) float64 {
		if b {
			return 1
		}
		return 0
	}
	requests, running, waiting := s.People.Counts()
	build := fmt.Sprintf("build_info{version=%q}", version.String())
	gauges := []gauge{
		{build, "Version of the program.", 1},
		{"ready", "1 while /readyz answers 200.", isTrue(s.checkReady() == nil)},
		{
			"stale_files",
			"Files that cannot be used: their last content stays in use.",
			float64(s.StaleFiles()),
		},
		{"max_calls", "Calls that run at once.", float64(s.People.Bounds.MaxCalls)},
		{
			"store_failing",
			"1 while the store of the quotas fails.",
			isTrue(s.Budget.Store.IsFailing()),
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
			float64(waiting + s.WaitingForRateLimit()),
		},
	}
	near := s.Budget.Near()
	for _, q := range s.Budget.Limits.Quotas() {
		gauges = append(gauges, gauge{q.Setting, "A quota; 0: none.", q.Limit})
	}
	for _, q := range s.Budget.Limits.Quotas() {
		gauges = append(gauges, gauge{
			fmt.Sprintf("near_limit{limit=%q}", q.Name),
			"People who have used 80 % of a quota; of those of all people 1.",
			float64(near[q.Name]),
		})
	}
	return gauges
}

// ServeHTTP answers GET /metrics. Each metric has a description.
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
	metrics.WriteFDMetrics(&page) // not in WriteProcessMetrics, as it reads a directory
	_, _ = page.WriteTo(w)
}
