package llm

import (
	"maps"
	"slices"
	"sync"
	"time"
)

// What a Client remembers between calls, besides the pacers: refusals of the key, parameters that
// the API refuses, and models whose background responses a GET finds. docs/architecture.md has the
// table of all such state.

const (
	refusalsInRow = 3               // of one person, until they count
	probeTime     = 2 * time.Second // for the API to refuse a request after which the next ones go out
	refusalMemory = time.Minute     // without a refusal the refusals of a person are forgotten

	eventsInRow     = 2 // of one person, until the refusal of a parameter without a telling code counts
	parameterMemory = 10 * time.Minute
)

// refusals are those of the key or of its quota. While they count, calls fail with them, and one
// request at a time asks the API again. Those of one person count for that person; for all people
// only where two have them and no request of anyone was accepted in between.
type refusals struct {
	pause time.Duration // after a refusal; 0: refusals never count

	mu     sync.Mutex // guards the fields below
	all    window
	people map[string]*ownRefusals // by ID
}

// window says when requests may ask the API again.
type window struct{ refused, asked time.Time } // the last refusal, and the first request after its pause

// ownRefusals are those of one person.
type ownRefusals struct {
	window
	failure *Error
	row     int // since the last accepted request of the person
	shared  int // since the last accepted request of anyone
}

// add notes a refusal.
func (m *refusals) add(person string, failure *Error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.people[person]
	if r == nil {
		r = &ownRefusals{}
		m.people[person] = r
	}

	r.failure = failure
	r.row++
	r.shared++
	r.refused = time.Now()
	m.all.refused = r.refused
}

// accepted ends the refusals of a person, and what those of others mean for all.
func (m *refusals) accepted(person string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.people, person)
	for _, r := range m.people {
		r.shared = 0
	}
}

// reset forgets all refusals.
func (m *refusals) reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.people)
}

// find returns the failure of a person's call if the API would refuse it; nil: it may ask the API.
func (m *refusals) find(person string) *Error {
	if m.pause == 0 {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.people, func(_ string, r *ownRefusals) bool {
		return time.Since(r.refused) > refusalMemory
	})

	var failure *Error
	var windows []*window
	sharing := 0
	for _, r := range m.people {
		if r.shared >= refusalsInRow {
			sharing++
			failure = r.failure
		}
	}
	if sharing > 1 {
		windows = append(windows, &m.all)
	}
	own := m.people[person]
	if own != nil && own.row >= refusalsInRow {
		windows = append(windows, &own.window)
		failure = own.failure
	}

	if slices.ContainsFunc(windows, m.isClosed) {
		return &Error{
			Kind:    failure.Kind,
			Status:  failure.Status,
			Code:    failure.Code,
			Message: "the API refused the last calls, too",
		}
	}
	for _, w := range windows {
		if w.asked.Before(w.refused) {
			w.asked = time.Now()
		}
	}
	return nil
}

// isClosed reports whether requests would be refused, as far as is known: the last one was a moment
// ago, or one asks the API just now.
func (m *refusals) isClosed(w *window) bool {
	isPaused := time.Since(w.refused) < m.pause
	isAsking := w.asked.After(w.refused) && time.Since(w.asked) < probeTime
	return isPaused || isAsking
}

// parameter is a member of a body, or a member or element of one (reasoning.effort,
// include.ELEMENT), with its value as JSON: the API may take another one. The value of
// safety_identifier is "": it is another one for each person.
type parameter struct{ model, name, value string }

// parameters are those that the API refuses.
type parameters struct {
	mu      sync.Mutex // guards the fields below
	refused map[parameter]*evidence
	found   map[string]time.Time // when a GET last found a background response of a model
}

// evidence is what shows that the API refuses a parameter for every question.
type evidence struct {
	since  time.Time
	proven bool           // by a code, or by GETs that find nothing
	lost   bool           // by the latter: a request with the parameter that is accepted proves nothing
	events map[string]int // refusals without a telling code, by person
}

// holds reports whether a person's requests are sent without the parameter. Without a proof, two
// refusals show it to their person, and two people to all.
func (e *evidence) holds(person string) bool {
	isOfPerson := e.events[person] >= eventsInRow
	return e.proven || isOfPerson || len(e.events) > 1
}

// add notes that the API refused a request of a person because of a parameter, and accepted the
// request without it. It reports whether requests are sent without it from now on.
func (m *parameters) add(p parameter, person string, e evidence) (isNew bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.refused[p]
	if known == nil {
		known = &evidence{
			since:  time.Now(),
			events: map[string]int{},
		}
		m.refused[p] = known
	}

	isNew = !known.holds(person)
	known.proven = known.proven || e.proven
	known.lost = known.lost || e.lost
	known.events[person]++
	return isNew && known.holds(person)
}

// removeFrom removes from a body what the API refuses.
func (m *parameters) removeFrom(b body, model, person string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.refused, func(_ parameter, e *evidence) bool {
		return time.Since(e.since) > parameterMemory
	})
	for p, e := range m.refused {
		if p.model == model && e.holds(person) && b.has(p) {
			b.remove(p.name)
		}
	}
}

// accepted ends the refusals of the parameters of an accepted body.
func (m *parameters) accepted(b body, model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	maps.DeleteFunc(m.refused, func(p parameter, e *evidence) bool {
		return p.model == model && !e.lost && b.has(p)
	})
}

// isFound reports whether a GET has found a background response of a model.
func (m *parameters) isFound(model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	at, ok := m.found[model]
	return ok && time.Since(at) < parameterMemory
}

// setFound notes that a GET has found a background response of a model.
func (m *parameters) setFound(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.found[model] = time.Now()
	maps.DeleteFunc(m.refused, func(p parameter, e *evidence) bool {
		return p.model == model && e.lost
	})
}
