package people

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// orderTime is for how long a person keeps the order of a call that gave up waiting.
const orderTime = time.Minute

// waiter is a call that waits for a slot, or gave up. The next call of its person continues one
// that gave up.
type waiter struct {
	person *entry
	slot   chan struct{} // closed when the call may run
	left   time.Time     // when the call gave up; zero: it waits
}

// Run waits until a call may run: its person runs fewer calls than the bound, and all people fewer
// than theirs. Next is the first call whose person may run another one. end gives the slot back.
func (r *Registry) Run(ctx context.Context, c *call.Call) (end func(), err error) {
	ctx, cancel := c.WaitContext(ctx)
	defer cancel()
	w := r.enter(c.Person.ID)
	select {
	case <-w.slot:
	case <-ctx.Done():
		r.mu.Lock()
		defer r.mu.Unlock()
		ahead := slices.Index(r.queue, w)
		if ahead >= 0 { // else its turn has just come
			c.Ahead = ahead
			w.left = time.Now()
			return nil, context.Cause(ctx)
		}
	}

	return func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.addLocked(w.person, 0, 0, -1)
		r.serveLocked()
	}, nil
}

// enter puts a call of a person into the queue.
func (r *Registry) enter(id string) *waiter {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.serveLocked()

	e := r.entryLocked(id)
	for _, w := range r.queue { // a call that waits has a zero left, which is long ago
		if w.person == e && time.Since(w.left) < orderTime {
			w.left = time.Time{}
			return w
		}
	}
	w := &waiter{
		person: e,
		slot:   make(chan struct{}),
	}
	r.queue = append(r.queue, w)
	e.queued++
	return w
}

// serveLocked gives slots to the calls that are next, and forgets those that gave up long ago.
func (r *Registry) serveLocked() {
	most := cmp.Or(r.Limits.PerPerson(), r.Limits.MaxCalls) // of a person
	r.queue = slices.DeleteFunc(r.queue, func(w *waiter) bool {
		waits := w.left.IsZero()
		runs := waits && w.person.calls < most && r.all.calls < r.Limits.MaxCalls
		forgotten := !waits && time.Since(w.left) >= orderTime
		if runs {
			r.addLocked(w.person, 0, 0, 1)
			close(w.slot)
		}
		if runs || forgotten {
			w.person.queued--
		}
		return runs || forgotten
	})
}
