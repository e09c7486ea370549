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

// nameTime is how long Detach waits for the API to name the response of a polled task that runs
// here: the id of a response outlives this process.
const nameTime = 2 * time.Second

// Prepare returns the task of a call, for Run. Its client polls the task, watches it, or does
// neither. excluded goes into a sealed id, for the answer of another process. A task that is not
// polled can be detached after within; 0: never.
//
// A task that is watched or may be detached gets the events of its call. Any other call has no
// Sink: no event is made of its deltas.
func (s *Tasks) Prepare(
	c *call.Call, excluded []string, polled, watched bool, within time.Duration,
) *Task {
	t := newTask(c.Tool, c.Person.ID, now())
	t.Polled = polled
	t.within = within
	t.detachable = polled || within > 0
	if !t.detachable && !watched {
		return t
	}

	t.probe = *c // for isGone, while run changes c
	from := answer.Origin{
		Created:    t.Created,
		Tool:       t.Tool,
		Excluded:   strings.Join(excluded, " "),
		Unreserved: c.Unreserved,
	}
	c.Sink = func(ev call.Event) {
		t.setOrigin(ev, from)
		t.Progress.Add(ev)
	}
	return t
}

// setOrigin takes the name of a response from an event, unless it has no room in an id. An id that
// was sealed before a retry keeps the earlier response: this process still answers with the last
// one, other processes with how the earlier one ended.
func (t *Task) setOrigin(ev call.Event, from answer.Origin) {
	created, ok := ev.(call.Created)
	if !ok || created.ID == "" || len(from.Excluded) > maxExcluded {
		return
	}

	from.Response = created.ID
	previous := t.origin.Swap(&from)
	if previous == nil {
		close(t.hasOrigin)
	}
}

// Run runs the call of a task, which ends with request unless Detach returns true before. Run
// returns at the end of a call that cannot be detached, and at once for any other.
func (s *Tasks) Run(
	request context.Context, t *Task, run func(context.Context) (*answer.Answer, error),
) {
	if !t.detachable {
		a, err := run(request)
		s.end(t, a, err)
		return
	}

	t.ctx, t.stop = context.WithCancelCause(context.WithoutCancel(request))
	// Without leave, the end of the request ends the call: Server.call cancels request when it
	// returns.
	undo := context.AfterFunc(request, func() { t.stop(context.Cause(request)) })
	t.leave = func() bool { return request.Err() == nil && undo() }
	go func() {
		defer t.stop(nil)
		a, err := run(t.ctx)
		s.end(t, a, err)
	}()
}

// Result waits for the end of a task, and returns its answer or why there is none.
func (t *Task) Result() (*answer.Answer, error) {
	<-t.done
	return t.final.Answer, t.final.Err
}

// StopSealing is called when the call of a task has ended, before what it has used is noted: from
// then on the task gets no sealed id. It returns the response in the id that the task has, whose
// end other processes may read, or "" if the id is not sealed.
func (s *Tasks) StopSealing(t *Task) (response string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	t.sealsNoMore = true
	return t.sealedResponse
}

// Detach is the only way in which a task leaves its request. A polled task can leave soon, any
// other after the time that Prepare got. Detach waits for that, and reports whether the task goes
// on. Then later requests find it by its ID, until Close. Any other task ends with its request.
// With shared, later requests may reach other processes, so only what the API runs goes on.
func (s *Tasks) Detach(t *Task, shared bool) bool {
	if !t.detachable {
		return false
	}
	poll := pollHere
	var canGoOn bool
	if shared {
		poll = pollAPI
		canGoOn = s.canGoOnAtAPI(t)
	} else {
		canGoOn = s.canGoOnHere(t)
	}
	if !canGoOn || !t.leave() {
		return false
	}

	s.mu.Lock()
	defer s.mu.Unlock()
	if shared && t.sealsNoMore { // the call has just ended: Result has its answer
		return false
	}
	id := rand.Text() // 130 bits: an id that was guessed finds no task
	keep := keepHere
	origin := t.origin.Load()
	if api := s.o.API; api != nil && origin != nil && !t.sealsNoMore {
		id = seal(*origin, api.Secrets()[0], owner(t.person, api.BaseURL))
		keep = api.Keep
		t.sealedResponse = origin.Response
	}
	s.addLocked(t, id, keep, poll)
	return true
}

// canGoOnHere waits until a task can go on in this process, and reports whether it can. A polled
// task can at once, also if it has ended, but with an API it waits for the name of its response,
// for nameTime at most. Any other task can after Within, unless it has ended.
func (s *Tasks) canGoOnHere(t *Task) bool {
	if !t.Polled {
		s.Wait(t.ctx, t, nil, t.within)
		return !t.hasEnded()
	}
	if s.o.API != nil {
		t.awaitOrigin(time.After(nameTime))
	}
	return true
}

// canGoOnAtAPI waits until a task can go on at the API, and reports whether it can: a polled task
// once the API has its response, any other after Within. The API is asked at half of Within, so
// that the GET may take the other half, or at the end of the wait if the response has no name by
// then.
func (s *Tasks) canGoOnAtAPI(t *Task) bool {
	if t.Polled {
		return s.isAtAPI(t)
	}
	late, cancel := context.WithTimeout(t.ctx, t.within)
	defer cancel()
	s.Wait(late, t, nil, t.within/2)

	if t.origin.Load() == nil {
		<-late.Done()
		// A call that still waits for others has ended: Server.ask has set its WaitUntil to this
		// time. Any other waits for its name from here on: without it the answer would be lost.
		return s.isAtAPI(t)
	}
	if t.hasEnded() || s.isGone(late, t) {
		return false // if it is gone, the request waits for the end
	}
	<-late.Done() // after Within, or with t.ctx at the end of the call
	return !t.hasEnded()
}

// isAtAPI waits for the name of the response of a task, and reports whether the task works and the
// API has the response.
func (s *Tasks) isAtAPI(t *Task) bool {
	t.awaitOrigin(nil)
	named := t.origin.Load() != nil && !t.hasEnded()
	return named && !s.isGone(t.ctx, t) && !t.hasEnded()
}

// awaitOrigin waits until the API has named the response of a task, until the task has ended, or
// until over.
func (t *Task) awaitOrigin(over <-chan time.Time) {
	select {
	case <-t.hasOrigin:
	case <-t.ctx.Done():
	case <-over:
	}
}

// isGone reports whether the API says that it does not have the response of a task, with a 404 and
// an error object: some servers say that a response runs in the background, but do not keep it. A
// GET that fails says nothing, so the task goes on: a client that ends long calls would certainly
// lose the answer.
func (s *Tasks) isGone(ctx context.Context, t *Task) bool {
	probe := t.probe
	_, err := s.fetchAnswer(ctx, &probe, *t.origin.Load())
	return errors.Is(err, answer.ErrGone)
}
