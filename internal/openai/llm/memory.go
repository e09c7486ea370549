package llm

import (
	"cmp"
	"maps"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

const (
	inARow = 3 // refusals of the key that count

	// probeTime is how long a request that asks the API again has to be refused. After it, the next
	// ones go out, too: some responses have their header at their end.
	probeTime = 2 * time.Second

	refusalMemory   = time.Minute // after which the refusals of a person are forgotten
	parameterMemory = 10 * time.Minute
)

// memory is what a Client remembers between calls, besides its pacers. docs/architecture.md has a
// table of all that the program remembers.
type memory struct {
	pause time.Duration // after a refusal of the key; 0: the API is always asked

	mu         sync.Mutex          // guards the fields below
	people     map[string]*refusal // those whose key or quota was refused, by ID
	parameters map[parameter]evidence

	// found is when a GET last found a background response of a model: a server where none did may
	// have no GET.
	found map[string]time.Time
}

// refusal is that of a person's key, or of its quota. While it counts, the person's calls fail with
// it. It counts after several in a row, and those of two people count for all.
type refusal struct {
	failure *call.Error
	row     int       // refusals since the API last accepted a request of the person
	shared  int       // refusals of the person since it last accepted one of any person
	next    time.Time // when a request may ask the API again
	asking  bool      // a request asks it
}

// refused notes a refusal of the key.
func (m *memory) refused(person string, failure *call.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.people[person]
	if r == nil {
		r = &refusal{}
		m.people[person] = r
	}
	r.failure = failure
	r.row++
	r.shared++

	for _, each := range append(m.countingLocked(person), r) {
		each.next = time.Now().Add(m.pause)
		each.asking = false
	}
}

// setKey forgets the refusals of another key.
func (m *memory) setKey() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.people)
}

// countingLocked returns the refusals that count for a person.
func (m *memory) countingLocked(person string) []*refusal {
	var counting []*refusal
	for _, r := range m.people {
		if r.shared >= inARow {
			counting = append(counting, r)
		}
	}
	if len(counting) == 1 {
		counting = nil
	}

	own := m.people[person]
	if own != nil && own.row >= inARow {
		counting = append(counting, own)
	}
	return counting
}

// refusal returns the error of a person's call without asking the API; nil: the call may ask it.
func (m *memory) refusal(person string) *call.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.people, func(_ string, r *refusal) bool {
		return time.Since(r.next) > refusalMemory
	})

	counting := m.countingLocked(person)
	for _, r := range counting {
		if m.pause > 0 && time.Now().Before(r.next) {
			failure := *r.failure
			failure.Attempts = 0
			return &failure
		}
	}
	for _, r := range counting {
		if !r.asking {
			r.asking = true
			r.next = time.Now().Add(probeTime)
		}
	}
	return nil
}

// parameter is a member of a body, or a member or element of one (reasoning.effort,
// include.ELEMENT), that the API refuses: with its value, because it may take another one, and for a
// person, unless the error shows that it is not about the question.
type parameter struct{ model, name, value, person string }

// anyValue is that of a parameter that the API does not know, and of safety_identifier, which has
// another one for each person.
const anyValue = ""

// everyone is no ID of a person.
const everyone = "*"

// evidence is how often the API refused a parameter since it last accepted it.
type evidence struct {
	since time.Time
	n     int
}

// accepted notes that the API accepts a request of a person, and that it had refused the parameters
// that were removed from it. Only now do these mean something for other calls: the API might have
// refused the request without them, too.
func (m *memory) accepted(person, model string, b body, removed []parameter) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.people, person)
	for _, r := range m.people {
		r.shared = 0
	}

	maps.DeleteFunc(m.parameters, func(p parameter, _ evidence) bool {
		return p.model == model && b.has(p)
	})
	for _, p := range removed {
		e := m.parameters[p]
		e.since = cmp.Or(e.since, time.Now())
		e.n++
		m.parameters[p] = e
	}
}

// removeFrom removes from a person's body what the API refuses: after one refusal if it is everyone's,
// else after two.
func (m *memory) removeFrom(b body, model, person string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, e := range m.parameters {
		counts := p.person == everyone || p.person == person && e.n > 1
		switch {
		case time.Since(e.since) > parameterMemory:
			delete(m.parameters, p)
		case counts && p.model == model && b.has(p):
			b.remove(p.name)
		}
	}
}

// setFound notes that a GET has found a background response of a model.
func (m *memory) setFound(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found[model] = time.Now()
	delete(m.parameters, parameter{model, "background", "true", everyone})
}

// hasFound reports whether a GET has found a background response of a model.
func (m *memory) hasFound(model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return time.Since(m.found[model]) < parameterMemory
}
