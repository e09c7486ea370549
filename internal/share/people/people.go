// Package people has one entry for each person who uses the server: what each person uses, and
// what bounds that.
//
//	people.go   Registry: the entries and their end
//	requests.go requests and their bytes
//	slots.go    the calls that run at a time
package people

import (
	"cmp"
	"maps"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
)

// Limits bound what people take.
type Limits struct {
	// MaxCalls bounds the calls that run at the same time; others wait. Twice as many requests are
	// accepted at the same time. 0: 256.
	MaxCalls int

	PerPerson func() int     // the same for one person; 0, and nil: no bound
	Budget    *budget.Budget // what one person may start; nil: anything
}

// Registry has the entries of people. all is the sum of their requests, bytes and calls.
type Registry struct {
	Limits Limits

	mu     sync.Mutex        // guards the fields below, and what they point to
	people map[string]*entry // by ID; a person without an entry has taken nothing
	all    entry
	queue  []*waiter     // for slots, in the order in which the calls came
	empty  chan struct{} // of Close, nil before it
}

// entry is what a person has taken.
type entry struct {
	requests int
	bytes    int // of the requests
	queued   int // calls in the queue
	calls    int // that run
}

// New returns a Registry without entries.
func New(l Limits) *Registry {
	l.MaxCalls = cmp.Or(l.MaxCalls, 256)
	l.Budget = cmp.Or(l.Budget, budget.New(budget.Options{}))
	if l.PerPerson == nil {
		l.PerPerson = func() int { return 0 }
	}
	return &Registry{
		Limits: l,
		people: map[string]*entry{},
	}
}

// entryLocked returns the entry of a person, by ID. Before it makes one, it forgets the entries of
// people who have given back everything.
func (r *Registry) entryLocked(id string) *entry {
	e := r.people[id]
	if e == nil {
		maps.DeleteFunc(r.people, func(_ string, old *entry) bool {
			return old.requests+old.queued+old.calls == 0
		})
		e = &entry{}
		r.people[id] = e
	}
	return e
}

// addLocked adds what a person takes, or gives back.
func (r *Registry) addLocked(e *entry, requests, bytes, calls int) {
	for _, sum := range []*entry{e, &r.all} {
		sum.requests += requests
		sum.bytes += bytes
		sum.calls += calls
	}
}

// Counts returns how many requests there are, and how many calls run and wait.
func (r *Registry) Counts() (requests, running, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, w := range r.queue {
		if w.left.IsZero() {
			waiting++
		}
	}
	return r.all.requests, r.all.calls, waiting
}
