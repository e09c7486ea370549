package server

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

const (
	detailed = "answer_detailed" // which can be a task
	keepTime = 8 * time.Minute
)

// api is an API that runs one question in the background for a minute, unless the question says
// something else. Any server can ask it.
type api struct {
	tool      string // that is called; "": detailed
	question  string
	created   time.Time
	cancelled int
	fetches   int
}

// ask begins an answer in the background, unless the question is brief.
func (a *api) ask(
	ctx context.Context, c *call.Call, q answer.Question,
) (*answer.Answer, error) {
	if q.Query == "brief" || q.Query == "foreground" {
		return research(ctx, c, q)
	}
	if q.Query == "queued" {
		return queued(ctx, c)
	}
	a.question = q.Query
	a.created = time.Now()
	switch q.Query {
	case "named at 6 s":
		time.Sleep(6 * time.Second)
		c.Emit(call.ResponseNamed{ID: "resp_1"})
	case "nameless":
		c.Emit(call.Retrying{Err: &call.APIError{}})
	case "fails", "has no text", "goes on in the foreground", "lost", "lost, and asked again": // at 7 s
		c.Emit(call.ResponseNamed{ID: "resp_0"})
		time.Sleep(7 * time.Second)
		lost := strings.HasPrefix(q.Query, "lost")
		if q.Query == "has no text" {
			c.Emit(call.Requesting{})
		} else {
			c.Emit(call.Retrying{Err: &call.APIError{ResponseLost: lost}})
		}
		switch q.Query {
		case "fails", "has no text":
			time.Sleep(4 * time.Second)
			c.Emit(call.ResponseNamed{ID: "resp_1"})
		case "lost, and asked again": // in a requery
			time.Sleep(8 * time.Second)
			c.Emit(call.Requesting{})
			c.Emit(call.ResponseNamed{ID: "resp_1"})
		}
	case "retried late":
		c.Emit(call.ResponseNamed{ID: "resp_1"})
		time.Sleep(time.Second / 2)
		c.Emit(call.Retrying{Err: &call.APIError{}})
		c.Emit(call.ResponseNamed{ID: "resp_2"})
	case "failed late": // and is not retried yet
		c.Emit(call.ResponseNamed{ID: "resp_1"})
		c.Usage.Input = 7
	case "retried":
		c.Emit(call.ResponseNamed{ID: "resp_0"})
		fallthrough
	default:
		c.Emit(call.ResponseNamed{ID: "resp_1"})
	}
	if q.Query == "soon" {
		return research(ctx, c, answer.Question{Query: "brief"})
	}
	return research(ctx, c, answer.Question{Query: "why"})
}

// queued is refused by the rate limit, and waits for a minute with three calls ahead.
func queued(ctx context.Context, c *call.Call) (*answer.Answer, error) {
	c.Requests = 1
	c.Ahead = 3
	waits, cancel := c.WaitContext(ctx)
	defer cancel()
	select {
	case <-time.After(time.Minute):
		return research(ctx, c, answer.Question{Query: "brief"})
	case <-waits.Done():
		return nil, &call.APIError{Kind: call.KindTimeout, Err: context.Cause(waits), Attempts: 1}
	}
}

// fetchErrors are what the API says about questions after a minute.
var fetchErrors = map[string]error{
	"endless": answer.ErrRunning,
	"busy":    answer.ErrStateUnknown,
	"gone":    answer.ErrResponseLost,
	"stopped": context.Canceled, // by the process that runs the call
}

func (a *api) fetch(
	ctx context.Context, c *call.Call, from answer.ResponseRef,
) (*answer.Answer, error) {
	a.fetches++
	time.Sleep(10 * time.Millisecond)
	same := from.Tool == cmp.Or(a.tool, detailed) && from.ResponseID == "resp_1" &&
		from.CallBegan.Equal(a.created)
	switch {
	case !same:
		return nil, errors.New("not the task that was started")
	case a.cancelled > 0:
		return nil, context.Canceled
	case a.question == "echo": // the API has no GET
		return nil, answer.ErrResponseLost
	case a.question == "dark": // it fails
		return nil, answer.ErrStateUnknown
	case a.question == "silent":
		<-ctx.Done()
		return nil, answer.ErrStateUnknown
	case time.Since(a.created) < time.Minute:
		return nil, answer.ErrRunning
	case a.question == "panic":
		panic("bug")
	}

	if err := fetchErrors[a.question]; err != nil {
		return nil, err
	}
	return research(ctx, c, answer.Question{Query: "brief"})
}

func (a *api) cancel(context.Context, *call.Call, string) error {
	a.cancelled++
	return nil
}

// overHTTP makes a server of inSession one over HTTP, with tasks that the API runs.
func (a *api) overHTTP(o *Options) {
	a.overStdio(o)
	o.Ask = a.ask
	o.Detach.OverHTTP = true
}

