package server

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
)

// placeMemory is for how long a person keeps the order of a call that gave up waiting.
const placeMemory = time.Minute

// places bounds the calls that run at a time: those of each person, and all of them. Next is the
// first call whose person may run another one.
type places struct {
	most      int
	perPerson func() int // 0, and nil: no bound

	mu      sync.Mutex     // guards the fields below
	running int            // calls
	people  map[string]int // calls that run, by ID of the person
	waiting []*waiter      // in the order in which they came
}

// waiter is a call that waits for a place, or gave up. The next call of its person continues one
// that gave up.
type waiter struct {
	person string
	place  chan struct{} // closed when the call may run
	left   time.Time     // when the call gave up; zero: it waits
}

// acquire waits until a call may run. release ends it.
func (p *places) acquire(ctx context.Context, c *call.Call) (release func(), err error) {
	ctx, cancel := c.WaitContext(ctx)
	defer cancel()
	id := c.Person.ID
	w := p.enter(id)
	select {
	case <-w.place:
	case <-ctx.Done():
		p.mu.Lock()
		defer p.mu.Unlock()
		ahead := slices.Index(p.waiting, w)
		if ahead >= 0 { // else its turn has just come
			c.Ahead = ahead
			w.left = time.Now()
			return nil, context.Cause(ctx)
		}
	}

	return func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.countLocked(id, -1)
		p.serveLocked()
	}, nil
}

// enter puts a call of a person into the queue.
func (p *places) enter(id string) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	defer p.serveLocked()

	for _, w := range p.waiting {
		if w.person == id && time.Since(w.left) < placeMemory {
			w.left = time.Time{}
			return w
		}
	}
	w := &waiter{person: id, place: make(chan struct{})}
	p.waiting = append(p.waiting, w)
	return w
}

// serveLocked gives places to the calls that are next, and forgets those that gave up long ago.
func (p *places) serveLocked() {
	bound := p.most
	if p.perPerson != nil {
		bound = cmp.Or(p.perPerson(), bound)
	}

	p.waiting = slices.DeleteFunc(p.waiting, func(w *waiter) bool {
		if !w.left.IsZero() {
			return time.Since(w.left) >= placeMemory
		}
		canRun := p.running < p.most && p.people[w.person] < bound
		if canRun {
			p.countLocked(w.person, 1)
			close(w.place)
		}
		return canRun
	})
}

// countLocked adds n to the calls of a person that run.
func (p *places) countLocked(id string, n int) {
	p.running += n
	p.people[id] += n
	if p.people[id] == 0 {
		delete(p.people, id)
	}
}

// count returns how many calls run.
func (p *places) count() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.running
}
