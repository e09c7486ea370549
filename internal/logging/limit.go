package logging

import (
	"cmp"
	"sync"
	"time"
)

// Limiter bounds the lines about events that may come in a loop: one in a period for each kind of
// them. Its zero value is ready for use.
type Limiter struct {
	Period time.Duration // 0: a second

	kinds sync.Map // *occurrences by kind
}

// occurrences are how often an event occurred since its last line, and when that was.
type occurrences struct {
	mu     sync.Mutex
	logged time.Time
	n      int
}

// Count counts an event of a kind, which is a key of a map. It returns how many have occurred since
// the last line about them, or 0 if it is too early for another one.
func (l *Limiter) Count(kind any) (n int) {
	v, _ := l.kinds.LoadOrStore(kind, &occurrences{})
	o := v.(*occurrences)
	o.mu.Lock()
	defer o.mu.Unlock()

	o.n++
	if time.Since(o.logged) >= cmp.Or(l.Period, time.Second) {
		o.logged = time.Now()
		n, o.n = o.n, 0
	}
	return n
}