// profiles has answer_detailed, in the background or not.
func profiles(background bool) map[string]answer.Profile {
	return map[string]answer.Profile{detailed: {ModelSettings: call.ModelSettings{Background: background}}}
}

func (a *api) overStdio(o *Options) {
	o.Settings.Profiles = profiles(true)
	o.Detach.BackgroundAPI = &tasks.BackgroundAPI{
		Fetch:    a.fetch,
		Cancel:   a.cancel,
		Secrets:  func() []string { return []string{"a secret"} },
		BaseURL:  "https://api.example/v1",
		KeepTime: keepTime,
	}
}

// A task that the API runs has the result of a plain call in each process. Its end is observed
// once, where it began.
func TestBackgroundTask(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		other := newPeer(p.T, a.overHTTP)
		p.want(p.request("server/discover", withTasks, `"x":1`),
			`"capabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}},"tools":{}}`)

		const times = `"createdAt":"2000-01-01T00:00:00Z","ttlMs":780000,"pollIntervalMs":5000`
		task := p.call(withTasks, "why")
		id := task.Get("taskId").Str
		p.want(task, `"resultType":"task"`, `"status":"working"`, times)

		time.Sleep(time.Second)
		p.want(p.task("update", id), `"resultType":"complete"`)
		p.wantTask(id, times, `"status":"working","statusMessage":"searching: a"`)
		other.wantTask(id, `"resultType":"complete","taskId":"`+id+`"`, times,
			`"status":"working","lastUpdatedAt":"2000-01-01T00:00:01.02Z"`)

		time.Sleep(time.Minute)
		over := other.wantTask(id, `"status":"completed"`)
		plain := p.call(withoutTasks, "brief")
		compare.Equal(p, "result", over.Get("result.content").Raw, plain.Get("content").Raw)

		time.Sleep(2 * time.Second)
		other.wantTask(id, `"result":{`)
		p.wantTask(id, `"result":{`)
		calls := *p.calls
		if len(calls) != 2 || len(*other.calls) > 0 { // and the plain one
			p.Fatalf("%d and %d calls observed, want the task once", len(calls), len(*other.calls))
		}
		if got := calls[0]; got.Tool != detailed || got.Outcome != "ok" {
			p.Errorf("observed %+v", got)
		}

		time.Sleep(keepTime + limit)
		p.wantTask(id, `"code":-32602`)
		other.wantTask(id, `"code":-32602`)
	}, a.overHTTP)
}

// How a task ends, as a process sees it that has not begun it.
func TestBackgroundEnds(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Query, Mode   string
		Unknown, Wait time.Duration
		Want          string
	}](t, "ends") {
		name := fmt.Sprint(tt.Query, " ", tt.Mode, " ", tt.Unknown, " ", tt.Wait)
		t.Run(name, func(t *testing.T) {
			a := &api{}
			mode := func(o *Options) { o.Settings.ToolErrors = tt.Mode }
			inSession(t, func(p *peer) {
				id := newPeer(p.T, a.overHTTP).start(tt.Query)
				time.Sleep(tt.Unknown)
				if tt.Wait > 0 {
					p.wantTask(id, `"status":"working"`)
				}
				time.Sleep(tt.Wait)
				p.wantTask(id, tt.Want)

				timedOut := tt.Query == "endless" && tt.Want != `"status":"working"`
				compare.Equal(p, "cancelled", a.cancelled == 1, timedOut)
				time.Sleep(10 * time.Second) // it does not change any more
				if tt.Want != `"status":"working"` {
					p.wantTask(id, tt.Want)
				}
			}, a.overHTTP, mode)
		})
	}
}

// All requests about a task in a second share one to the API, also those at the same time.
func TestShareFetch(t *testing.T) {
	a := &api{}
	inSession(t, func(p *peer) {
		id := newPeer(p.T, a.overHTTP).start("why")
		a.fetches = 0
		for range 10 {
			p.send("tasks/get", withTasks, byID(id))
		}

		for range 10 {
			p.want(p.receive(), `"status":"working"`)
		}

		for i := range 2 {
			time.Sleep(980 * time.Millisecond)
			p.wantTask(id, `"status":"working"`)

			compare.Equal(p, "requests", a.fetches, i+1)
		}
	}, a.overHTTP)
}

// A task keeps its slot until its end, which need not be asked about.
func TestBackgroundSlot(t *testing.T) {
	oneSlot := func(o *Options) { o.People.Bounds.MaxCalls = 1 }
	inSession(t, func(p *peer) {
		began := time.Now()
		p.start("why")
		p.want(p.call(withoutTasks, "brief"), `\"answer\":\"brief\"`)

		compare.Equal(p, "wait for a slot", time.Since(began).Truncate(5*time.Second), time.Minute)
	}, (&api{}).overHTTP, oneSlot)
}

