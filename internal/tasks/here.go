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
	kept     atomic.Bool   // the call goes on without its request
	named    chan struct{} // closed when the API runs a response for the call
	response string        // its id, readable from then on
	looked   chan struct{} // closed when the API has said whether it finds the response
	found    bool          // it does, readable from then on

	excluded string // domains that the answer must not cite, see answer.Origin
}

// Start runs a call, which ends with request until keep returns true. Then it is a task with an id,
// and ends with Tasks.
//
// keep waits for a time until the API names the response of the call. If only what the API runs
// becomes a task, keep waits for the name, and then until the API finds the response; without a wait
// it is enough that the API has not said otherwise. It returns false if the call has ended before.
// excluded are the domains that the answer must not cite.
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
		looked:   make(chan struct{}),
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
	if s.o.Shared {
		go h.find(t, &asks)
	}

	return t, func(wait time.Duration) bool {
		if !h.isTask(t, wait) || !leave() {
			<-t.done
			return false
		}
		h.kept.Store(true)
		s.add(t, h)
		return true
	}
}

// name notes the response that an event names first, unless it has no room in an id. Others are
// retries.
func (h *here) name(ev llm.Event) {
	created, ok := ev.(llm.Created)
	hasRoom := len(h.excluded) <= maxExcluded
	isFirst := ok && created.ID != "" && h.response == ""
	if isFirst && hasRoom {
		h.response = created.ID
		close(h.named)
	}
}

// isTask waits until the API names the response, and reports whether the call can be a task.
func (h *here) isTask(t *Task, wait time.Duration) bool {
	if h.tasks.o.API == nil {
		return true
	}
	isOver := time.After(wait)
	if h.tasks.o.Shared {
		isOver = nil
	}
	select {
	case <-h.named:
	case <-t.done:
	case <-isOver:
	}

	if !h.tasks.o.Shared {
		return true
	}
	isLate := wait == 0 && !t.hasEnded()
	if isLate && !isClosed(h.looked) {
		return true
	}
	<-h.looked
	return h.found
}

// find finds out whether the API finds the response that it names: some servers say that a response
// runs in the background, but have no GET. It asks until the API says something about the response.
func (h *here) find(t *Task, call *llm.Call) {
	defer close(h.looked)
	select {
	case <-h.named:
	case <-t.done:
		return
	}

	for {
		_, err := h.tasks.fetch(context.Background(), call, h.origin(t))
		if !errors.Is(err, answer.ErrUnknown) {
			h.found = errors.Is(err, answer.ErrRunning) // else it has ended, or is not there
			return
		}
		select {
		case <-time.After(findTime):
		case <-t.done:
			return
		}
	}
}

// origin is that of the response, which the API has named.
func (h *here) origin(t *Task) answer.Origin {
	return answer.Origin{
		Created:  t.Created,
		Tool:     t.Tool,
		Response: h.response,
		Excluded: h.excluded,
	}
}

// add gives a task that runs here its id.
func (s *Tasks) add(t *Task, h *here) {
	id := rand.Text() // 130 bits: an id that was guessed finds no task
	t.TTL = s.o.Timeout + keepHere
	t.Poll = 2 * time.Second
	if api := s.o.API; api != nil && isClosed(h.named) {
		id = seal(h.origin(t), api.Secrets()[0], owner{t.person, api.BaseURL})
		t.TTL = s.o.Timeout + api.Keep
	}
	if s.o.Shared {
		t.Poll = pollAPI
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(t, id)
	if t.hasEnded() {
		s.addEndedLocked(t)
	}
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
