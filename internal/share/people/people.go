// Package people counts the requests, bytes and running calls of each person and of all people, and
// bounds them.
//
//	people.go   Registry: what people hold
//	requests.go requests and their bytes
//	slots.go    the calls that run at a time
package people

import (
	"cmp"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/internal/share/queue"
)

// Bounds are the bounds of a Registry.
type Bounds struct {
	// MaxCalls bounds the calls that run at the same time; further calls wait. Twice as many
	// requests are accepted at the same time. 0 is 256.
	MaxCalls int

	// MaxCallsPerPerson returns how many calls one person may run at a time. 0, or a nil function,
	// is no bound. The number may change. The Registry holds its lock while the function runs.
	MaxCallsPerPerson func() int
}

// Registry counts what people hold. A person who holds nothing has no entry.
type Registry struct {
	Bounds Bounds

	mu      sync.Mutex         // guards the fields below
	held    map[string]holding // by ID of the person
	all     holding            // the sum of held
	queue   queue.Queue        // calls that wait for a slot
	drained chan struct{}      // made by BeginDrain, and closed when no requests are left
}

// holding is what a person holds, or all people together.
type holding struct {
	requests int
	bytes    int // of bodies, with what decoding takes; also those of detached calls
	calls    int // that run, each in a slot
}

func (h holding) plus(more holding) holding {
	return holding{h.requests + more.requests, h.bytes + more.bytes, h.calls + more.calls}
}

// New returns a Registry without entries.
func New(b Bounds) *Registry {
	b.MaxCalls = cmp.Or(b.MaxCalls, 256)
	if b.MaxCallsPerPerson == nil {
		b.MaxCallsPerPerson = func() int { return 0 }
	}
	return &Registry{
		Bounds: b,
		held:   map[string]holding{},
	}
}

// addLocked adds to what the person with an ID holds.
func (r *Registry) addLocked(personID string, more holding) {
	r.all = r.all.plus(more)
	r.held[personID] = r.held[personID].plus(more)
	if r.held[personID] == (holding{}) {
		delete(r.held, personID)
	}
}

// Counts returns how many requests there are, and how many calls run and wait.
func (r *Registry) Counts() (requests, running, waiting int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.all.requests, r.all.calls, r.queue.Len()
}
