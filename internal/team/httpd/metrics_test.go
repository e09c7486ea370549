package httpd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http/httptest"
	"os"
	"regexp"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/version"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/server"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// page returns /metrics after n calls of different people.
func page(t *testing.T, n int) (page string) {
	m := NewMetrics(map[string]answer.Profile{"answer": {Price: &call.Price{Output: 14}}})
	for i := range n {
		person := call.Person{Name: fmt.Sprint("user-", i)}
		c := &call.Call{Tool: "answer", Person: person}
		m.ObserveStart(c)
		c.Usage.Output = 1000
		m.Observe(server.CallEnd{Call: c, Outcome: "ok"})
	}

	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{}, func(o *Options) {
			o.Access.Tokens = nil
			o.Metrics = m
		})
		_, page = s.request(get("/metrics"), 200)
	})
	return page
}

// Before the first call each family has its description, the series of alerts are 0, and the
// buckets of a histogram are in the order of numbers.
func TestFirstPage(t *testing.T) {
	const bucket = prefix + `call_seconds_bucket{tool="answer",outcome="ok",le=`
	got := page(t, 0)

	for _, want := range []string{
		"# HELP openai_responses_mcp_ready 1 while /readyz answers 200.",
		"# TYPE openai_responses_mcp_call_seconds histogram",
		prefix + `build_info{version="` + version.String() + `"} 1`,
		prefix + `errors_total{tool="answer",kind="auth"} 0`,
		prefix + `errors_total{tool="answer",kind="shutdown"} 0`,
		prefix + `rejected_requests_total{status="401",reason="invalid token"} 0`,
		prefix + `rejected_requests_total{status="429",reason="person"} 0`,
		bucket + "\"5\"} 0\n" + bucket + "\"10\"} 0\n" + bucket + `"20"} 0`,
		bucket + "\"300\"} 0\n" + bucket + `"+Inf"} 0`,
		prefix + `call_seconds_count{tool="answer",outcome="error"} 0`,
		prefix + `store_failures_total 0`,
		prefix + `store_seconds_bucket{le="0.001"} 0`,
		prefix + `store_seconds_bucket{le="0.5"} 0`,
		prefix + `store_seconds_count 0`,
	} {
		t.Run(want, func(t *testing.T) {
			compare.Contains(t, "the page", got, want+"\n")
		})
	}
	compare.Equal(t, "descriptions", strings.Count(got, "# TYPE "+prefix), 27)
}

// A use of the store has its time on the page, and the use after which the store fails is counted.
func TestStoreMetrics(t *testing.T) {
	m := NewMetrics(nil)
	store := budget.NewStore(nil, slog.New(slog.DiscardHandler))
	store.Dial = func(context.Context, string, string) (net.Conn, error) {
		time.Sleep(150 * time.Millisecond)
		return nil, errors.New("unreachable")
	}
	_, err := store.SetURL("redis://store")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{}, func(o *Options) {
			o.Access.Tokens = nil
			o.Metrics = m
			o.Budget = budget.New(budget.Options{Store: store})
			o.Loops = append(o.Loops, store.Probe)
		})
		time.Sleep(2 * time.Second) // two probes
		_, page := s.request(get("/metrics"), 200)
		for _, want := range []string{
			"store_failing 1",
			"store_failures_total 1",
			`store_seconds_bucket{le="0.1"} 0`,
			`store_seconds_bucket{le="0.2"} 2`,
			"store_seconds_sum 0.3",
		} {
			compare.Contains(t, "the page", page, "\n"+prefix+want+"\n")
		}
	})
}

// The metrics have 1,000 names, and one for all others.
func TestManyClients(t *testing.T) {
	got := page(t, 1100)

	const series = 4 * (1000 + 1) // ok, error, cancelled and limited, also of other
	compare.Equal(t, "series of calls", strings.Count(got, prefix+"calls_total{"), series)
	for _, others := range []string{
		prefix + `calls_total{tool="answer",client="other",outcome="ok"} 100`,
		prefix + `cost_usd_total{tool="answer",client="other",model=""} 1.4`,
	} {
		compare.Contains(t, "the page", got, others)
	}
	if strings.Contains(got, "cache_write") {
		t.Error("the page has tokens that were written to the cache, want none")
	}
}

