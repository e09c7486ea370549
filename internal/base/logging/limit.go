package logging

import (
	"cmp"
	"sync"
	"time"
)

// Limiter limits the log lines about events that may come in a loop to one line per period and key.
// The zero value is ready for use.
type Limiter struct {
	Period time.Duration // 0: a second

	mu      sync.Mutex
	pending map[any]*pending // by key; an entry exists for a period after each line of the key
}

// pending collects the events of a key for its next line.
type pending struct {
	n   int         // how many events there were since the last line
	log func(n int) // the log function of the last event
}

// Log logs an event: at once if its key had no line in the last period, else in one line with the
// other events of the key, at the end of the period. log writes the line, and gets the number of
// its events. It is called without a lock held.
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

// beginLocked begins the period after a line of a key.
func (l *Limiter) beginLocked(key any) {
	if l.pending == nil {
		l.pending = map[any]*pending{}
	}
	l.pending[key] = &pending{}
	time.AfterFunc(cmp.Or(l.Period, time.Second), func() { l.end(key) })
}

// end ends the period of a key. If there were events, it writes the line about them, and another
// period begins. If not, the key is forgotten.
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

// Flush writes the lines that are pending, and ends all periods. It is called at the end of the
// log.
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
