package server

import (
	"context"
	"sync"
)

// places bounds the calls that run at a time: those of each person, and all of them. A call takes a
// place of its person before one of all: calls that wait for others of their person keep no place
// from other people.
type places struct {
	all       chan struct{} // holds a value for each running call
	perPerson func() int    // 0: no bound

	mu     sync.Mutex         // guards people
	people map[string]*person // by ID; only those who have a call
}

// person is someone who has calls. The bound is that of the time of the first of them.
type person struct {
	calls   int           // that run or wait
	running chan struct{} // holds a value for each running call
}

// acquire waits until a call of the person may run. release ends the call.
func (p *places) acquire(ctx context.Context, id string) (release func(), err error) {
	own := p.enter(id)
	defer func() {
		if err != nil {
			p.leave(id)
		}
	}()

	if err := take(ctx, own); err != nil {
		return nil, err
	}
	if err := take(ctx, p.all); err != nil {
		<-own
		return nil, err
	}

	return func() {
		<-p.all
		<-own
		p.leave(id)
	}, nil
}

// take takes one of the places, or returns why ctx ended before one was free.
func take(ctx context.Context, places chan struct{}) error {
	select {
	case places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// enter counts a call of the person and returns the places for the person's calls.
func (p *places) enter(id string) chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()

	own := p.people[id]
	if own == nil {
		bound := cap(p.all)
		if n := p.perPerson(); n > 0 {
			bound = min(n, bound)
		}
		own = &person{running: make(chan struct{}, bound)}
		p.people[id] = own
	}
	own.calls++
	return own.running
}

// leave ends what enter began.
func (p *places) leave(id string) {
	p.mu.Lock()
	defer p.mu.Unlock()

	own := p.people[id]
	own.calls--
	if own.calls == 0 {
		delete(p.people, id)
	}
}
