package people

import (
	"cmp"
	"context"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/queue"
)

// Acquire waits for a slot, in which a call runs. A slot is free while fewer calls run than
// Bounds.MaxCalls. A free slot goes to the call with the first place in the queue. But calls of a
// person who runs as many calls as Bounds.MaxCallsPerPerson allows are passed over.
//
// release gives the slot back, and must be called once. If ctx ends first, the error is that of
// call.EndOf. If c.WaitDeadline comes first, the error wraps call.ErrWaiting. With an error,
// Acquire sets c.Ahead.
func (r *Registry) Acquire(ctx context.Context, c *call.Call) (release func(), err error) {
	ctx, cancel := c.WaitContext(ctx)
	defer cancel()
	e := &queue.Entry{PersonID: c.Person.ID}
	select {
	case <-r.enter(e):
	case <-ctx.Done():
		ahead, left := r.leave(e)
		if left { // else the call has just got its slot
			c.Ahead = ahead
			return nil, call.EndOf(ctx)
		}
	}

	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.addLocked(e.PersonID, holding{calls: -1})
		r.grantSlotsLocked()
	}, nil
}

// leave takes a waiting call out of the queue, and returns how many calls were ahead of it. left is
// false if the call has just got its slot.
func (r *Registry) leave(e *queue.Entry) (ahead int, left bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.queue.Ahead(e), r.queue.Leave(e)
}

// enter puts a call into the queue. The channel is closed when the call gets its slot.
func (r *Registry) enter(e *queue.Entry) (turn <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.grantSlotsLocked()
	return r.queue.Enter(e)
}

// grantSlotsLocked gives free slots to the calls that are next.
func (r *Registry) grantSlotsLocked() {
	perPerson := cmp.Or(r.Bounds.MaxCallsPerPerson(), r.Bounds.MaxCalls)
	for r.all.calls < r.Bounds.MaxCalls {
		var next *queue.Entry
		for id, entries := range r.queue.Waiting {
			isFirst := next == nil || entries[0].Number < next.Number
			if isFirst && r.held[id].calls < perPerson {
				next = entries[0]
			}
		}
		if next == nil {
			return
		}

		r.addLocked(next.PersonID, holding{calls: 1})
		r.queue.GiveTurn(next)
	}
}
