package server

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/seal"
)

const keepTime = 8 * time.Minute

// api is an API that runs each question in the background for a minute, unless the question says
// something else.
type api struct {
	questions []string // by response: "0", "1", ...
	created   []time.Time
	cancelled []string
	fetches   int
}

func (a *api) start(
	ctx context.Context, _ string, q answer.Question,
) (string, *answer.Answer, error) {
	switch q.Query {
	case "brief":
		ans, err := research(ctx, "", q, nil)
		return "", ans, err
	case "foreground":
		return "", nil, llm.ErrNoBackground
	}
	a.questions = append(a.questions, q.Query)
	a.created = append(a.created, time.Now())
	return string(rune('0' + len(a.questions) - 1)), nil, nil
}

func (a *api) fetch(
	ctx context.Context, tool, response string, created time.Time,
) (*answer.Answer, error) {
	a.fetches++
	time.Sleep(10 * time.Millisecond)
	i := response[0] - '0'
	query := a.questions[i]
	running := time.Since(a.created[i]) < time.Minute || query == "endless"
	switch {
	case tool != detailed, !created.Equal(a.created[i]):
		return nil, errors.New("not the task that was started")
	case len(a.cancelled) > 0:
		return nil, answer.ErrCancelled
	case running:
		return nil, answer.ErrRunning
	case query == "busy":
		return nil, answer.ErrUnknown
	case query == "gone":
		return nil, answer.ErrGone
	case query == "panic":
		panic("bug")
	}
	return research(ctx, "", answer.Question{Query: "brief"}, nil)
}

func (a *api) cancel(_ context.Context, response string) error {
	a.cancelled = append(a.cancelled, response)
	return nil
}

// overHTTP makes a server of inSession one over HTTP, with tasks that the API runs.
func (a *api) overHTTP(o *Options) {
	o.Tasks = false
	o.Background = a.background()
}

func (a *api) background() *Background {
	return &Background{
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
	var calls []Call
	set := func(o *Options) {
		a.overHTTP(o)
		o.Observe = func(c Call) { calls = append(calls, c) }
	}
	inSession(t, set, func(t *testing.T, p *peer) {
		p.want(p.request("server/discover", withTasks, `"x":1`),
			`"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}`)

		const created = `"createdAt":"2000-01-01T00:00:00Z","lastUpdatedAt":"2000-01-01T00:00:0`
		const times = `Z","ttlMs":780000,"pollIntervalMs":5000}`
		task := p.call(withTasks, detailed, "why")
		id := task.Get("taskId").Str
		p.want(task, `"resultType":"task"`, `","status":"working",`+created+"0"+times)

		time.Sleep(time.Second)
		p.want(p.task("update", id), `"resultType":"complete"`)
		p.want(p.task("get", id), `"resultType":"complete","taskId":"`+id+`","status":"working",`+
			created+"1.01"+times)

		time.Sleep(time.Minute)
		over := p.task("get", id)
		p.want(over, `"status":"completed"`)
		plain := p.call(withoutTasks, detailed, "brief")
		got := over.Get("result.content").Raw
		if want := plain.Get("content").Raw; got != want {
			t.Errorf("result = %s, want that of a plain call: %s", got, want)
		}

		time.Sleep(2 * time.Second)
		p.task("get", id)
		if len(calls) != 2 { // and the plain one
			t.Errorf("%d calls observed, want the task once: %v", len(calls), calls)
		}
		if got := calls[0]; got.Tool != detailed || got.Outcome != "ok" || got.Meta != usage {
			t.Errorf("observed %+v", got)
		}

		time.Sleep(keepTime + 5*time.Minute)
		p.want(p.task("get", id), `"code":-32602`)
	})
}

// How a task ends, and what is observed.
func TestBackgroundEnds(t *testing.T) {
	const limit = 5 * time.Minute
	const failed = `"text":"answer failed: `
	for _, tt := range []struct {
		query   string
		mode    string
		wait    time.Duration
		want    string
		outcome string
		kind    string
	}{
		{"endless", "", limit - 2*time.Second, `"status":"working"`, "", ""},
		{"endless", "", limit, failed + `timed out after 300 s"`, "error", "timeout"},
		{"endless", "protocol", limit, `"status":"failed"`, "error", "timeout"},
		{"busy", "", limit, `"status":"working"`, "", ""},
		{"gone", "", time.Minute, failed + `the API does not have`, "error", "not_found"},
		{"gone", "protocol", time.Minute, `"error":{"code":-32001,"message":"`, "error", "not_found"},
		{"panic", "", time.Minute, failed + `internal error"`, "error", "internal"},
	} {
		t.Run(tt.query+" "+tt.mode, func(t *testing.T) {
			a := &api{}
			var calls []Call
			set := func(o *Options) {
				a.overHTTP(o)
				o.ToolErrors = tt.mode
				o.Observe = func(c Call) { calls = append(calls, c) }
			}
			inSession(t, set, func(t *testing.T, p *peer) {
				id := p.call(withTasks, detailed, tt.query).Get("taskId").Str
				time.Sleep(tt.wait)
				p.want(p.task("get", id), tt.want)
				if tt.outcome != "" { // it does not change any more
					time.Sleep(10 * time.Second)
					p.want(p.task("get", id), tt.want)
				}
				if timedOut := tt.kind == "timeout"; timedOut != (len(a.cancelled) == 1) {
					t.Errorf("cancelled: %v", a.cancelled)
				}
				if tt.outcome == "" {
					return
				}
				if calls[0].Outcome != tt.outcome {
					t.Errorf("outcome %q, want %q", calls[0].Outcome, tt.outcome)
				}
				if got := calls[0].Kind(); tt.kind != "" && got != tt.kind {
					t.Errorf("kind %q, want %q", got, tt.kind)
				}
			})
		})
	}
}

// tasks/cancel cancels at the API.
func TestCancelBackground(t *testing.T) {
	a := &api{}
	inSession(t, a.overHTTP, func(t *testing.T, p *peer) {
		id := p.call(withTasks, detailed, "why").Get("taskId").Str
		p.want(p.task("get", id), `"status":"working"`)
		p.want(p.task("cancel", id), `"resultType":"complete"`)
		p.want(p.task("get", id), `"status":"cancelled"`)
		if len(a.cancelled) != 1 {
			t.Errorf("cancelled: %v, want one", a.cancelled)
		}
	})
}

// Calls that the API answers at once, or does not run in the background, are plain ones.
func TestBackgroundPlain(t *testing.T) {
	for _, query := range []string{"brief", "foreground"} {
		t.Run(query, func(t *testing.T) {
			a := &api{}
			inSession(t, a.overHTTP, func(t *testing.T, p *peer) {
				r := p.call(withTasks, detailed, query)
				p.want(r, `\"answer\":\"`+query, `"resultType":"complete"`)
			})
		})
	}
}

// All requests about a task in a second share one to the API, also those at the same time.
func TestShareFetch(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := &api{}
		s, _ := newServer(a.overHTTP)
		j := s.job(seal.Task{Created: now(), Tool: detailed, Response: "0"})
		a.questions = []string{"why"}
		a.created = []time.Time{j.Created}

		for range 10 {
			go s.state(t.Context(), j, &TaskParams{}, Call{})
		}
		time.Sleep(time.Second)
		s.state(t.Context(), j, &TaskParams{}, Call{})
		if a.fetches != 1 {
			t.Errorf("%d requests in a second, want 1", a.fetches)
		}

		time.Sleep(20 * time.Millisecond)
		s.state(t.Context(), j, &TaskParams{}, Call{})
		if a.fetches != 2 {
			t.Errorf("%d requests in two seconds, want 2", a.fetches)
		}
	})
}

