package logging

import (
	"cmp"
	"sync"
	"time"
)

// Limiter bounds the lines about events that may come in a loop: one in a period for each key of
// an event. Its zero value is ready for use.
type Limiter struct {
	Period time.Duration // 0: a second

	mu      sync.Mutex
	pending map[any]*pending // by key, for a period after each line
}

// pending is what the next line of a key is about.
type pending struct {
	n   int         // events since the last line
	log func(n int) // of the last of them
}

// Log logs an event of a key at once, or as one of several when the period after the last line of
// the key ends. log gets the number of events; it is called without a lock.
func (l *Limiter) Log(key any, log func(n int)) {
	l.mu.Lock()
	next := l.pending[key]
	if next != nil {
		next.n++
		next.log = log
		l.mu.Unlock()
		return
	}

	l.beginLocked(key)
	l.mu.Unlock()
	log(1)
}

// beginLocked begins the period after a line.
func (l *Limiter) beginLocked(key any) {
	if l.pending == nil {
		l.pending = map[any]*pending{}
	}
	l.pending[key] = &pending{}
	time.AfterFunc(cmp.Or(l.Period, time.Second), func() { l.end(key) })
}

// end ends the period of a key, with the line about its events. Without any the key is forgotten.
func (l *Limiter) end(key any) {
	l.mu.Lock()
	next := l.pending[key]
	delete(l.pending, key)
	due := next != nil && next.n > 0 // nil after Flush
	if due {
		l.beginLocked(key)
	}
	l.mu.Unlock()
	if due {
		next.log(next.n)
	}
}

// Flush ends all periods, for the end of the log.
func (l *Limiter) Flush() {
	l.mu.Lock()
	all := l.pending
	l.pending = nil
	l.mu.Unlock()
	for _, next := range all {
		if next.n > 0 {
			next.log(next.n)
		}
	}
}
