package server

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/tasks"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

const within = 25 * time.Second

func late(o *Options) { o.Detach.DetachAfter = within }

// lateClient is late for the client of the tests alone.
func lateClient(o *Options) {
	o.Needs = func(client string) (n Needs) {
		if client == "x" {
			n.DetachAfter = within
		}
		return n
	}
}

// ask calls answer, and returns the result with the JSON object of its text.
func (p *peer) ask(query string) (result, object gjson.Result) {
	p.Helper()
	result = p.request("tools/call", withTasks, answerCall(query))
	return result, gjson.Parse(result.Get("content.0.text").Str)
}

// await calls answer_result.
func (p *peer) await(id string) (result, object gjson.Result) {
	p.Helper()
	params := `"name":"answer_result","arguments":{"id":"` + id + `"}`
	result = p.request("tools/call", withTasks, params)
	return result, gjson.Parse(result.Get("content.0.text").Str)
}

// A call without a result in time returns an id, and answer_result waits as long for what the call
// would have returned. Each working result has another id, all of them stay, and the call is
// observed once.
func TestLate(t *testing.T) {
	for _, tt := range []struct {
		name, query, want string
		late              func(*Options)
	}{
		{"an answer", "why", `\"answer\":\"why\"`, late},
		{"an error", "fail late", `"isError":true`, late},
		{"for this client", "why", `\"answer\":\"why\"`, lateClient},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inSession(t, func(p *peer) {
				p.initialize()
				began := time.Now()
				r, working := p.ask(tt.query)
				id := working.Get("id").Str
				p.want(working, `{"status":"working","id":"`+id+`","message":"The answer is not`)
				if d := time.Since(began); d != within || r.Get("isError").Exists() {
					p.Errorf("%s after %v, want no error after %v", r, d, within)
				}
				if len(id) < 22 || len(id) > 64 {
					p.Errorf("id %q, want 22 to 64 characters", id)
				}

				_, second := p.await(id)
				p.want(second, `"status":"working","id":"`+id+`.2"`)
				over, _ := p.await(id + ".2")
				compare.Equal(p, "duration", time.Since(began), time.Minute)
				p.want(over, tt.want)
				for _, id := range []string{id, id + ".2", id + ".7"} {
					again, _ := p.await(id)
					compare.Equal(p, id, again.Raw, over.Raw)
				}

				compare.Equal(p, "calls observed", len(*p.calls), 1)
				time.Sleep(limit + time.Hour)
				p.wantUnknown(id)
			}, tt.late)
		})
	}
}

// wantUnknown wants that answer_result refuses an id.
func (p *peer) wantUnknown(id string) {
	p.Helper()
	r, _ := p.await(id)
	p.want(r, `"isError":true`,
		`"answer_result: invalid arguments: the id is not known, or has expired"`)
}

// A result in time is that of a plain call. The client that takes tasks gets one for
// answer_detailed, whose id is also one for answer_result.
func TestInTime(t *testing.T) {
	inSession(t, func(p *peer) {
		r, _ := p.ask("brief")
		p.want(r, `\"answer\":\"brief\"`)
		id := p.start("why")
		_, working := p.await(id)
		p.want(working, `"status":"working","id":"`+id+`.2"`)

		empty, _ := p.await("")
		p.want(empty, `"isError":true`,
			`"answer_result: invalid arguments: id is required, as a string: that of the last result"`)

		for _, id := range []string{"x", id + ".1", id + ".02", id + ".-2", id + ".x",
			id + ".2.2", id + ".1000001"} {
			p.wantUnknown(id)
		}
	}, late)
}

// The time limit counts from the start of the call, also if nothing asks for its result.
func TestLateTimeout(t *testing.T) {
	inSession(t, func(p *peer) {
		_, working := p.ask("why")
		time.Sleep(time.Hour)
		r, _ := p.await(working.Get("id").Str)
		p.want(r, `"isError":true`, "answer failed: timed out after 40 s")
		compare.Equal(p, "duration", (*p.calls)[0].Duration, 40*time.Second)
	}, late, func(o *Options) { o.Settings.Timeout = 40 * time.Second })
}

