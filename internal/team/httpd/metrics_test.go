package httpd

import (
	"context"
	"errors"
	"fmt"
	"io"
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
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// page returns /metrics after n calls of different people at once, while others read it.
func page(t *testing.T, n int) string {
	o := optionsFor(ask{}, io.Discard)
	m := newMetricSet(o)
	o.ServerOptions = m.observing(o.ServerOptions)
	s := &instance{Options: o, people: o.ServerOptions.People, metrics: m, serveCtx: t.Context()}
	read := func() string {
		w := httptest.NewRecorder()
		s.serveMetrics(w, nil)
		return w.Body.String()
	}

	var calls sync.WaitGroup
	for i := range n {
		calls.Go(func() {
			c := &call.Call{Tool: "answer", Person: call.Person{Name: fmt.Sprint("user-", i)}}
			o.ServerOptions.ObserveStart(c)
			c.Usage.Output = 1000
			o.ServerOptions.Observe(server.CallEnd{Call: c, Outcome: "ok"})
		})
		if i%100 == 0 {
			read()
		}
	}
	calls.Wait()
	return read()
}

// Before the first call each family has its description, the series of alerts are 0, and the
// buckets of a histogram are in the order of numbers.
func TestFirstPage(t *testing.T) {
	got := page(t, 0)

	for _, row := range compare.Table(t, "first-page", 2) {
		t.Run(row[0], func(t *testing.T) {
			want := strings.Replace(row[1], "VERSION", version.String(), 1)
			compare.Contains(t, "the page", got, want+"\n")
		})
	}

	// Operators read about each metric, each kind of error and each quota.
	const runbooks = "docs/reference/runbooks.md"
	text, err := os.ReadFile("../../../" + runbooks)
	if err != nil {
		t.Fatal(err)
	}
	names := regexp.MustCompile(`# TYPE ` + metricPrefix + `(\w+)|(?:kind|limit)="(\w+)"`)
	for _, m := range names.FindAllStringSubmatch(got, -1) {
		name := "`" + m[1] + m[2] + "`"
		if !strings.Contains(string(text), name) {
			t.Errorf("%s does not have %s", runbooks, name)
		}
	}
}

// A use of the store has its time on the page, and the use after which the store fails is counted.
func TestStoreMetrics(t *testing.T) {
	store := budget.NewStore(budget.StoreOptions{
		Log: slog.New(slog.DiscardHandler),
		Dial: func(context.Context, string, string) (net.Conn, error) {
			time.Sleep(150 * time.Millisecond)
			return nil, errors.New("unreachable")
		},
	})
	_, err := store.SetURL("redis://store")
	if err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		s := serve(t, ask{}, func(o *Options) {
			o.Access.Tokens = nil
			o.ServerOptions.Budget = budget.New(budget.Options{Store: store})
			o.Loops = append(o.Loops, store.Probe)
		})
		time.Sleep(2 * time.Second) // two probes
		s.metrics(
			"store_failing 1",
			"store_failures_total 1",
			`store_seconds_bucket{le="0.1"} 0`,
			`store_seconds_bucket{le="0.2"} 2`,
			"store_seconds_sum 0.3",
		)
	})
}

// The metrics have 1,000 names, of which one is anonymous, and one for all others.
func TestManyClients(t *testing.T) {
	got := page(t, 1100)

	const series = 4 * (1000 + 1) // ok, error, cancelled and limited, also of other
	compare.Equal(t, "series of calls", strings.Count(got, metricPrefix+"calls_total{"), series)
	for _, others := range []string{
		metricPrefix + `calls_total{tool="answer",client="other",outcome="ok"} 101`,
		metricPrefix + `cost_usd_total{tool="answer",client="other",model="gpt-5.2"} 1.414`,
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
		s := serve(t, slow, func(o *Options) {
			o.ServerOptions.Budget = budget.New(budget.Options{Limits: budget.Limits{TokensPerDay: 1e9, USDPerDayOfAll: 1000}})
			o.ServerOptions.People.Bounds.MaxCalls = 1024 // a quarter is that of a person
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
		zeros := compare.Table(t, "zeros", 1)
		for _, row := range zeros {
			s.metrics(row[0])
		}

		for _, c := range conns {
			s.receive(c, 200)
		}
		s.metrics("calls_total"+client+`,outcome="ok"} 256`, "searches_total"+model+"} 256")
		_, page = s.request(by(reader, scrape), 200)
		compare.Equal(t, "bob is named", strings.Contains(page, "bob"), false)
		series := strings.Count(page, `client="alice"`) // with cache_write, which does not begin at 0
		compare.Equal(t, "series, and rows of zeros.table", series-1, len(zeros))
		compare.Equal(t, "counters without a series", strings.Count(page, " counter\n#"), 0)
	})
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
