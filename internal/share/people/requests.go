package people

import (
	"cmp"
	"fmt"
)

const maxBytes = 64 << 20 // of all requests at a time; a quarter of one person, if people have a bound

// Busy is why a request is refused that may be sent again later.
type Busy struct {
	Reason string // for metrics and logs
	text   string
}

func (b *Busy) Error() string {
	return b.text
}

// ErrClosed refuses requests after Close.
var ErrClosed = &Busy{"shutting down", "shutting down"}

// TakeRequest adds a request to those of a person, by ID, if the limits of the person and of all
// people allow it. The error is a *Busy.
func (r *Registry) TakeRequest(id string) error {
	return r.take(id, holding{requests: 1})
}

// TakeBytes is TakeRequest for bytes of a request.
func (r *Registry) TakeBytes(id string, n int) error {
	return r.take(id, holding{bytes: n})
}

func (r *Registry) take(id string, more holding) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.empty != nil && more.requests > 0 {
		return ErrClosed
	}

	err := cmp.Or(
		check(r.people[id].plus(more), r.Bounds.PerPerson(), maxBytes/4, "person", "your calls"),
		check(r.all.plus(more), r.Bounds.MaxCalls, maxBytes, "server", "the calls of all users"))
	if err == nil {
		r.addLocked(id, more)
	}
	return err
}

// check returns an error if the requests are more than mostCalls that run and as many that wait, or
// the bytes more than mostBytes. The error names whose limit that is. Without mostCalls there is no
// limit.
func check(h holding, mostCalls, mostBytes int, reason, whose string) error {
	switch {
	case mostCalls == 0:
		return nil
	case h.requests > 2*mostCalls:
		return &Busy{reason, fmt.Sprintf(
			"too many calls: at most %d of %s run at a time, and as many wait", mostCalls, whose)}
	case h.bytes > mostBytes:
		return &Busy{"bytes", fmt.Sprintf(
			"too many bytes: %s have at most %d MiB at a time", whose, mostBytes>>20)}
	}
	return nil
}

// Return gives back a request of a person, and its bytes.
func (r *Registry) Return(id string, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(id, holding{requests: -1, bytes: -bytes})
	r.emptyLocked()
}

// Close lets in no further request. The channel is closed when those before it have ended.
func (r *Registry) Close() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.empty = make(chan struct{})
	r.emptyLocked()
	return r.empty
}

func (r *Registry) emptyLocked() {
	if r.empty != nil && r.all.requests == 0 {
		close(r.empty)
	}
}
