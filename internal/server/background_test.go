package server

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/seal"
)

const keepTime = 8 * time.Minute

// api is an API that runs one question in the background for a minute, unless the question says
// something else.
type api struct {
	question  string
	created   time.Time
	cancelled int
	fetches   int
}

func (a *api) start(
	ctx context.Context, call *llm.Call, q answer.Question,
) (string, *answer.Answer, error) {
	switch q.Query {
	case "brief":
		ans, err := research(ctx, call, q)
		return "", ans, err
	case "foreground":
		return "", nil, llm.ErrNoBackground
	}
	a.question = q.Query
	a.created = time.Now()
	return "resp_1", nil, nil
}

// fetchErrors are what the API says about questions after a minute.
var fetchErrors = map[string]error{
	"endless": answer.ErrRunning,
	"busy":    answer.ErrUnknown,
	"gone":    answer.ErrGone,
}

func (a *api) fetch(
	ctx context.Context, call *llm.Call, response string, created time.Time,
) (*answer.Answer, error) {
	a.fetches++
	time.Sleep(10 * time.Millisecond)
	isSame := call.Tool == detailed && response == "resp_1" && created.Equal(a.created)
	switch {
	case !isSame:
		return nil, errors.New("not the task that was started")
	case a.cancelled > 0:
		return nil, context.Canceled
	case time.Since(a.created) < time.Minute:
		return nil, answer.ErrRunning
	case a.question == "panic":
		panic("bug")
	}

	if err := fetchErrors[a.question]; err != nil {
		return nil, err
	}
	return research(ctx, call, answer.Question{Query: "brief"})
}

func (a *api) cancel(context.Context, *llm.Call, string) error {
	a.cancelled++
	return nil
}

// overHTTP makes a server of inSession one over HTTP, with tasks that the API runs.
func (a *api) overHTTP(o *Options) {
	a.overStdio(o)
	o.Tasks = false
}

func (a *api) overStdio(o *Options) {
	o.Background = &Background{
		Start:   a.start,
		Fetch:   a.fetch,
		Cancel:  a.cancel,
		Secrets: func() []string { return []string{"a secret"} },
		BaseURL: "https://api.example/v1",
		Keep:    keepTime,
	}
}

// A task that the API runs has the result of a plain call. Its end is observed once.
func TestBackgroundTask(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		p.want(p.request("server/discover", withTasks, `"x":1`),
			`"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}`)

		const times = `"createdAt":"2000-01-01T00:00:00Z","ttlMs":780000,"pollIntervalMs":5000`
		task := p.call(withTasks, "why")
		id := task.Get("taskId").Str
		p.want(task, `"resultType":"task"`, `"status":"working"`, times)

		time.Sleep(time.Second)
		p.want(p.task("update", id), `"resultType":"complete"`)
		p.wantTask(id, `"resultType":"complete","taskId":"`+id+`"`, times,
			`"status":"working","lastUpdatedAt":"2000-01-01T00:00:01.01Z"`)

		time.Sleep(time.Minute)
		over := p.wantTask(id, `"status":"completed"`)
		plain := p.call(withoutTasks, "brief")
		got := over.Get("result.content").Raw

		if want := plain.Get("content").Raw; got != want {
			p.Errorf("result = %s, want that of a plain call: %s", got, want)
		}

		time.Sleep(2 * time.Second)
		p.wantTask(id, `"result":{`)
		calls := *p.calls
		if len(calls) != 2 { // and the plain one
			p.Errorf("%d calls observed, want the task once: %v", len(calls), calls)
		}
		if got := calls[0]; got.Tool != detailed || got.Outcome != "ok" || got.Meta != figures {
			p.Errorf("observed %+v", got)
		}

		time.Sleep(keepTime + limit)
		p.wantTask(id, `"code":-32602`)
	}, a.overHTTP)
}

// How a task ends, and what is observed.
func TestBackgroundEnds(t *testing.T) {
	const failed = `"text":"answer failed: `
	for _, tt := range []struct {
		query, mode string
		wait        time.Duration
		want        string
		kind        string // "": nothing is observed
	}{
		{"endless", "", limit - 2*time.Second, `"status":"working"`, ""},
		{"endless", "", limit, failed + `timed out after 300 s"`, "timeout"},
		{"endless", "protocol", limit, `"status":"failed"`, "timeout"},
		{"busy", "", limit, `"status":"working"`, ""},
		{"gone", "", time.Minute, failed + `the API does not have`, "not_found"},
		{"gone", "protocol", time.Minute, `"error":{"code":-32001,"message":"`, "not_found"},
		{"panic", "", time.Minute, failed + `internal error"`, "internal"},
	} {
		t.Run(tt.query+" "+tt.mode+" "+tt.kind, func(t *testing.T) {
			a := &api{}
			mode := func(o *Options) { o.ToolErrors = tt.mode }
			inSession(t, func(p *peer) {
				id := p.start(tt.query)
				time.Sleep(tt.wait)
				p.wantTask(id, tt.want)

				timedOut := tt.kind == "timeout"
				if timedOut != (a.cancelled == 1) {
					p.Errorf("cancelled %d times", a.cancelled)
				}
				if tt.kind == "" {
					return
				}

				time.Sleep(10 * time.Second) // it does not change any more
				p.wantTask(id, tt.want)
				call := (*p.calls)[0]

				kind := llm.KindOf(call.Err).Label()
				if call.Outcome != "error" || kind != tt.kind {
					p.Errorf("observed %+v, want an error of kind %s", call, tt.kind)
				}
			}, a.overHTTP, mode)
		})
	}
}

