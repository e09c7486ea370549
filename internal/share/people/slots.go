package people

import (
	"cmp"
	"context"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/queue"
)

// Acquire waits until a call may run: its person runs fewer calls than the bound, and all people
// fewer than theirs. Next is the first call whose person may run another one. end gives the slot
// back.
func (r *Registry) Acquire(ctx context.Context, c *call.Call) (end func(), err error) {
	ctx, cancel := c.WaitContext(ctx)
	defer cancel()
	p := &queue.Place{Person: c.Person.ID}
	select {
	case <-r.enter(p):
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		ahead := r.queue.Ahead(p)
		if r.queue.Leave(p) { // else the turn has just come
			c.Ahead = ahead
			return nil, context.Cause(ctx)
		}
	}

	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.addLocked(p.Person, holding{calls: -1})
		r.serveLocked()
	}, nil
}

// enter puts a call into the queue, and returns its turn.
func (r *Registry) enter(p *queue.Place) (turn <-chan struct{}) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.serveLocked()
	return r.queue.Enter(p)
}

// serveLocked gives slots to the calls that are next.
func (r *Registry) serveLocked() {
	most := cmp.Or(r.Bounds.PerPerson(), r.Bounds.MaxCalls) // of a person
	for r.all.calls < r.Bounds.MaxCalls {
		var next *queue.Place
		for id, calls := range r.queue.Waiting {
			first := next == nil || calls[0].Number < next.Number
			if first && r.people[id].calls < most {
				next = calls[0]
			}
		}
		if next == nil {
			return
		}

		r.addLocked(next.Person, holding{calls: 1})
		r.queue.Go(next)
	}
}
