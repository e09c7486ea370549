package people

import (
	"cmp"
	"fmt"
)

const maxBytes = 64 << 20 // of all requests at a time; of one person a quarter

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

// Take adds requests and bytes to those of a person, by ID, if the limits of the person and of all
// people allow it. The error is a *Busy.
func (r *Registry) Take(id string, requests, bytes int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.empty != nil && requests > 0 {
		return ErrClosed
	}

	e := r.entryLocked(id)
	err := cmp.Or(
		check(e.requests+requests, e.bytes+bytes,
			r.Limits.PerPerson(), maxBytes/4, "person", "your calls"),
		check(r.all.requests+requests, r.all.bytes+bytes,
			r.Limits.MaxCalls, maxBytes, "server", "the calls of all users"))
	if err == nil {
		r.addLocked(e, requests, bytes, 0)
	}
	return err
}

// check returns an error if requests are more than maxCalls that run and as many that wait, or
// bytes more than maxBytes. It names whose limit that is. Without maxCalls there is no limit.
func check(requests, bytes, maxCalls, maxBytes int, reason, whose string) error {
	switch {
	case maxCalls == 0:
		return nil
	case requests > 2*maxCalls:
		return &Busy{reason, fmt.Sprintf(
			"too many calls: at most %d of %s run at a time, and as many wait", maxCalls, whose)}
	case bytes > maxBytes:
		return &Busy{"bytes", fmt.Sprintf(
			"too many bytes: %s have at most %d MiB at a time", whose, maxBytes>>20)}
	}
	return nil
}

// Return gives back what a person has taken.
func (r *Registry) Return(id string, requests, bytes int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.addLocked(r.people[id], -requests, -bytes, 0)
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
