// Package people counts what each person who uses the server takes, and bounds that.
//
//	people.go   Registry: what people have taken
//	requests.go requests and their bytes
//	slots.go    the calls that run at a time
package people

import (
	"cmp"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/share/queue"
)

// Limits bound what people take.
type Limits struct {
	// MaxCalls bounds the calls that run at the same time; others wait. Twice as many requests are
	// accepted at the same time. 0: 256.
	MaxCalls int

	PerPerson func() int // the same for one person; 0, and nil: no bound
}

// Registry counts what people take. A person who has taken nothing has no entry.
type Registry struct {
	Limits Limits

	mu     sync.Mutex       // guards the fields below
	people map[string]usage // by ID
	all    usage            // the sum
	queue  queue.Queue      // for slots
	empty  chan struct{}    // of Close, nil before it
}

// usage is what a person has taken, or all people.
type usage struct {
	requests int
	bytes    int // of the requests
	calls    int // that run
}

func (u usage) plus(more usage) usage {
	return usage{u.requests + more.requests, u.bytes + more.bytes, u.calls + more.calls}
}

// New returns a Registry without entries.
func New(l Limits) *Registry {
	l.MaxCalls = cmp.Or(l.MaxCalls, 256)
	if l.PerPerson == nil {
		l.PerPerson = func() int { return 0 }
	}
	return &Registry{
		Limits: l,
		people: map[string]usage{},
	}
}

// addLocked adds to what a person has taken, by ID.
func (r *Registry) addLocked(id string, more usage) {
	r.all = r.all.plus(more)
	r.people[id] = r.people[id].plus(more)
	if r.people[id] == (usage{}) {
		delete(r.people, id)
	}
}

// Counts returns how many requests there are, and how many calls run and wait.
func (r *Registry) Counts() (requests, running, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.requests, r.all.calls, r.queue.Len()
}