// A server that ends neither cancels a task of the API nor observes its end. A retry after the
// response in the id ends with the server, which observes it, as it does a response that has
// failed.
func TestClose(t *testing.T) {
	for query, want := range map[string]string{
		"why":          "",
		"retried late": "the server restarts",
		"failed late":  "the response goes on at the API",
	} {
		t.Run(query, func(t *testing.T) {
			a := &api{}
			inSession(t, func(p *peer) {
				p.start(query)
				time.Sleep(time.Second)
				p.server.Close()
				observed := ""
				for _, c := range *p.calls {
					observed += fmt.Sprint(c.Err)
				}
				compare.Equal(p, "observed", observed, want)

				time.Sleep(time.Second)
				compare.Equal(p, "observed calls", len(*p.calls), min(len(want), 1))
				compare.Equal(p, "cancelled", a.cancelled, 0)
				compare.Equal(p, "calls", p.server.running(), 0)
			}, a.overHTTP)
		})
	}
}

// The end of a response whose process has ended is observed once, where it is read first.
func TestRestart(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name, Query string
		After       time.Duration // until its end is read
		Used        int64         // tokens of the response, as the API tells them
		Cancels     bool
		Outcome     string
		Guessed     int64
	}](t, "restart") {
		t.Run(tt.Name, func(t *testing.T) {
			a := &api{}
			fetch := func(
				ctx context.Context, c *call.Call, from answer.ResponseRef,
			) (*answer.Answer, error) {
				answer, err := a.fetch(ctx, c, from)
				if err == nil {
					answer.Meta.Elapsed = 40 * time.Second
				}
				if err == nil || errors.Is(err, context.Canceled) {
					c.Usage.Input = tt.Used
				}
				return answer, err
			}
			var store *budget.Store
			restarted := func(o *Options) {
				o.Detach.BackgroundAPI.Fetch = fetch
				o.Budget = budget.New(budget.Options{
					Limits: budget.Limits{TokensPerDay: 1_000_000},
					Store:  store,
				})
			}
			inSession(t, func(p *peer) {
				store = budget.NewStore(budget.StoreOptions{
					Log:  slog.New(slog.DiscardHandler),
					Dial: redistest.Passing(p.T, 0),
				})
				_, err := store.SetURL("redis://store")
				if err != nil {
					p.Fatal(err)
				}
				id := p.start(tt.Query)
				time.Sleep(time.Second)
				p.server.Close()
				next := newPeer(p.T, a.overHTTP, restarted)
				if tt.After > limit { // since the first request
					next.task("get", id)
				}
				time.Sleep(tt.After)
				if tt.Cancels {
					next.task("get", id) // less than a second before
					next.task("cancel", id)
					next.wantTask(id, `"status":"cancelled"`)
				}
				for range 3 {
					next.task("get", id)
					time.Sleep(2 * time.Second)
				}

				var ends []string
				for _, c := range *next.calls {
					ends = append(ends, c.Outcome)
					compare.Equal(p, "tool", c.Tool, detailed)
					compare.Equal(p, "tokens", c.Usage.Input, tt.Used)
					compare.Equal(p, "a guess", c.GuessedTokens, tt.Guessed)
					took := tt.After
					if c.Err == nil {
						took = 40 * time.Second
					}
					compare.Equal(p, "duration", c.Duration.Truncate(10*time.Second), took)
				}
				compare.Equal(p, "ends", cmp.Or(strings.Join(ends, " "), "nothing"), tt.Outcome)
				compare.Equal(p, "observed where it began", len(*p.calls), 0)
			}, a.overHTTP)
		})
	}
}

// Over stdio a task is returned when the API has named its response, or after two seconds. Then its
// id is that of the process. Without background it is returned at once.
func TestBackgroundStdio(t *testing.T) {
	for _, tt := range []struct {
		name, query string
		background  bool
		want        time.Duration
		sealed      bool
	}{
		{"named", "named", true, time.Second, true},
		{"late", "late", true, 2 * time.Second, false},
		{"in the foreground", "late", false, 0, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := &api{}
			inSession(t, func(p *peer) {
				began := time.Now()
				id := p.start(tt.query)

				compare.Equal(p, "a task after", time.Since(began), tt.want)

				other := newPeer(p.T, a.overStdio).task("update", id)
				compare.Equal(p, "the id is sealed", !other.Get("error").Exists(), tt.sealed)

				// This process knows the progress, and asks the API nothing.
				time.Sleep(2 * time.Second)
				p.wantTask(id, `"status":"working","statusMessage":"searching: a"`)
				time.Sleep(time.Minute)
				p.wantTask(id, `\"answer\":\"`+tt.query)

				compare.Equal(p, "requests", a.fetches, 0)
			}, a.overStdio, func(o *Options) {
				o.Settings.Profiles = profiles(tt.background)
			})
		})
	}
}
