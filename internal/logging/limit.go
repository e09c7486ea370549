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

	occurred sync.Map // *occurrences by key
}

// occurrences are how often an event occurred since its last line, and when that was.
type occurrences struct {
	mu     sync.Mutex
	logged time.Time
	n      int
}

// Count counts an event with a key. It returns how many of the key have occurred since the last
// line about them, or 0 if it is too early for another one.
func (l *Limiter) Count(key any) (n int) {
	v, _ := l.occurred.LoadOrStore(key, &occurrences{})
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
