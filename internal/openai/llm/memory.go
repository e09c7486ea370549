package llm

import (
	"cmp"
	"strings"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/expire"
)

const (
	minRefusals = 3 // fewer refusals of the key in a row do not count (see refusal)

	// probeGrace is how long other calls fail while a probe asks the API. After probeGrace they
	// ask, too: a probe may take minutes, and only its end tells that the API accepts the key.
	probeGrace = 2 * time.Second

	refusalTTL   = time.Minute      // how long a refusal is remembered after its nextProbe
	parameterTTL = 10 * time.Minute // how long a refused parameter or found response is remembered
)

// memory is what a Client remembers between calls, besides its pacers. docs/architecture.md lists
// all that the program remembers (What outlives a call).
type memory struct {
	refusalPause time.Duration // how long calls fail after a refusal of the key; 0: they never do

	mu            sync.Mutex                   // guards the fields below
	refusals      expire.Map[string, *refusal] // of the key or its quota, by the ID of the person
	refusedParams expire.Map[refusedParam, evidence]

	// lastFound is when a GET last found a background response, by model. Without an entry (nil),
	// the server may have no GET /responses/{id}.
	lastFound expire.Map[string, *time.Time]
}

// newMemory returns a memory without entries.
func newMemory(refusalPause time.Duration) *memory {
	m := &memory{refusalPause: refusalPause}
	m.refusals.Expired = func(r *refusal) bool { return time.Since(r.nextProbe) > refusalTTL }
	m.refusedParams.Expired = func(e evidence) bool { return time.Since(e.since) > parameterTTL }
	m.lastFound.Expired = func(last *time.Time) bool { return time.Since(*last) >= parameterTTL }
	return m
}

// refusal is what is remembered for a person after the API has refused the key or its quota. While
// refusals count for a person, the person's calls fail with the last failure until nextProbe:
//
//	alice is refused minRefusals times in a row   her refusals count for alice (count)
//	so is bob, with no request accepted between   the refusals of both count for all people
//	                                              (sinceAnyAccepted)
//	the API accepts a request of alice            hers are forgotten; bob's count for bob alone
type refusal struct {
	failure          *call.APIError // the last one
	count            int            // refusals since the API last accepted a request of the person
	sinceAnyAccepted int            // refusals since the API last accepted a request of anyone
	nextProbe        time.Time      // when a call may ask the API again
	probing          bool           // a probe has begun since the last refusal
}

// noteRefusal records a refusal of the key for a person. Another pause of calls begins for all
// refusals that count for the person, and for the person's own, even if they do not count yet.
func (m *memory) noteRefusal(personID string, failure *call.APIError) {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := m.refusals.Get(personID)
	if r == nil {
		r = &refusal{nextProbe: time.Now()} // with a zero time the entry would be expired below
		m.refusals.Set(personID, r)
	}
	r.failure = failure
	r.count++
	r.sinceAnyAccepted++

	for _, each := range append(m.effectiveRefusalsLocked(personID), r) {
		each.nextProbe = time.Now().Add(m.refusalPause)
		each.probing = false
	}
}

// noteKeyAccepted records that the API has answered a request of a person with a 2xx that has no
// refusal in it.
func (m *memory) noteKeyAccepted(personID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusals.Delete(personID)
	for _, r := range m.refusals.Live() {
		r.sinceAnyAccepted = 0
	}
}

// forgetRefusals forgets all refusals, because they were of an earlier key.
func (m *memory) forgetRefusals() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.refusals.Clear()
}

// effectiveRefusalsLocked returns the refusals that count for a person (see refusal): the person's
// own from minRefusals on, and those of all people with minRefusals, if these are two or more.
func (m *memory) effectiveRefusalsLocked(personID string) []*refusal {
	var ofAll []*refusal
	for _, r := range m.refusals.Live() {
		if r.sinceAnyAccepted >= minRefusals {
			ofAll = append(ofAll, r)
		}
	}
	if len(ofAll) == 1 { // of one person: they count for that person only
		ofAll = nil
	}

	ofPerson := m.refusals.Get(personID)
	if ofPerson != nil && ofPerson.count >= minRefusals {
		return append(ofAll, ofPerson)
	}
	return ofAll
}

// refusalFor returns the remembered error with which a person's call fails, or nil if the call may
// ask the API. A call that may ask although refusals count becomes a probe: other calls fail for
// probeGrace, unless the API accepts the probe before.
func (m *memory) refusalFor(personID string) *call.APIError {
	m.mu.Lock()
	defer m.mu.Unlock()
	effective := m.effectiveRefusalsLocked(personID)
	for _, r := range effective {
		if m.refusalPause > 0 && time.Now().Before(r.nextProbe) {
			failure := *r.failure
			failure.Attempts = 0
			return &failure
		}
	}
	for _, r := range effective {
		if !r.probing {
			r.probing = true
			r.nextProbe = time.Now().Add(probeGrace)
		}
	}
	return nil
}

// refusedParam is a parameter that the API refuses in requests to a model.
type refusedParam struct {
	model string
	name  string // may be that of a member or an element (reasoning.effort, include.ELEMENT)
	value string // the refused value, as the API may accept another one, or anyValue

	// personID is the person whose request was refused: the question may be the reason. If the
	// error shows that the question is not the reason, personID is everyone.
	personID string
}

// anyValue stands for all values: of a parameter that the API does not know, and of
// safety_identifier, which differs for each person.
const anyValue = ""

// everyone stands for all people. No ID of a person is equal to it.
const everyone = "*"

// evidence counts the refusals of a parameter since the API last accepted the parameter.
type evidence struct {
	since time.Time // when the first refusal came
	count int
}

// noteParametersAccepted records that the API accepts the parameters of a request, and has refused
// the removed ones. A refusal is recorded only after a request without the parameter is accepted:
// otherwise the parameter may not have been the reason.
func (m *memory) noteParametersAccepted(request params, removed []refusedParam) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for p := range m.refusedParams.Live() {
		if request.has(p) {
			m.refusedParams.Delete(p)
		}
	}
	for _, p := range removed {
		e := m.refusedParams.Get(p)
		e.since = cmp.Or(e.since, time.Now())
		e.count++
		m.refusedParams.Set(p, e)
	}
}

// stripRefused removes from a person's request the parameters that the API refuses. One refusal for
// everyone is enough; of refusals for the person two are needed. Members and elements are removed
// first: the API may also refuse the object or list that is left without them.
func (m *memory) stripRefused(request params, personID string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, nested := range []bool{true, false} {
		for p, e := range m.refusedParams.Live() {
			counts := p.personID == everyone || p.personID == personID && e.count > 1
			if counts && nested == strings.Contains(p.name, ".") && request.has(p) {
				request.remove(p.name)
			}
		}
	}
}

// noteFound records that a GET has found a background response of a model. The model runs in the
// background. So noteFound forgets a refusal of background: true for everyone, which came after a
// lost response (prepareRepeat) or with a code such as unsupported_parameter.
func (m *memory) noteFound(model string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lastFound.Set(model, new(time.Now()))
	m.refusedParams.Delete(refusedParam{model, "background", "true", everyone})
}

// findsResponses reports whether a GET has found a background response of a model.
func (m *memory) findsResponses(model string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lastFound.Get(model) != nil
}
