package server

import (
	"cmp"
	"context"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
)

// places bounds the calls that run at a time: those of each person, and all of them. A call takes a
// place of its person before one of all, so that a call that waits for others of its person takes
// none of the places of all.
type places struct {
	all       chan struct{} // holds a value for each running call
	perPerson func() int    // 0, and nil: no bound

	mu     sync.Mutex         // guards people
	people map[string]*person // by ID; only those who have a call
}

// person counts the calls of one person. Its bound is the one in force when the first of them came.
type person struct {
	calls   int           // that run or wait
	running chan struct{} // holds a value for each call that runs, or waits for a place of all
}

// acquire waits until a call may run. release ends it.
func (p *places) acquire(ctx context.Context, call *llm.Call) (release func(), err error) {
	ctx, cancel := call.WaitContext(ctx)
	defer cancel()
	id := call.Person.ID
	var taken []chan struct{}
	release = func() {
		for _, running := range taken {
			<-running
		}
		p.count(id, -1)
	}

	for _, running := range []chan struct{}{p.count(id, 1), p.all} {
		select {
		case running <- struct{}{}:
			taken = append(taken, running)
		case <-ctx.Done():
			release()
			return nil, context.Cause(ctx)
		}
	}
	return release, nil
}

// count adds n to the calls of a person, and returns the places for those that run.
func (p *places) count(id string, n int) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()

	own := p.people[id]
	if own == nil {
		bound := cap(p.all)
		if p.perPerson != nil {
			bound = cmp.Or(p.perPerson(), bound)
		}
		own = &person{running: make(chan struct{}, bound)}
		p.people[id] = own
	}

	own.calls += n
	if own.calls == 0 {
		delete(p.people, id)
	}
	return own.running
}