// Over HTTP only what the API runs is late, and the slot of the call is free at its end. A call
// that waits for it ends in time.
func TestLateOverHTTP(t *testing.T) {
	a := &api{tool: "answer"}
	onePlace := func(o *Options) {
		o.People.Bounds.MaxCalls = 1
		o.Settings.StructuredContent = true
	}
	inSession(t, func(p *peer) {
		began := time.Now()
		r, _ := p.ask("foreground")
		p.want(r, `\"answer\":\"`)
		compare.Equal(p, "duration", time.Since(began), time.Minute)

		began = time.Now()
		_, working := p.ask("why")
		id := working.Get("id").Str
		if len(id) > 160 {
			p.Errorf("id %q, want at most 160 characters", id)
		}
		p.wantWaiting(detailedCall("brief"), 0)
		compare.Equal(p, "a result after", time.Since(began).Round(time.Second), 2*within)
		plain, _ := p.ask("brief")
		p.want(plain, `\"answer\":\"brief\"`)
		compare.Equal(p, "end of another call", time.Since(began).Round(time.Second), time.Minute+time.Second)
	}, a.overHTTP, late, onePlace)
}

// Over HTTP the session of a late answer, or of a task, is one request. It goes on when that ends,
// with the bytes of its question, but not if its client has cancelled the call before it got the
// id.
func TestLateCancelled(t *testing.T) {
	for _, polled := range []bool{false, true} {
		for want, cause := range map[string]error{OutcomeOK: nil, OutcomeCancelled: call.ErrCancelled} {
			t.Run(fmt.Sprintf("polled %v, %s", polled, want), func(t *testing.T) {
				a := &api{tool: "answer"}
				inSession(t, func(p *peer) {
					if polled {
						a.tool = detailed
						p.start("why")
					} else {
						_, working := p.ask("why")
						p.want(working, `"status":"working"`)
					}
					compare.Equal(p, "at once", time.Since(a.created) < time.Second, polled)

					p.end(cause)
					synctest.Wait()
					takeAll := func() error { return p.server.options.People.TakeBytes("", 64<<20) }
					compare.Equal(p, "all bytes are free", takeAll() == nil, cause != nil)
					if cause == nil {
						time.Sleep(time.Minute)
						synctest.Wait()
						compare.Equal(p, "error for all bytes at the end", takeAll(), nil)
					}
					compare.Equal(p, "calls that ended", len(*p.calls), 1)
					compare.Equal(p, "outcome", (*p.calls)[0].Outcome, want)
				}, a.overHTTP, late)
			})
		}
	}
}

// wantWaiting wants that a call ends because it waits for others, and that it is no failure.
func (p *peer) wantWaiting(params string, ahead int) {
	p.Helper()
	observed := len(*p.calls)
	r := p.request("tools/call", withTasks, params)
	object := gjson.Parse(r.Get("content.0.text").Str)
	p.want(object, fmt.Sprintf(`{"status":"waiting","ahead":%d,"message":"The question was not`, ahead))
	compare.Equal(p, "structured", r.Get("structuredContent").Raw, object.Raw)
	compare.Equal(p, "an error", r.Get("isError").Exists(), false)

	ended := (*p.calls)[observed]
	compare.Equal(p, "outcome", ended.Outcome, "waiting")
	compare.Equal(p, "error", ended.Err, nil)
}

// Over HTTP a call that waits for the rate limit ends in time, also one that would be a task, and
// takes nothing of the quota. Each result has other words.
func TestLateWaits(t *testing.T) {
	settings := func(o *Options) {
		o.Settings.StructuredContent = true
		o.Budget = callsPerHour(1)
	}
	inSession(t, func(p *peer) {
		began := time.Now()
		p.wantWaiting(detailedCall("queued"), 3)
		compare.Equal(p, "a result after", time.Since(began), within)
		p.wantWaiting(answerCall("queued"), 3)

		r, first := p.ask("queued")
		p.want(first, `"status":"waiting"`)
		_, second := p.ask("queued")
		compare.Equal(p, "the same result", first.Raw == second.Raw, false)
		p.want(p.request("tools/list", withTasks, `"x":1`), `"ahead":{"type":"integer"}`)
		p.want(r, `"resultType":"complete"`)
	}, (&api{}).overHTTP, late, settings)
}

