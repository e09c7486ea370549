package llm

import (
	"cmp"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/expire"
)

const (
	inARow = 3 // refusals of the key that count

	// probeTime is how long a request that asks the API again has to be refused. Later requests go
	// out then, too: some HTTP responses have their header at their end.
	probeTime = 2 * time.Second

	refusalMemory   = time.Minute // after which the refusals of a person are forgotten
	parameterMemory = 10 * time.Minute
)

// memory is what a Client remembers between calls, besides its pacers. docs/architecture.md has a
// table of all that the program remembers.
type memory struct {
	pause time.Duration // after a refusal of the key; 0: the API is always asked

	mu         sync.Mutex                   // guards the fields below
	people     expire.Map[string, *refusal] // those whose key or quota was refused, by ID
	parameters expire.Map[refusedParam, evidence]

	// found is when a GET last found a background response of a model. A server without one may
	// have no GET. nil is no entry.
	found expire.Map[string, *time.Time]
}

// newMemory returns a memory without entries.
func newMemory(pause time.Duration) *memory {
	m := &memory{pause: pause}
	m.people.Ended = func(r *refusal) bool { return time.Since(r.next) > refusalMemory }
	m.parameters.Ended = func(e evidence) bool { return time.Since(e.since) > parameterMemory }
	m.found.Ended = func(last *time.Time) bool { return time.Since(*last) >= parameterMemory }
	return m
}

// refusal is the refusal of a person's key, or of its quota. While a refusal counts, calls fail
// with it. Several in a row of a person count for the person, and several of two people for all.
type refusal struct {
	failure *call.Error
	row     int       // refusals since the API last accepted a request of the person
	shared  int       // refusals of the person since the API last accepted a request of anyone
	next    time.Time // when a request may ask the API again
	asking  bool      // a request asks the API
}

// noteRefusal notes a refusal of the key.
func (m *memory) noteRefusal(person string, failure *call.Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.people.Get(person)
	if r == nil {
		r = &refusal{next: time.Now()}
		m.people.Set(person, r)
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
	m.people.Clear()
}

// countingLocked returns the refusals that count for a person.
func (m *memory) countingLocked(person string) []*refusal {
	var counting []*refusal
	for _, r := range m.people.All() {
		if r.shared >= inARow {
			counting = append(counting, r)
		}
	}
	if len(counting) == 1 {
		counting = nil
	}

	own := m.people.Get(person)
	if own != nil && own.row >= inARow {
		counting = append(counting, own)
	}
	return counting
}

// mayAsk returns nil if a person's call may ask the API, else the error with which the call fails.
// A call that asks while refusals count is a probe: until it has ended, or for probeTime, others
// fail.
func (m *memory) mayAsk(person string) *call.Error {
	m.mu.Lock()
	defer m.mu.Unlock()
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

// refusedParam is a parameter, or a member or element of one (reasoning.effort, include.ELEMENT),
// that the API refuses: with its value, because the API may take another value, and for a person,
// unless the error shows that the question does not matter.
type refusedParam struct{ model, name, value, person string }

// anyValue is the value of a parameter that the API does not know, and of safety_identifier, which
// differs for each person.
const anyValue = ""

// everyone is no ID of a person.
const everyone = "*"

// evidence is how often the API refused a parameter since it last accepted it.
type evidence struct {
	since time.Time
	n     int
}

// accepted notes that the API accepts a request of a person, and that the API refused the
// parameters that were removed. Only now do the refusals mean something for other calls: the API
// might have refused the request without these parameters, too.
func (m *memory) accepted(person, model string, request params, removed []refusedParam) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.people.Delete(person)
	for _, r := range m.people.All() {
		r.shared = 0
	}

	for p := range m.parameters.All() {
		if p.model == model && request.has(p) {
			m.parameters.Delete(p)
		}
	}
	for _, p := range removed {
		e := m.parameters.Get(p)
		e.since = cmp.Or(e.since, time.Now())
		e.n++
		m.parameters.Set(p, e)
	}
}

// removeFrom removes from a person's parameters what the API refuses: after one refusal that is
// everyone's, else after two.
func (m *memory) removeFrom(request params, model, person string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p, e := range m.parameters.All() {
		counts := p.person == everyone || p.person == person && e.n > 1
		if counts && p.model == model && request.has(p) {
			request.remove(p.name)
		}
	}
}

// setFound notes that a GET has found a background response of a model.
func (m *memory) setFound(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found.Set(model, new(time.Now()))
	m.parameters.Delete(refusedParam{model, "background", "true", everyone})
}

// hasGET reports whether a GET has found a background response of a model.
func (m *memory) hasGET(model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.found.Get(model) != nil
}