// tasks/cancel cancels at the API once, which is observed.
func TestCancelBackground(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		id := p.start("why")
		p.wantTask(id, `"status":"working"`)
		for range 2 {
			p.want(p.task("cancel", id), `"resultType":"complete"`)
		}

		p.wantTask(id, `"status":"cancelled"`)
		if a.cancelled != 1 {
			p.Errorf("cancelled %d times, want once", a.cancelled)
		}
		if got := (*p.calls)[0].Outcome; got != "cancelled" {
			p.Errorf("outcome %q, want cancelled", got)
		}
	}, a.overHTTP)
}

// Calls that the API answers at once, or does not run in the background, are plain ones.
func TestBackgroundPlain(t *testing.T) {
	for _, query := range []string{"brief", "foreground"} {
		t.Run(query, func(t *testing.T) {
			inSession(t, func(p *peer) {
				r := p.call(withTasks, query)
				p.want(r, `\"answer\":\"`+query, `"resultType":"complete"`)
			}, (&api{}).overHTTP)
		})
	}
}

// All requests about a task in a second share one to the API, also those at the same time.
func TestShareFetch(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		id := p.start("why")
		for range 10 {
			p.send("tasks/get", withTasks, byID(id))
		}

		for range 10 {
			p.want(p.receive(), `"status":"working"`)
		}

		for i := range 2 {
			time.Sleep(980 * time.Millisecond)
			p.wantTask(id, `"status":"working"`)

			if want := i + 1; a.fetches != want {
				p.Errorf("%d requests in %d seconds", a.fetches, want)
			}
		}
	}, a.overHTTP)
}

// A task keeps its place until its end is seen, or its time limit passes.
func TestBackgroundPlace(t *testing.T) {
	for _, tt := range []struct {
		name string
		poll bool
		want time.Duration
	}{
		{"end seen", true, time.Minute},
		{"time limit", false, limit},
	} {
		t.Run(tt.name, func(t *testing.T) {
			onePlace := func(o *Options) { o.MaxCalls = 1 }
			inSession(t, func(p *peer) {
				began := time.Now()
				id := p.start("why")
				time.Sleep(2 * time.Second) // its time limit is later
				p.send("tools/call", withoutTasks, detailedCall("brief"))

				if tt.poll {
					time.Sleep(time.Minute)
					p.wantTask(id, `"status":"completed"`)
				}

				p.want(p.receive(), `\"answer\":\"brief\"`)
				got := time.Since(began).Truncate(5 * time.Second)

				if got != tt.want {
					p.Errorf("there is a place after %v, want %v", got, tt.want)
				}
			}, (&api{}).overHTTP, onePlace)
		})
	}
}

// Over stdio a task is returned when the API has named its response, or after two seconds. Then its
// id is that of the process.
func TestBackgroundStdio(t *testing.T) {
	for _, tt := range []struct {
		query  string
		want   time.Duration
		sealed bool
	}{
		{"named", time.Second, true},
		{"late", 2 * time.Second, false},
	} {
		t.Run(tt.query, func(t *testing.T) {
			a := &api{}
			inSession(t, func(p *peer) {
				began := time.Now()
				id := p.start(tt.query)

				if got := time.Since(began); got != tt.want {
					p.Errorf("a task after %v, want %v", got, tt.want)
				}

				owner := seal.Owner{BaseURL: "https://api.example/v1"}
				_, sealed := seal.Open(id, []string{"a secret"}, owner)

				if sealed != tt.sealed {
					p.Errorf("the id is sealed: %t, want %t", sealed, tt.sealed)
				}

				// This process knows the progress, and asks the API nothing.
				time.Sleep(2 * time.Second)
				p.wantTask(id, `"status":"working","statusMessage":"searching: a"`)
				time.Sleep(time.Minute)
				p.wantTask(id, `\"answer\":\"`+tt.query)

				if a.fetches > 0 {
					p.Errorf("%d requests to the API", a.fetches)
				}
			}, a.overStdio)
		})
	}
}