// The names are those of people who have called. Their series begin with zeros when a call starts.
func TestNamesOfCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const client = `{tool="answer",client="alice"`
		const model = client + `,model="gpt-5.2"`
		prices := map[string]answer.Profile{"answer": {
			ModelSettings: call.ModelSettings{Model: "gpt-5.2"},
			Price:         &call.Price{Output: 14},
		}}
		s := serve(t, slow, func(o *Options) {
			o.Metrics = NewMetrics(prices)
			o.Budget = budget.New(budget.Options{Limits: budget.Limits{TokensPerDay: 1, USDPerDayOfAll: 0.01}})
			o.People.Bounds.MaxCalls = 1024 // a quarter is that of a person
		})

		s.request(by(bob, message), 200)
		s.request(scrape, 403)
		_, page := s.request(by(reader, scrape), 200)
		compare.Equal(t, "names", strings.Count(page, "client="), 4) // of the 403 and 429s: other

		var conns []net.Conn
		for range 256 {
			conns = append(conns, s.send(post(tool, "")))
		}
		synctest.Wait()
		s.metrics(
			"calls_total"+client+`,outcome="cancelled"} 0`,
			"calls_total"+client+`,outcome="error"} 0`,
			"calls_total"+client+`,outcome="limited"} 0`,
			"calls_total"+client+`,outcome="ok"} 0`,
			"limited_calls_total"+client+`,limit="day"} 0`,
			"limited_calls_total"+client+`,limit="usd_all"} 0`,
			"cost_usd_total"+model+"} 0",
			`rejected_requests_total{status="429",reason="bytes",client="alice"} 0`,
			`rejected_requests_total{status="429",reason="person",client="alice"} 0`,
			`rejected_requests_total{status="429",reason="server",client="alice"} 0`,
			"retries_total"+client+"} 0",
			"searches_total"+model+"} 0",
			"tokens_total"+model+`,kind="cached"} 0`,
			"tokens_total"+model+`,kind="input"} 0`,
			"tokens_total"+model+`,kind="output"} 0`,
			"tokens_total"+model+`,kind="reasoning"} 0`,
		)

		for _, c := range conns {
			s.receive(c, 200)
		}
		s.metrics("calls_total"+client+`,outcome="ok"} 256`, "searches_total"+model+"} 256")
		_, page = s.request(by(reader, scrape), 200)
		compare.Equal(t, "bob is named", strings.Contains(page, "bob"), false)
	})
}

// Calls start at once, and the page is read meanwhile: each has its zeros or its count.
func TestStartsAtOnce(t *testing.T) {
	m := NewMetrics(map[string]answer.Profile{"answer": {}})
	m.gauges = func() []gauge { return nil }
	m.quotaNames = func(call.Person) []string { return []string{"hour"} }
	read := func() string {
		w := httptest.NewRecorder()
		m.ServeHTTP(w, nil)
		return w.Body.String()
	}

	var calls sync.WaitGroup
	for i := range 1100 {
		calls.Go(func() {
			c := &call.Call{Tool: "answer", Person: call.Person{Name: fmt.Sprint("user-", i)}}
			m.ObserveStart(c)
			m.Observe(server.CallEnd{Call: c, Outcome: "ok"})
		})
		if i%100 == 0 {
			calls.Go(func() { read() })
		}
	}
	calls.Wait()

	page := read()
	compare.Equal(t, "names", strings.Count(page, `outcome="cancelled"} 0`), 1001)
	compare.Contains(t, "the page", page, `calls_total{tool="answer",client="other",outcome="ok"} 100`)
}

// The alert rules and the dashboard use metrics that exist.
func TestMonitoring(t *testing.T) {
	name := regexp.MustCompile(`\b(openai_responses_mcp|process)_\w+`)
	all := page(t, 1)

	for _, file := range []string{"prometheus/rules.yaml", "grafana/dashboard.json"} {
		text, err := os.ReadFile("../../../config/" + file)
		if err != nil {
			t.Fatal(err)
		}
		used := name.FindAllString(string(text), -1)
		if len(used) == 0 {
			t.Errorf("%s uses no metrics", file)
		}

		for _, metric := range used {
			if !regexp.MustCompile(metric + `\b`).MatchString(all) {
				t.Errorf("/metrics does not have %s of %s", metric, file)
			}
		}
	}
}
