package tasks

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A task is found by its person alone, here and, with a secret for its id, in another process.
func TestOwners(t *testing.T) {
	const alice = "token:alice"
	for name, secrets := range map[string][]string{"here": nil, "at the API": {newSecret}} {
		t.Run(name, func(t *testing.T) {
			o := Options{Timeout: time.Hour, BackgroundAPI: &BackgroundAPI{
				Secrets:  func() []string { return secrets },
				BaseURL:  baseURL,
				KeepTime: time.Hour,
			}}
			first, second := New(o), New(o)
			defer first.Close()
			c := &call.Call{Tool: "answer", Person: call.Person{ID: alice}, Used: call.Used{Reservation: 7}}
			run := func(ctx context.Context) (*answer.Answer, error) {
				c.Sink(call.ResponseNamed{ID: "resp_1"})
				<-ctx.Done()
				return nil, ctx.Err()
			}
			task := first.Prepare(c, CallOptions{Polled: true, ExpectsName: true})
			first.Run(t.Context(), task, run)
			compare.Equal(t, "detached", first.DetachWhenDue(task), true)
			task.Created = task.Created.Add(-3 * time.Hour) // as after a sleep of the machine

			for _, who := range []string{"token:bob", "", alice, "token:bob", ""} {
				found := first.Find(task.ID, who) != nil
				compare.Equal(t, "found by "+who, found, who == alice)
				found = second.Find(task.ID, who) != nil
				compare.Equal(t, "found elsewhere by "+who, found, who == alice && secrets != nil)
				if found {
					ref := second.Find(task.ID, who).remote.ref
					want := *first.currentRef(task.local)
					want.GivenOut = true
					compare.Equal(t, "its ref", ref, want)
					compare.Equal(t, "reservation", ref.Reservation, 7)
				}
			}
		})
	}
}

// A call ends with its request, unless it is detached before. A detached call ends with Tasks.
func TestDetach(t *testing.T) {
	for name, tt := range map[string]struct {
		detach bool
		want   error
	}{
		"with its request": {false, context.Canceled},
		"detached":         {true, call.ErrShutdown},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Timeout: time.Hour})
				request, leave := context.WithCancel(t.Context())
				task := s.Prepare(&call.Call{}, CallOptions{Polled: true})
				s.Run(request, task, func(ctx context.Context) (*answer.Answer, error) {
					<-ctx.Done()
					return nil, context.Cause(ctx)
				})
				if tt.detach {
					compare.Equal(t, "detached", s.DetachWhenDue(task), true)
				}

				leave()
				synctest.Wait()
				compare.Equal(t, "runs", !task.hasEnded(), tt.detach)
				compare.Equal(t, "detached afterwards", s.DetachWhenDue(task), false)
				s.Close()
				err := task.AwaitEnd().Err
				if !errors.Is(err, tt.want) {
					t.Errorf("error %v, want %v", err, tt.want)
				}
			})
		})
	}
}

// Close leaves the response in a sealed id at the API, and any other is cancelled. It waits until
// the calls have settled what they have used, for closeTimeout at most.
func TestClose(t *testing.T) {
	named := func(id string) call.Event { return call.ResponseNamed{ID: id} }
	const short = 300 * time.Millisecond
	for name, tt := range map[string]struct {
		sealed string
		later  []call.Event // than the id
		want   error

		takes, waits time.Duration // to settle it
	}{
		"its response": {"resp_1", nil, call.ErrLeaveAtAPI, short, short},
		"no name":      {"", nil, call.ErrShutdown, short, short},
		"endless":      {"", nil, call.ErrShutdown, time.Minute, closeTimeout},
		"named late":   {"", []call.Event{named("resp_1")}, call.ErrShutdown, short, short},
		"a retry":      {"", []call.Event{call.Retrying{Err: &call.APIError{}}}, call.ErrShutdown, short, short},
		"a requery":    {"resp_1", []call.Event{call.Requesting{}, named("resp_2")}, call.ErrShutdown, short, short},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Timeout: time.Hour, BackgroundAPI: &BackgroundAPI{
					Secrets: func() []string { return []string{newSecret} },
				}})
				c := &call.Call{}
				task := s.Prepare(c, CallOptions{Polled: true, ExpectsName: true})
				s.Run(t.Context(), task, func(ctx context.Context) (*answer.Answer, error) {
					if tt.sealed != "" {
						c.Sink(named(tt.sealed))
					}
					time.Sleep(nameTimeout + time.Second)
					for _, ev := range tt.later {
						c.Sink(ev)
					}
					<-ctx.Done()
					time.Sleep(tt.takes)
					return nil, context.Cause(ctx)
				})
				compare.Equal(t, "detached", s.DetachWhenDue(task), true)
				time.Sleep(2 * nameTimeout)

				began := time.Now()
				s.Close()
				compare.Equal(t, "waited", time.Since(began), tt.waits)
				err := task.AwaitEnd().Err
				compare.Equal(t, "ended with the cause", errors.Is(err, tt.want), true)
			})
		})
	}
}

