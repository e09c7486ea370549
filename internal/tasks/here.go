package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// here is the home of a call that runs in this process.
type here struct {
	tasks    *Tasks
	stop     context.CancelCauseFunc
	excluded string                 // see answer.Origin
	kept     atomic.Bool            // the call goes on without its request
	named    chan struct{}          // closed when the API runs a response for the call
	response atomic.Pointer[string] // its id, that of the last retry; not nil from then on
	isGone   atomic.Bool            // the API does not have it
}

// Start runs a call, which ends with request until keep returns true. Then it is a task with an id,
// and ends with Tasks. Its answer cites no excluded pages.
//
// keep waits until the API names the response of the call, at most for wait. If only what the API runs
// becomes a task, it waits for the name as long as that takes, and with a wait it asks the API about
// the response; without, the API was asked after half of Within. It returns false if the API does not
// have the response, or if the call has ended before.
func (s *Tasks) Start(
	request context.Context,
	call *llm.Call,
	excluded []string,
	run func(context.Context) (*answer.Answer, error),
) (t *Task, keep func(wait time.Duration) bool) {
	ctx, stop := context.WithCancelCause(context.WithoutCancel(request))
	h := &here{
		tasks:    s,
		stop:     stop,
		named:    make(chan struct{}),
		excluded: strings.Join(excluded, " "),
	}
	t = newTask(call.Tool, call.Person.ID, now(), h)
	leave := context.AfterFunc(request, func() { stop(context.Cause(request)) })
	forget := context.AfterFunc(s.open, h.detach)

	// The requests about the response have a call of their own: run changes this one.
	asks := *call
	call.Sink = func(ev llm.Event) {
		h.name(ev)
		t.Progress.Add(ev)
	}
	go func() {
		defer forget()
		defer stop(nil)
		a, err := run(ctx)
		s.end(t, a, err)
	}()
	if s.o.Within > 0 {
		time.AfterFunc(s.o.Within/2, func() { h.find(t, asks) })
	}

	return t, func(wait time.Duration) bool {
		if !h.isTask(t, asks, wait) || !leave() {
			<-t.done
			return false
		}
		h.kept.Store(true)
		s.add(t, h)
		return true
	}
}

// name notes the response that an event names, unless it has no room in an id.
func (h *here) name(ev llm.Event) {
	created, ok := ev.(llm.Created)
	hasRoom := len(h.excluded) <= maxExcluded
	if !ok || created.ID == "" || !hasRoom {
		return
	}
	isFirst := h.response.Swap(&created.ID) == nil
	if isFirst {
		close(h.named)
	}
}

// isTask waits until the API names the response, and reports whether the call can be a task.
func (h *here) isTask(t *Task, call llm.Call, wait time.Duration) bool {
	o := h.tasks.o
	if o.API == nil {
		return !o.Shared
	}

	var isLate <-chan time.Time
	if !o.Shared {
		isLate = time.After(wait)
	}
	select {
	case <-h.named:
	case <-isLate:
	case <-t.done:
		return !o.Shared
	}
	if wait > 0 {
		h.find(t, call)
	}
	return !h.isGone.Load()
}

// find asks the API whether it has the response that it names: some servers say that a response runs
// in the background, but have no GET. A GET that fails says nothing about that. Then the call can
// become a task: if its client ends long calls, the answer would be lost for sure.
func (h *here) find(t *Task, call llm.Call) {
	isNamed := h.tasks.o.Shared && isClosed(h.named)
	isOver := h.kept.Load() || t.hasEnded()
	if isNamed && !isOver {
		_, err := h.tasks.fetch(context.Background(), &call, h.origin(t))
		h.isGone.Store(errors.Is(err, answer.ErrGone))
	}
}

// origin is that of the response, which the API has named.
func (h *here) origin(t *Task) answer.Origin {
	return answer.Origin{
		Created:  t.Created,
		Tool:     t.Tool,
		Response: *h.response.Load(),
		Excluded: h.excluded,
	}
}

// add gives a task that runs here its id.
func (s *Tasks) add(t *Task, h *here) {
	id := rand.Text() // 130 bits: an id that was guessed finds no task
	t.TTL = s.o.Timeout + keepHere
	t.Poll = 2 * time.Second
	if api := s.o.API; api != nil && isClosed(h.named) {
		id = seal(h.origin(t), api.Secrets()[0], owner(t.person, api.BaseURL))
		t.TTL = s.o.Timeout + api.Keep
	}
	if s.o.Shared {
		t.Poll = pollAPI
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(t, id)
}

// detach ends a task, whose response may go on at the API.
func (h *here) detach() {
	if h.kept.Load() {
		h.stop(llm.ErrDetached)
	}
}

func (h *here) look(_ context.Context, t *Task, _ *llm.Call) string {
	return t.Progress.Last()
}

func (h *here) cancel(_ context.Context, t *Task, _ *llm.Call) {
	h.tasks.end(t, nil, context.Canceled)
	h.stop(context.Canceled)
}
