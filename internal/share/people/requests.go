package people

import (
	"cmp"
	"fmt"
)

// maxBytes bounds the bytes of all requests at a time. If the calls of a person have a bound, one
// person may have a quarter of maxBytes.
const maxBytes = 64 << 20

// Reasons of a BusyError, for metrics and logs.
const (
	reasonPerson   = "person" // the requests of the person
	reasonServer   = "server" // the requests of all people
	reasonBytes    = "bytes"  // the bytes of the person or of all people
	reasonDraining = "shutting down"
)

// Reasons are the reasons of a BusyError while no drain has begun.
var Reasons = []string{reasonPerson, reasonServer, reasonBytes}

// BusyError is the error of a request that is rejected now and may be sent again later.
type BusyError struct {
	Reason string // one of the constants above
	text   string
}

func (b *BusyError) Error() string {
	return b.text
}

// ErrDraining is the error of requests after BeginDrain.
var ErrDraining = &BusyError{reasonDraining, reasonDraining}

// TakeRequest counts a request of the person with an ID, if the bounds of the person and of all
// people allow it. The error is a *BusyError.
func (r *Registry) TakeRequest(personID string) error {
	return r.take(personID, holding{requests: 1})
}

// TakeBytes counts n bytes of a request that TakeRequest has counted, if the bounds of the person
// and of all people allow these bytes. The error is a *BusyError.
func (r *Registry) TakeBytes(personID string, n int) error {
	return r.take(personID, holding{bytes: n})
}

// take adds to what a person holds, or returns why not: a bound would be exceeded, or a new request
// comes after BeginDrain.
func (r *Registry) take(personID string, more holding) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drained != nil && more.requests > 0 {
		return ErrDraining
	}

	own := r.held[personID].plus(more)
	all := r.all.plus(more)
	// Only what grows is checked. Requests may already be beyond a bound that is new, and bytes
	// beyond any bound, because HoldBytes ignores the bounds.
	if more.requests == 0 {
		own.requests, all.requests = 0, 0
	}
	if more.bytes == 0 {
		own.bytes, all.bytes = 0, 0
	}
	err := cmp.Or(
		checkBounds(own, r.Bounds.MaxCallsPerPerson(), maxBytes/4, reasonPerson, "your calls"),
		checkBounds(all, r.Bounds.MaxCalls, maxBytes, reasonServer, "the calls of all users"))
	if err == nil {
		r.addLocked(personID, more)
	}
	return err
}

// checkBounds returns a *BusyError if h has more than 2*maxCalls requests (maxCalls run, and as
// many wait) or more than byteBound bytes. If maxCalls is 0, nothing is bounded.
func checkBounds(h holding, maxCalls, byteBound int, reason, whose string) error {
	switch {
	case maxCalls == 0:
		return nil
	case h.requests > 2*maxCalls:
		return &BusyError{reason, fmt.Sprintf(
			"too many calls: at most %d of %s run at a time, and as many wait", maxCalls, whose)}
	case h.bytes > byteBound:
		return &BusyError{reasonBytes, fmt.Sprintf(
			"too many bytes: %s have at most %d MiB at a time", whose, byteBound>>20)}
	}
	return nil
}

// EndRequest gives back a request of a person and its bytes, when the request has ended.
func (r *Registry) EndRequest(personID string, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(personID, holding{requests: -1, bytes: -bytes})
	r.closeDrainedLocked()
}

// HoldBytes counts the bytes of a call that goes on without its request, even beyond the bounds,
// until release is called.
func (r *Registry) HoldBytes(personID string, bytes int) (release func()) {
	add := func(n int) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.addLocked(personID, holding{bytes: n})
	}
	add(bytes)
	return func() { add(-bytes) }
}

// BeginDrain makes TakeRequest return ErrDraining. The channel is closed when the requests from
// before have ended.
func (r *Registry) BeginDrain() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.drained == nil {
		r.drained = make(chan struct{})
		r.closeDrainedLocked()
	}
	return r.drained
}

// closeDrainedLocked closes the channel of BeginDrain, if there is one and no requests are left. It
// does so once, as no request is taken any more.
func (r *Registry) closeDrainedLocked() {
	if r.drained != nil && r.all.requests == 0 {
		close(r.drained)
	}
}