// Where the process keeps calls, one that waits for a slot or for the rate limit gets its id in
// time, and goes on.
func TestLateWaitsHere(t *testing.T) {
	a := &api{}
	settings := func(o *Options) {
		o.Ask = a.ask
		o.People.Bounds.MaxCalls = 1
	}
	inSession(t, func(p *peer) {
		began := time.Now()
		_, limited := p.ask("queued")
		_, waits := p.ask("brief")
		compare.Equal(p, "two ids after", time.Since(began), 2*within)

		for _, working := range []gjson.Result{limited, waits} {
			p.want(working, `"status":"working"`)
			over, _ := p.await(working.Get("id").Str)
			p.want(over, `\"answer\":\"brief\"`)
		}
		compare.Equal(p, "both answers after", time.Since(began), time.Minute+2*time.Second)
	}, late, settings)
}

// Over HTTP the id is there in time, unless the API says that it does not have the response, or
// what the question excludes does not fit. The API is asked about calls that take half of that
// time.
func TestLateInTime(t *testing.T) {
	const short = 10 * time.Second // which a GET may take
	inTime := func(o *Options) { o.Detach.DetachAfter = short }
	for _, tt := range compare.Rows[struct {
		Name, Arguments string
		Want            time.Duration
		Fetches         int
	}](t, "in-time") {
		t.Run(tt.Name, func(t *testing.T) {
			a := &api{tool: "answer"}
			inSession(t, func(p *peer) {
				began := time.Now()
				r := p.request("tools/call", withTasks,
					`"name":"answer","arguments":{"query":`+tt.Arguments+`}`)
				id := gjson.Get(r.Get("content.0.text").Str, "id")
				compare.Equal(p, "a result after", time.Since(began), tt.Want)
				compare.Equal(p, "it is an id", id.Exists(), short <= tt.Want && tt.Want < time.Minute)
				compare.Equal(p, "requests", a.fetches, tt.Fetches)
			}, a.overHTTP, inTime)
		})
	}
}

// elsewhere returns a server whose calls are not late. It has waited for the late answer to a query
// in vain, for answerResultTimeout, and answers with the id that is returned.
func (p *peer) elsewhere(a *api, query string) (other *peer, next string) {
	p.Helper()
	_, working := p.ask(query)
	id := working.Get("id").Str

	other = newPeer(p.T, a.overHTTP)
	began := time.Now()
	_, second := other.await(id)
	next = id + ".2"
	other.want(second, `"status":"working","id":"`+next+`"`)
	compare.Equal(p, "wait", time.Since(began), answerResultTimeout)
	return other, next
}

// A server whose calls are not late answers for the ids of others, and does not list the tool. The
// id is that of the last retry.
func TestLateElsewhere(t *testing.T) {
	a := &api{tool: "answer"}
	inSession(t, func(p *peer) {
		other, next := p.elsewhere(a, "retried")
		over, _ := other.await(next)
		other.want(over, `\"answer\":\"`)

		list := other.request("tools/list", withTasks, `"x":1`)
		compare.Equal(p, "tools", int(list.Get("tools.#").Int()), len(call.Tools))
	}, a.overHTTP, late)
}

// In another process answer_result ends in time, also while the API is asked and does not answer.
func TestLateSilent(t *testing.T) {
	a := &api{tool: "answer"}
	inSession(t, func(p *peer) {
		p.elsewhere(a, "silent")
		time.Sleep(10 * time.Second) // until the request to the API has ended, too
	}, a.overHTTP, late)
}

// The call and answer_result get the progress of the call, each until its result.
func TestLateProgress(t *testing.T) {
	inSession(t, func(p *peer) {
		params := answerCall("named")
		for _, want := range []string{
			"thinking\nsearching: a\n",     // of the call
			"searching: a\nsearching: a\n", // of answer_result
		} {
			p.send("tools/call", withProgress(withTasks), params)
			messages, r := p.messages()
			if got := strings.Join(messages, "\n"); !strings.HasPrefix(got, want) {
				p.Errorf("messages %q, want %q", got, want)
			}
			id := gjson.Get(r.Get("content.0.text").Str, "id").Str
			params = `"name":"answer_result","arguments":{"id":"` + id + `"}`
		}
		p.want(p.request("nope", withTasks, `"x":1`), `"id":3`) // no message came after a result
	}, late)
}