// A task keeps its place until its end is seen, or its time limit passes.
func TestBackgroundPlace(t *testing.T) {
	for _, tt := range []struct {
		name string
		poll bool
		want time.Duration
	}{
		{"end seen", true, time.Minute},
		{"time limit", false, 5 * time.Minute},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				a := &api{}
				s, _ := newServer(func(o *Options) {
					a.overHTTP(o)
					o.Timeout = 5 * time.Minute
				})
				begun := &task{}
				ctx := context.WithValue(t.Context(), beginKey{}, begun)
				_, err := s.handle(t.Context(), detailed)(ctx, request("why"))
				if err != nil {
					t.Fatal(err)
				}

				began := time.Now()
				if tt.poll {
					j := s.open(begun.ID, "token:alice")
					time.AfterFunc(time.Minute, func() { s.state(ctx, j, &TaskParams{}, Call{}) })
				}
				release, err := s.places.acquire(t.Context(), "")
				if err != nil {
					t.Fatal(err)
				}
				release()
				if got := time.Since(began).Truncate(time.Second * 5); got != tt.want {
					t.Errorf("there is a place after %v, want %v", got, tt.want)
				}
			})
		})
	}
}

// Over stdio a task is returned when the API has named its response, or after two seconds. Then its
// id is that of the process.
func TestBackgroundStdio(t *testing.T) {
	for _, tt := range []struct {
		name   string
		after  time.Duration // when the API names the response
		want   time.Duration
		sealed bool
	}{
		{"named", time.Second, time.Second, true},
		{"late", 3 * time.Second, 2 * time.Second, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &api{}
			set := func(o *Options) {
				a.overHTTP(o)
				o.Tasks = true
				o.Ask = func(
					ctx context.Context, _ string, q answer.Question, watch func(llm.Event),
				) (*answer.Answer, error) {
					time.Sleep(tt.after)
					watch(llm.Created{ID: "0"})
					return research(ctx, "", q, watch)
				}
			}
			inSession(t, set, func(t *testing.T, p *peer) {
				began := time.Now()
				id := p.call(withTasks, detailed, "why").Get("taskId").Str
				if got := time.Since(began); got != tt.want {
					t.Errorf("a task after %v, want %v", got, tt.want)
				}
				b := a.background()
				_, sealed := seal.Open(id, b.Secrets(), seal.Owner{BaseURL: b.BaseURL})
				if sealed != tt.sealed {
					t.Errorf("the id is sealed: %t, want %t", sealed, tt.sealed)
				}

				// This process knows the progress, and asks the API nothing.
				time.Sleep(2 * time.Second)
				p.want(p.task("get", id), `"status":"working","statusMessage":"searching: a"`)
				time.Sleep(time.Minute)
				r := p.task("get", id)
				got := r.Get("result.content.0.text").Str
				if gjson.Get(got, "answer").Str != "why" {
					t.Errorf("the task is %s, want its answer", r)
				}
				if a.fetches > 0 || strings.Contains(r.Raw, `"isError"`) {
					t.Errorf("%d requests to the API about %s", a.fetches, r)
				}
			})
		})
	}
}
