package stdio

import (
	"slices"
	"sync"
)

const (
	// maxWaiting is how much may wait for a client that does not read, in bytes.
	maxWaiting = 16 << 20
	// maxCalls is how many requests may be without an answer. Each may bring one of
	// any size, whatever waits by then.
	maxCalls = 256
	// maxAsked is how much they may have asked, in bytes. What is decoded, sent and
	// kept of it is several times as much.
	maxAsked = 16 << 20
	// besides is about what a message takes besides its text, in bytes.
	besides = 256
)

// A parcel is a message that waits to be written.
type parcel struct {
	msg      []byte // framed
	call     int64  // the number of the call that it belongs to; 0: none
	progress bool   // it is no answer
}

func (p parcel) size() int { return len(p.msg) + besides }

// outbox holds what waits for its turn to be written, in order. Whoever puts a
// message in does not wait: a client that reads slowly holds up no call, and
// hears of each as soon as it reads again.
type outbox struct {
	wake chan struct{} // holds one: there is something to look at

	mu     sync.Mutex
	queue  []parcel
	size   int  // bytes in queue, and of the message being written
	closed bool // nothing more comes
}

func newOutbox() *outbox { return &outbox{wake: make(chan struct{}, 1)} }

// put adds a message. The progress of a call takes the place of an older one
// that waits, of which nobody wants to know any more.
func (o *outbox) put(p parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size += p.size()
	if p.progress {
		if i := slices.IndexFunc(o.queue, func(q parcel) bool { return q.progress && q.call == p.call }); i >= 0 {
			o.size -= o.queue[i].size()
			o.queue[i] = p
			return
		}
	}
	o.queue = append(o.queue, p)
	o.rouse()
}

// close says that nothing more comes.
func (o *outbox) close() {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed = true
	o.rouse()
}

func (o *outbox) rouse() {
	select {
	case o.wake <- struct{}{}:
	default: // it is awake
	}
}

// next takes the first message; more says whether one may still come when
// there is none.
func (o *outbox) next() (p parcel, ok, more bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.queue) == 0 {
		o.queue = nil
		return p, false, !o.closed
	}
	p = o.queue[0]
	o.queue[0] = parcel{}
	o.queue = o.queue[1:]
	return p, true, true
}

// done says that what next returned is written, or was let go.
func (o *outbox) done(p parcel) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.size -= p.size()
}

// waiting is how many bytes wait.
func (o *outbox) waiting() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.size
}
