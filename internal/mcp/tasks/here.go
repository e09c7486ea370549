package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

// Start runs a call. It ends with request, unless it is detached before. Its answer cites no
// excluded pages.
func (s *Tasks) Start(
	request context.Context,
	c *call.Call,
	excluded []string,
	run func(context.Context) (*answer.Answer, error),
) *Task {
	t := newTask(c.Tool, c.Person.ID, now())
	t.call = *c
	t.named = make(chan struct{})
	t.ctx, t.stop = context.WithCancelCause(context.WithoutCancel(request))
	undo := context.AfterFunc(request, func() { t.stop(context.Cause(request)) })
	t.leave = func() bool { return request.Err() == nil && undo() }

	domains := strings.Join(excluded, " ")
	c.Sink = func(ev call.Event) {
		t.name(ev, domains)
		t.Progress.Add(ev)
	}
	go func() {
		defer t.stop(nil)
		a, err := run(t.ctx)
		s.end(t, a, err)
	}()
	return t
}

// name notes the response that an event names, unless it has no room in an id.
func (t *Task) name(ev call.Event, excluded string) {
	created, ok := ev.(call.Created)
	if !ok || created.ID == "" || len(excluded) > maxExcluded {
		return
	}

	previous := t.from.Swap(&answer.Origin{
		Created:  t.Created,
		Tool:     t.Tool,
		Response: created.ID,
		Excluded: excluded,
	})
	if previous == nil {
		close(t.named)
	}
}

// End waits for the end of a call, and returns its result.
func (t *Task) End() (*answer.Answer, error) {
	<-t.done
	return t.end.Answer, t.end.Err
}

// AwaitName waits until the API names the response of a call, until the call has ended, or until
// ctx is done. It reports whether the response has a name.
func (t *Task) AwaitName(ctx context.Context) bool {
	select {
	case <-t.named:
	case <-t.done:
	case <-ctx.Done():
	}
	return t.HasName()
}

// HasName reports whether the API has named the response of a call.
func (t *Task) HasName() bool { return t.from.Load() != nil }

// Lost reports whether a call would be lost at the API, which says that it does not have the
// response: some servers say that one runs in the background, but have no GET. A call that has ended
// counts, too: its request gets the answer. A GET that fails says nothing, so the call can be
// detached: if its client ends long calls, the answer would certainly be lost. Lost returns when ctx
// is done, or when the call has ended.
func (s *Tasks) Lost(ctx context.Context, t *Task) bool {
	from := t.from.Load()
	if from == nil || t.hasEnded() {
		return t.hasEnded()
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(t.ctx, cancel)()

	own := t.call
	_, err := s.fetch(ctx, &own, *from)
	return errors.Is(err, answer.ErrGone) || t.hasEnded()
}

// DetachHere lets a call go on without its request until Close: it becomes a task that lives in
// this process. If the API has named its response, other processes can answer for it, too.
// DetachHere returns false if the call ends with its request.
func (s *Tasks) DetachHere(t *Task) bool {
	return s.detach(t, pollHere)
}

// DetachAtAPI is DetachHere for a call whose response the API has named, and whose client may ask
// other processes about it.
func (s *Tasks) DetachAtAPI(t *Task) bool {
	return s.detach(t, pollAPI)
}

func (s *Tasks) detach(t *Task, poll time.Duration) bool {
	if !t.leave() {
		return false
	}
	id := rand.Text() // 130 bits: an id that was guessed finds no task
	keep := keepHere
	from := t.from.Load()
	if api := s.o.API; api != nil && from != nil {
		id = seal(*from, api.Secrets()[0], owner(t.person, api.BaseURL))
		keep = api.Keep
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	s.addLocked(t, id, keep, poll)
	return true
}