// An id never has a response that the API has lost, or whose call has ended: other processes cannot
// fetch it, or would settle it again. Then a task over HTTP is not detached, as one without a name.
func TestNotSealed(t *testing.T) {
	type attempt func(s *Tasks, task *Task, c *call.Call, leave func())
	named := call.ResponseNamed{ID: "resp_1"}
	ends := func(s *Tasks, task *Task, c *call.Call, _ func()) {
		s.NoteCallEnded(task, c, nil)
		c.Sink(named)
	}
	for name, tt := range map[string]struct {
		overHTTP bool
		attempt  attempt
	}{
		"lost": {true, func(_ *Tasks, _ *Task, c *call.Call, _ func()) {
			c.Sink(named)
			time.Sleep(time.Second)
			c.Sink(call.Retrying{Err: &call.APIError{ResponseLost: true}})
		}},
		"ended":            {true, ends},
		"ended over stdio": {false, ends},
		"nameless":         {true, func(_ *Tasks, _ *Task, _ *call.Call, leave func()) { leave() }},
	} {
		compare.Bubble(t, name, func(t *testing.T) {
			s := New(Options{Timeout: time.Hour, Recover: func(string, *error) {}, BackgroundAPI: &BackgroundAPI{
				Secrets: func() []string { return []string{newSecret} },
				Fetch: func(context.Context, *call.Call, answer.ResponseRef) (*answer.Answer, error) {
					time.Sleep(2 * time.Second) // meanwhile the API loses it
					return nil, answer.ErrRunning
				},
			}})
			c := &call.Call{}
			request, leave := context.WithCancel(t.Context())
			task := s.Prepare(c, CallOptions{Polled: true, OverHTTP: tt.overHTTP, ExpectsName: true})
			s.Run(request, task, func(context.Context) (*answer.Answer, error) {
				tt.attempt(s, task, c, leave)
				time.Sleep(time.Minute)
				return nil, nil
			})
			compare.Equal(t, "detached", s.DetachWhenDue(task), !tt.overHTTP)
			compare.Equal(t, "end", s.NoteCallEnded(task, c, nil), budget.End{})
			task.AwaitEnd()
		})
	}
}

// A task that is cancelled has no answer. Cancel waits until its call has cancelled it at the API.
func TestCancel(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{Timeout: time.Hour})
		task := s.Prepare(&call.Call{}, CallOptions{Polled: true})
		s.Run(t.Context(), task, func(ctx context.Context) (*answer.Answer, error) {
			<-ctx.Done()
			time.Sleep(time.Second)
			return &answer.Answer{}, nil
		})
		compare.Equal(t, "detached", s.DetachWhenDue(task), true)
		began := time.Now()
		s.Cancel(t.Context(), task, nil)
		compare.Equal(t, "waited", time.Since(began), time.Second)
		compare.Equal(t, "cancelled", errors.Is(task.AwaitEnd().Err, context.Canceled), true)
	})
}

