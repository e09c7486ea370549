package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
)

// Start runs a call, which ends with request until keep returns true. Then it is a task with an id,
// and ends with Tasks. Its answer cites no excluded pages.
//
// keep waits until the API names the response of the call, at most for wait. If only what the API runs
// becomes a task, it waits for the name as long as that takes, and with a wait it asks the API about
// the response; without, the API was asked after half of Within. A call that waits for others until
// Within ends. keep returns false if the API does not have the response, or if the call has ended
// before.
func (s *Tasks) Start(
	request context.Context,
	c *call.Call,
	excluded []string,
	run func(context.Context) (*answer.Answer, error),
) (t *Task, keep func(wait time.Duration) bool) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(request))
	t = newTask(c.Tool, c.Person.ID, now())
	t.stop = stop
	t.named = make(chan struct{})
	leave := context.AfterFunc(request, func() { stop(context.Cause(request)) })
	forget := context.AfterFunc(s.open, func() {
		if t.kept.Load() { // the response may go on at the API
			stop(call.ErrDetached)
		}
	})

	// The requests about the response have a call of their own: run changes this one.
	asks := *c
	if s.o.Within > 0 {
		time.AfterFunc(s.o.Within/2, func() { s.find(t, asks) })
		if s.o.Shared {
			c.WaitUntil = t.Created.Add(s.o.Within)
		}
	}
	domains := strings.Join(excluded, " ")
	c.Sink = func(ev call.Event) {
		t.name(ev, domains)
		t.Progress.Add(ev)
	}
	go func() {
		defer forget()
		defer stop(nil)
		a, err := run(ctx)
		s.end(t, a, err)
	}()
	return t, func(wait time.Duration) bool {
		if !s.canKeep(t, asks, wait) || !leave() {
			<-t.done
			return false
		}
		t.kept.Store(true)
		s.add(t)
		return true
	}
}

// name notes the response that an event names, unless it has no room in an id.
func (t *Task) name(ev call.Event, excluded string) {
	created, ok := ev.(call.Created)
	hasRoom := len(excluded) <= maxExcluded
	if !ok || created.ID == "" || !hasRoom {
		return
	}

	isFirst := t.from.Swap(&answer.Origin{
		Created:  t.Created,
		Tool:     t.Tool,
		Response: created.ID,
		Excluded: excluded,
	}) == nil
	if isFirst {
		close(t.named)
	}
}

// canKeep waits until the API names the response, and reports whether the call can be kept.
func (s *Tasks) canKeep(t *Task, c call.Call, wait time.Duration) bool {
	if s.o.API == nil {
		return !s.o.Shared
	}

	var isLate <-chan time.Time
	if !s.o.Shared {
		isLate = time.After(wait)
	}
	select {
	case <-t.named:
	case <-isLate:
	case <-t.done:
		return !s.o.Shared
	}
	if wait > 0 {
		s.find(t, c)
	}
	return !t.isGone.Load()
}

// find asks the API whether it has the response that it names: some servers say that a response runs
// in the background, but have no GET. A GET that fails says nothing about that. Then the call can
// become a task: if its client ends long calls, the answer would be lost for sure.
func (s *Tasks) find(t *Task, c call.Call) {
	from := t.from.Load()
	isNamed := s.o.Shared && from != nil
	isOver := t.kept.Load() || t.hasEnded()
	if isNamed && !isOver {
		_, err := s.fetch(context.Background(), &c, *from)
		t.isGone.Store(errors.Is(err, answer.ErrGone))
	}
}

// add gives a task that runs here its id.
func (s *Tasks) add(t *Task) {
	id := rand.Text() // 130 bits: an id that was guessed finds no task
	keep := keepHere
	poll := 2 * time.Second
	from := t.from.Load()
	if api := s.o.API; api != nil && from != nil {
		id = seal(*from, api.Secrets()[0], owner(t.person, api.BaseURL))
		keep = api.Keep
	}
	if s.o.Shared {
		poll = pollAPI
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(t, id, keep, poll)
}