// A polled call cannot be a task if the API answers it at once, or is not known to have its
// response. It stays with its request, which gets its progress, and has a plain result.
func TestPolledProgress(t *testing.T) {
	for query, least := range map[string]int{ // messages: one in 5 s at least
		"brief":      0,
		"echo":       10,
		"nameless":   10,
		"foreground": 10,
	} {
		t.Run(query, func(t *testing.T) {
			inSession(t, func(p *peer) {
				p.send("tools/call", withProgress(withTasks), detailedCall(query))
				messages, r := p.messages()
				p.want(r, `\"answer\":\"`, `"resultType":"complete"`)
				if len(messages) < least {
					p.Errorf("messages %q, want %d", messages, least)
				}
			}, (&api{}).overHTTP)
		})
	}
}

// A call that waits for a slot says how many calls came before it and still wait. A person who asks
// again within a minute is as early as before, and a newcomer is last.
func TestLateOrder(t *testing.T) {
	for pause, want := range map[time.Duration]string{ // until bob asks again
		0:           "alice, alice, bob, alice, carol",
		time.Minute: "alice, alice, alice, carol, bob",
	} {
		t.Run(pause.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				var order []string
				s, _ := newServer(func(o *Options) {
					o.Settings.Timeout = time.Hour
					o.Ask = func(
						_ context.Context, c *call.Call, _ answer.Question,
					) (*answer.Answer, error) {
						order = append(order, c.Person.ID)
						time.Sleep(2 * time.Minute)
						return &answer.Answer{}, nil
					}
				})

				var calls sync.WaitGroup
				ask := func(person string, within time.Duration) *call.Call {
					c := &call.Call{Person: call.Person{ID: person}}
					c.WaitDeadline = time.Now().Add(within)
					taken, _ := s.options.Budget.Take(c)
					task := s.tasks.Prepare(c, tasks.CallOptions{})
					calls.Go(func() { _, _ = s.runInSlot(t.Context(), c, answer.Question{}, taken, task) })
					synctest.Wait()
					return c
				}

				ask("alice", time.Hour) // runs
				waiting := []*call.Call{
					ask("alice", time.Hour),
					ask("bob", within),
					ask("alice", within+time.Second),
				}
				time.Sleep(within + time.Second)
				synctest.Wait()
				compare.Equal(t, "calls before that of bob", waiting[1].Ahead, 1)
				compare.Equal(t, "calls before that of alice, without bob's", waiting[2].Ahead, 1)

				ask("alice", time.Hour)
				ask("carol", time.Hour)
				time.Sleep(pause)
				ask("bob", time.Hour)
				calls.Wait()
				compare.Equal(t, "order", strings.Join(order, ", "), want)
			})
		})
	}
}

// A result that its client does not get, because it has cancelled the request, ends the call whose
// id is in it, unless the client has the id from an earlier result.
func TestUndelivered(t *testing.T) {
	for name, want := range map[string]string{
		"late answer":   OutcomeCancelled,
		"task":          OutcomeCancelled,
		"answer_result": OutcomeOK,
		"tasks/get":     OutcomeOK,
	} {
		t.Run(name, func(t *testing.T) {
			inSession(t, func(p *peer) {
				var r gjson.Result
				switch name {
				case "late answer":
					r, _ = p.ask("why")
				case "task":
					r = p.call(withTasks, "why")
				case "answer_result":
					r, _ = p.await(p.start("why"))
				case "tasks/get":
					r = p.task("get", p.start("why"))
				}

				p.server.CancelUndelivered([]byte(r.Raw))
				time.Sleep(time.Minute)
				synctest.Wait()
				compare.Equal(p, "outcome", (*p.calls)[0].Outcome, want)
			}, late)
		})
	}
}