// Of a call that goes on after the response in its id, only what that one has used is of the
// response.
func TestOtherResponses(t *testing.T) {
	for name, next := range map[string][]call.Event{
		"none":                    nil,
		"requery":                 {call.Requesting{}, call.ResponseNamed{ID: "resp_2"}},
		"retry in the foreground": {call.Retrying{Err: &call.APIError{}}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := New(Options{Timeout: time.Hour, BackgroundAPI: &BackgroundAPI{
					Secrets: func() []string { return []string{newSecret} },
				}})
				c := &call.Call{}
				c.Usage.Input = 1 // of a response before
				task := s.Prepare(c, CallOptions{Polled: true, ExpectsName: true})
				s.Run(t.Context(), task, func(context.Context) (*answer.Answer, error) {
					c.Sink(call.ResponseNamed{ID: "resp_1"})
					time.Sleep(time.Second)
					c.Usage.Input += 10
					for _, ev := range next {
						c.Sink(ev)
					}
					if next != nil {
						c.Usage.Input += 100
					}
					return &answer.Answer{}, nil
				})
				compare.Equal(t, "detached", s.DetachWhenDue(task), true)
				err := task.AwaitEnd().Err
				compare.Equal(t, "error", err, nil)
				end := s.NoteCallEnded(task, c, nil)
				compare.Equal(t, "response", end.ResponseID, "resp_1")
				compare.Equal(t, "tokens of it", end.ReportedOfResponse.Usage.Input, int64(10))
			})
		})
	}
}

// A request to the API about a call ends with the call, whose answer then goes with its request.
func TestAskEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{
			Recover: func(string, *error) {},
			BackgroundAPI: &BackgroundAPI{Fetch: func(
				ctx context.Context, _ *call.Call, _ answer.ResponseRef,
			) (*answer.Answer, error) {
				<-ctx.Done()
				return nil, answer.ErrStateUnknown
			}},
		})
		began := time.Now()
		c := &call.Call{}
		task := s.Prepare(c, CallOptions{Polled: true, OverHTTP: true})
		s.Run(t.Context(), task, func(context.Context) (*answer.Answer, error) {
			c.Sink(call.ResponseNamed{ID: "resp_1"})
			time.Sleep(time.Second)
			return &answer.Answer{}, nil
		})

		compare.Equal(t, "detached", s.DetachWhenDue(task), false)
		compare.Equal(t, "after", time.Since(began), time.Second)
	})
}

// elsewhere returns Tasks of an API that fetch asks, and a task that another process, whose clock
// is ahead, has begun there.
func elsewhere(o Options, fetch func() (*answer.Answer, error)) (*Tasks, *Task) {
	o.BackgroundAPI = &BackgroundAPI{
		Secrets:  func() []string { return []string{newSecret} },
		KeepTime: time.Hour,
		Fetch: func(context.Context, *call.Call, answer.ResponseRef) (*answer.Answer, error) {
			return fetch()
		},
	}
	s := New(o)
	ref := answer.ResponseRef{CallBegan: now().Add(time.Minute), ResponseID: "resp_1"}
	return s, s.Find(seal(ref, newSecret, ownerOf("", "")), "")
}

// After EOF a request waits for the end of its task, but not forever for an API that does not tell
// it: the wait would keep the process alive.
func TestWaitAfterEOF(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		eof := make(chan struct{})
		close(eof)
		began := time.Now()
		s, task := elsewhere(
			Options{Timeout: 5 * time.Minute, EOF: eof, Recover: func(string, *error) {}},
			func() (*answer.Answer, error) { return nil, answer.ErrStateUnknown })
		compare.Equal(t, "age", time.Since(task.Created), 0)
		state := s.Wait(t.Context(), task, &call.Call{}, 20*time.Second)
		compare.Equal(t, "works", state.IsWorking(), true)
		compare.Equal(t, "waited", time.Since(began), 20*time.Second+5*time.Minute+requestTimeout)
	})
}

// A panic while the end of a response is settled neither ends the server nor loses the answer.
func TestSettlePanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		panics := 0
		s, task := elsewhere(Options{
			Timeout: time.Hour,
			Recover: func(string, *error) {
				if recover() != nil {
					panics++
				}
			},
			RemoteEnded: func(*call.Call, answer.ResponseRef, *answer.Answer, error) { panic("bug") },
		}, func() (*answer.Answer, error) { return &answer.Answer{}, nil })
		for range 2 {
			_ = s.Refresh(t.Context(), task, &call.Call{})
			time.Sleep(fetchInterval)
		}
		compare.Equal(t, "works", s.Refresh(t.Context(), task, &call.Call{}).IsWorking(), false)
		compare.Equal(t, "panics", panics, 1)
	})
}
