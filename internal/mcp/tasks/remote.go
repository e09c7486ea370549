package tasks

import (
	"context"
	"errors"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/question/answer"
)

const (
	requestTimeout = 10 * time.Second // of each request to the API
	maxReplyAge    = time.Second      // how long all requests about a task share a reply of the API
	fetchInterval  = 2 * time.Second  // between two requests to the API while a client waits
)

// remoteCall is what the API has replied about a task whose call another process runs, or ran.
type remoteCall struct {
	ref answer.ResponseRef // from the id of the task

	// openedAt is when this process has opened the id. ref.CallBegan is earlier, but by the clock
	// of another machine, which may be minutes off.
	openedAt time.Time

	// fetching is the lock of the fields below: it holds a value while a request uses them, and
	// asks the API. A request can stop waiting for fetching, but not for a sync.Mutex.
	fetching  chan struct{}
	fetchedAt time.Time // when the last request to the API ended
	message   string    // about the task at fetchedAt; "": the response runs
}

// refreshRemote asks the API about a task. It ends the task if the response has ended, and returns
// a message about a working task. A reply less than maxReplyAge old is used again, unless
// wasCancelled says that the response was cancelled since.
//
// If ctx ends first, refreshRemote returns "" at once. A GET that has begun goes on, for
// requestTimeout at most. Beyond the time limit a cancellation and another GET may follow, each
// with the same timeout.
func (ts *Tasks) refreshRemote(
	ctx context.Context, t *Task, asker *call.Call, wasCancelled bool,
) string {
	select {
	case t.remote.fetching <- struct{}{}:
	case <-ctx.Done():
		return ""
	}

	askerCopy := *asker // for the goroutine, which may outlive the request, and adds the usage
	replies := make(chan string, 1)
	go func() {
		message := ""
		defer func() {
			<-t.remote.fetching
			replies <- message
		}()
		var err error // for Recover; after a panic of RemoteEnded the task has ended
		defer ts.options.Recover(askerCopy.Tool, &err)
		message = ts.refreshRemoteAlone(context.WithoutCancel(ctx), t, &askerCopy, wasCancelled)
	}()
	select {
	case message := <-replies:
		return message
	case <-ctx.Done():
		return ""
	}
}

// refreshRemoteAlone does the work of refreshRemote. Its caller has put a value into fetching, so
// no other request asks about the task.
//
// A response that still runs after the time limit, counted from openedAt, is cancelled, but only if
// the API says that the response runs: an API that is too busy to say so may have a complete
// answer, which would be lost. If the process that runs the call still exists, its own time limit
// has cancelled the response before.
func (ts *Tasks) refreshRemoteAlone(
	ctx context.Context, t *Task, asker *call.Call, wasCancelled bool,
) string {
	r := t.remote
	isFresh := time.Since(r.fetchedAt) < maxReplyAge && !wasCancelled
	if isFresh || t.hasEnded() {
		return r.message
	}

	ref := r.ref
	a, err := ts.fetchAnswer(ctx, asker, ref)
	r.fetchedAt = time.Now()
	r.message = ""

	if time.Since(t.Created) >= ts.options.Timeout && call.KindOf(err) == call.KindCanceled {
		// The process that runs the call has cancelled the response, at its time limit. Created
		// counts here, by the clock of that process: openedAt may be much later than the start of
		// the call.
		err = call.TimeoutError(ts.options.Timeout)
	}
	switch {
	case errors.Is(err, answer.ErrStateUnknown): // first, because it wraps ErrRunning
		r.message = "the API does not say whether the answer is complete"
	case !errors.Is(err, answer.ErrRunning):
		defer ts.end(t, a, err) // also after a panic
		ts.options.RemoteEnded(asker, ref, a, err)
	case time.Since(r.openedAt) >= ts.options.Timeout:
		ts.endAtLimit(ctx, t, asker)
	}
	return r.message
}

// endAtLimit cancels the response of a task that runs beyond the time limit, and ends the task.
func (ts *Tasks) endAtLimit(ctx context.Context, t *Task, asker *call.Call) {
	ref := t.remote.ref
	ts.cancelResponse(ctx, asker, ref)
	// This GET adds to asker what the response has used: the first GET found the response running,
	// and added nothing.
	a, err := ts.fetchAnswer(ctx, asker, ref)
	endIsRead := !errors.Is(err, answer.ErrRunning)
	if a == nil { // else the answer came before the cancellation
		err = call.TimeoutError(ts.options.Timeout)
	}

	defer ts.end(t, a, err) // even if the cancellation failed, or after a panic
	// If the end is not read, what is reserved counts, and no process observes the end of the call.
	if endIsRead {
		ts.options.RemoteEnded(asker, ref, a, err)
	}
}

// cancelResponse asks the API to cancel a response.
func (ts *Tasks) cancelResponse(ctx context.Context, c *call.Call, ref answer.ResponseRef) {
	var err error // for Recover: the next GET tells whether it worked
	defer ts.options.Recover(c.Tool, &err)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	_ = ts.options.BackgroundAPI.Cancel(ctx, c, ref.ResponseID)
}

// fetchAnswer asks the API for the answer of a response.
func (ts *Tasks) fetchAnswer(
	ctx context.Context, c *call.Call, ref answer.ResponseRef,
) (a *answer.Answer, err error) {
	defer ts.options.Recover(c.Tool, &err)
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return ts.options.BackgroundAPI.Fetch(ctx, c, ref)
}
