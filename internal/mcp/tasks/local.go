package tasks

import (
	"context"
	"crypto/rand"
	"errors"
	"slices"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// nameTimeout is how long DetachWhenDue waits for the API to name a response if the task can be
// detached without the name. After nameTimeout
//   - a polled task that can go on in this process gets an id that is not sealed;
//   - a task during a retry gets an id with the earlier response.
const nameTimeout = 2 * time.Second

// minLostTimeout is the shortest timeout of askWhetherLost, even if DetachAfter is over earlier:
// only two GETs, 2 s apart, find a response lost.
const minLostTimeout = 4 * time.Second

// CallOptions say what the client of a call takes, and when and where the call can go on without
// its request. The zero value is a call that ends with its request.
type CallOptions struct {
	Polled        bool          // the client polls the task
	WantsProgress bool          // the client asks for progress notifications
	ExpectsName   bool          // the API soon names the response, as it runs in the background
	DetachAfter   time.Duration // a task that is not polled can be detached after it; 0: never

	// OverHTTP says that later requests may reach other processes. So only a call whose response
	// the API runs in the background can go on.
	OverHTTP bool

	// PartialRef has what the question asked (answer.Question.PartialRef). A sealed id contains it,
	// because another process may make the answer. Prepare adds the call, and noteResponse the
	// response.
	PartialRef answer.ResponseRef
}

// canDetach reports whether the call may go on without its request. With OverHTTP a call still ends
// with its request if the API does not name its response: awaitNamed waits for the end of the call.
func (o CallOptions) canDetach() bool { return o.Polled || o.DetachAfter > 0 }

// localCall is a call that runs in this process.
type localCall struct {
	// Prepare sets these fields.
	CallOptions
	began   time.Time // Task.Created on the monotonic clock
	atStart call.Call // a copy of the call at its start, for the GET of askWhetherLost

	// Run sets these fields if the call can be detached.
	ctx      context.Context         // of the call; done at its end, or when it is to end
	stop     context.CancelCauseFunc // ends the call
	detach   func() bool             // separates call and request; false: the request has ended
	returned chan struct{}           // closed when the call has returned

	// Guarded by the mutex of Tasks.

	// ref refers to the response that the API has named last. It is nil
	//   - if the API has named none, or has lost the response;
	//   - if an id has no room for the excluded domains.
	// noteResponse sets it.
	ref *answer.ResponseRef

	sealedResponseID string // the response in a sealed id of the task, or ""; DetachWhenDue sets it
	callEnded        bool   // NoteCallEnded sets it

	// starts has an entry for each response that the API names. Each retry, requery and end of a
	// wait has an entry with the responseID "". If a retry in the foreground follows resp_1, the
	// entries are {"resp_1", 0 tokens} and {"", 10 tokens}: resp_1 has used 10. noteResponse adds
	// the entries.
	starts []responseStart

	startsChanged chan struct{} // closed, and replaced, when starts gets an entry
}

// responseStart is the start of a response, which the API may not have named.
type responseStart struct {
	responseID     string
	reportedBefore call.Reported // what the API had reported of the call before
}

// runsSealedResponseLocked reports whether a sealed id has the response that the call waits for.
func (l *localCall) runsSealedResponseLocked() bool {
	if l.sealedResponseID == "" {
		return false
	}
	last := l.starts[len(l.starts)-1] // there is one: noteResponse has added the sealed response
	return last.responseID == l.sealedResponseID
}

// Prepare returns the task of a call, for Run. Before, Budget.Take has set Reservation of the call.
// Prepare sets two fields of the call:
//
//   - WaitDeadline, with OverHTTP and a DetachAfter, whatever the other options are. A call that
//     still waits for a slot or for the rate limit ends after DetachAfter: it cannot go on
//     elsewhere, and its client would soon give up. A call that no longer waits goes on.
//   - Sink, if the client wants progress or the task can be detached. Other calls get none, so that
//     no events are made of their deltas.
func (ts *Tasks) Prepare(c *call.Call, o CallOptions) *Task {
	t := newTask(c.Tool, c.Person.ID, now())
	t.Polled = o.Polled

	if o.OverHTTP && o.DetachAfter > 0 {
		c.WaitDeadline = time.Now().Add(o.DetachAfter)
	}

	o.PartialRef.CallBegan = t.Created
	o.PartialRef.Tool = t.Tool
	o.PartialRef.Reservation = c.Reservation
	t.local = &localCall{
		CallOptions:   o,
		began:         time.Now(),
		atStart:       *c, // without a sink: the GET of askWhetherLost adds nothing to the call
		startsChanged: make(chan struct{}),
	}

	if !o.canDetach() && !o.WantsProgress {
		return t
	}

	c.Sink = func(ev call.Event) {
		ts.noteResponse(t.local, ev, c.Reported)
		t.Progress.AddEvent(ev)
	}
	return t
}

// noteResponse notes an event that begins a response, and what the API has reported of the call
// before the event.
//
// If the event names a response in the background (call.ResponseNamed), the response becomes the
// ref of the call, unless an id has no room for the excluded domains. A retry keeps the ref until
// the API names the next response, or clears it if the API has lost the earlier response.
//
// A sealed id does not change. If the id has resp_1, and a retry or a requery makes resp_2, this
// process answers with resp_2, and any other process with the end of resp_1. The call is settled
// once, as resp_1; what resp_2 has used is noted apart.
//
// A call begins its next response after noteResponse has returned. noteResponse waits while stopAll
// holds the mutex, so the context of a call that stopAll ends is done by then.
func (ts *Tasks) noteResponse(l *localCall, ev call.Event, reported call.Reported) {
	switch ev.(type) {
	case call.Retrying, call.Requesting, call.ResponseNamed:
	default: // such as one of many deltas
		return
	}

	ts.mu.Lock()
	defer ts.mu.Unlock()
	responseID := ""
	switch ev := ev.(type) {
	case call.ResponseNamed:
		responseID = ev.ID
		ref := l.PartialRef
		ref.ResponseID = responseID
		if len(ref.Excluded) <= maxExcluded {
			l.ref = &ref
		}
	case call.Retrying:
		if ev.Err.ResponseLost { // an id with this response would be of no use
			l.ref = nil
		}
	}

	l.starts = append(l.starts, responseStart{responseID, reported})
	close(l.startsChanged)
	l.startsChanged = make(chan struct{})
}

// Run runs the call of a task. The call ends when requestCtx is done, unless DetachWhenDue has
// returned true before. Run returns at once if the call can be detached, and otherwise waits for
// its end.
func (ts *Tasks) Run(
	requestCtx context.Context, t *Task, run func(context.Context) (*answer.Answer, error),
) {
	local := t.local
	if !local.canDetach() {
		a, err := run(requestCtx)
		ts.end(t, a, err)
		return
	}

	local.ctx, local.stop = context.WithCancelCause(context.WithoutCancel(requestCtx))
	// Until detach is called, the end of the request ends the call: Server.handler cancels
	// requestCtx when it returns.
	local.detach = context.AfterFunc(requestCtx, func() { local.stop(context.Cause(requestCtx)) })
	local.returned = make(chan struct{})
	go func() {
		defer close(local.returned)
		defer local.stop(nil)
		a, err := run(local.ctx)
		ts.end(t, a, err)
	}()
}

// AwaitEnd waits for the end of a task, and returns its state.
func (t *Task) AwaitEnd() State {
	<-t.done
	return t.final
}

// NoteCallEnded notes that a call has ended, with err or an answer: from now on its task gets no
// sealed id. NoteCallEnded returns what Taken.Settle needs to know of the end:
//
//	the task has no sealed id       nothing: only this process knows the end
//	it has one, and err is          GoesOn: the call has left its response at the API
//	call.ErrLeaveAtAPI
//	it has one, otherwise           the response in the id, whose end other processes may read, and
//	                                what the API has reported of the response
//
// The last row also holds after call.ErrLeaveAtAPI if the API has reported of the response: then the
// response has ended. For example, it has failed, and Close came before the call emitted Retrying.
func (ts *Tasks) NoteCallEnded(t *Task, c *call.Call, err error) budget.End {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	l := t.local
	l.callEnded = true
	if l.sealedResponseID == "" {
		return budget.End{}
	}

	isSealed := func(s responseStart) bool { return s.responseID == l.sealedResponseID }
	i := slices.IndexFunc(l.starts, isSealed) // there is one: noteResponse has added it
	until := c.Reported
	if i+1 < len(l.starts) {
		until = l.starts[i+1].reportedBefore
	}
	reported := until.Minus(l.starts[i].reportedBefore)
	if errors.Is(err, call.ErrLeaveAtAPI) && reported == (call.Reported{}) {
		return budget.End{GoesOn: true}
	}
	return budget.End{
		ResponseID:         l.sealedResponseID,
		ReportedOfResponse: reported,
	}
}

// DetachWhenDue separates a task from its request, if the CallOptions of the task allow that. A
// polled task is separated soon, any other task after DetachAfter.
//
// If DetachWhenDue returns true, the task has an ID, by which later requests find the task, and the
// call goes on until Close at most. If not, the task ends with its request, or has ended already:
// AwaitEnd returns the end.
func (ts *Tasks) DetachWhenDue(t *Task) bool {
	local := t.local
	if !local.canDetach() {
		return false
	}
	awaitDetach := ts.awaitDetachLocal
	pollInterval := localPollInterval
	if local.OverHTTP {
		awaitDetach = ts.awaitDetachAtAPI
		pollInterval = apiPollInterval
	}
	if !awaitDetach(t) {
		return false
	}

	ts.mu.Lock()
	defer ts.mu.Unlock()
	ref := local.ref
	var secrets []string // none: the id is not sealed
	api := ts.options.BackgroundAPI
	if api != nil && ref != nil { // the API has named a response, and has not lost it just now
		secrets = api.Secrets()
	}

	// A call that has ended just now gets no sealed id. With OverHTTP it gets no id at all:
	// AwaitEnd has the answer. Without OverHTTP it gets an id that is not sealed: the client of a
	// polled task expects an id, and answer_result returns at once.
	canSeal := len(secrets) > 0 && !local.callEnded
	if local.OverHTTP && !canSeal {
		return false
	}
	if !local.detach() {
		return false
	}

	id := rand.Text() // 130 bits, which cannot be guessed
	keepTime := localKeepTime
	if canSeal {
		id = seal(*ref, secrets[0], ownerOf(t.personID, api.BaseURL))
		keepTime = api.KeepTime
		local.sealedResponseID = ref.ResponseID
	}
	ts.addLocked(t, id, keepTime, pollInterval)
	return true
}

// awaitDetachLocal waits until a task can go on in this process, and reports whether it can:
//   - A polled task can at once, even if it has ended. With ExpectsName awaitDetachLocal waits for
//     the name of the response, for nameTimeout at most.
//   - Any other task can after DetachAfter, unless it has ended. After EOF no request can ask for
//     the task, so awaitDetachLocal waits for its end.
func (ts *Tasks) awaitDetachLocal(t *Task) bool {
	if !t.Polled {
		ts.Wait(t.local.ctx, t, nil, t.local.DetachAfter)
		return !t.hasEnded() // if its request has ended, detach fails
	}
	if t.local.ExpectsName {
		ts.awaitNamed(t.local, time.After(nameTimeout))
	}
	return true
}

// awaitDetachAtAPI waits until a task can go on at the API, and reports whether it can. A polled
// task can once the API has named the response, and a GET has asked whether the API has it. Any
// other task can after DetachAfter, such as 25 s:
//
//	12.5 s  If the response has a name, a GET asks for the response, for 10 s at most
//	        (requestTimeout).
//	25 s    With a name at 12.5 s the task is detached, during a retry once the next response has
//	        a name, or 2 s later (nameTimeout). Without a name at 12.5 s the task waits as a
//	        polled task does.
//
// If the GET says that the API has lost the response, the task cannot go on. If the API loses the
// response after the GET, the task goes on only if a requery runs in the background again: a retry
// runs in the foreground.
func (ts *Tasks) awaitDetachAtAPI(t *Task) bool {
	if t.Polled {
		return ts.awaitNamedAndKept(t, false)
	}
	due := time.After(t.local.DetachAfter)
	half := t.local.DetachAfter / 2
	ts.Wait(t.local.ctx, t, nil, half)

	refAtHalf := ts.currentRef(t.local)
	timeout := max(half, minLostTimeout)
	if t.hasEnded() || refAtHalf != nil && ts.askWhetherLost(t, *refAtHalf, timeout) {
		return false // if the response is lost, the request waits for the end of the task
	}
	select {
	case <-due:
	case <-t.local.ctx.Done(): // the call has ended, or its request: then detach fails
	}

	// If ref was set before, and is nil now, the API has lost the response. After a retry ref may
	// be another response: an API that keeps one response is taken to keep the next.
	skipGET := refAtHalf != nil && ts.currentRef(t.local) != nil

	// A call that waits for a slot or for the rate limit ends now, at its WaitDeadline. For any
	// other call the request waits until the response has a name: without a name the answer would
	// be lost.
	return ts.awaitNamedAndKept(t, skipGET)
}

// awaitNamedAndKept waits until the API has named the response of a task, during a retry for
// nameTimeout at most. It reports whether the task is working, its response has a name, and no GET
// says that the response is lost. It makes no GET with skipGET: an earlier GET has not
// found the response lost.
func (ts *Tasks) awaitNamedAndKept(t *Task, skipGET bool) bool {
	// A task without any name cannot go on, and waits without a bound. A task with the name of an
	// earlier attempt can go on, so its wait for the next name is bounded.
	var timeout <-chan time.Time
	if ts.currentRef(t.local) != nil {
		timeout = time.After(nameTimeout)
	}
	ts.awaitNamed(t.local, timeout)

	ref := ts.currentRef(t.local)
	if ref == nil || t.hasEnded() {
		return false
	}
	return skipGET || !ts.askWhetherLost(t, *ref, requestTimeout) && !t.hasEnded()
}

// currentRef returns the ref of a call, which later events may replace.
func (ts *Tasks) currentRef(l *localCall) *answer.ResponseRef {
	ts.mu.Lock()
	defer ts.mu.Unlock()
	return l.ref
}

// awaitNamed waits until ref refers to the response of the present attempt. It returns before if
// the task has ended, if its request has ended (detach then fails), or at timeout; nil: no timeout.
// If ref is set, starts has an entry.
func (ts *Tasks) awaitNamed(l *localCall, timeout <-chan time.Time) {
	for {
		ts.mu.Lock()
		ref, changed := l.ref, l.startsChanged
		isNamed := ref != nil && l.starts[len(l.starts)-1].responseID == ref.ResponseID
		ts.mu.Unlock()
		if isNamed {
			return
		}

		select {
		case <-changed:
		case <-l.ctx.Done():
			return
		case <-timeout:
			return
		}
	}
}

// askWhetherLost asks the API for the response that ref names, and reports whether the API has lost
// it: some servers say that a response runs in the background, but do not keep it. If the GET fails
// in another way, or takes longer than timeout or requestTimeout, the response does not count as
// lost, and the task is detached. A client that ends long calls would otherwise certainly lose the
// answer.
func (ts *Tasks) askWhetherLost(t *Task, ref answer.ResponseRef, timeout time.Duration) bool {
	ctx, cancel := context.WithTimeout(t.local.ctx, timeout)
	defer cancel()
	atStart := t.local.atStart
	_, err := ts.fetchAnswer(ctx, &atStart, ref)
	return errors.Is(err, answer.ErrResponseLost)
}
