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

// Bounds are those of what people take.
type Bounds struct {
	// MaxCalls bounds the calls that run at the same time; others wait. Twice as many requests are
	// accepted at the same time. 0: 256.
	MaxCalls int

	PerPerson func() int // the same for one person; 0, and nil: no bound
}

// Registry counts what people take. A person who has taken nothing has no entry.
type Registry struct {
	Bounds Bounds

	mu     sync.Mutex         // guards the fields below
	people map[string]holding // by ID
	all    holding            // the sum
	queue  queue.Queue        // for slots
	empty  chan struct{}      // of Close, nil before it
}

// holding is what a person has taken, or all people.
type holding struct {
	requests int
	bytes    int // of the requests
	calls    int // that run
}

func (h holding) plus(more holding) holding {
	return holding{h.requests + more.requests, h.bytes + more.bytes, h.calls + more.calls}
}

// New returns a Registry without entries.
func New(b Bounds) *Registry {
	b.MaxCalls = cmp.Or(b.MaxCalls, 256)
	if b.PerPerson == nil {
		b.PerPerson = func() int { return 0 }
	}
	return &Registry{
		Bounds: b,
		people: map[string]holding{},
	}
}

// addLocked adds to what a person has taken, by ID.
func (r *Registry) addLocked(id string, more holding) {
	r.all = r.all.plus(more)
	r.people[id] = r.people[id].plus(more)
	if r.people[id] == (holding{}) {
		delete(r.people, id)
	}
}

// Counts returns how many requests there are, and how many calls run and wait.
func (r *Registry) Counts() (requests, running, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.requests, r.all.calls, r.queue.Len()
}
