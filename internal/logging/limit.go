package logging

import (
	"maps"
	"sync"
	"time"
)

// forgetTime is how long a Limiter remembers a kind of event that does not occur.
const forgetTime = time.Minute

// Limiter bounds the lines about events that may come in a loop: one a second for each kind of them.
// Its zero value is ready for use.
type Limiter struct {
	mu    sync.Mutex // guards kinds
	kinds map[any]occurrences
}

// occurrences are how often an event occurred since its last line, and when that was.
type occurrences struct {
	logged time.Time
	n      int
}

// Count counts an event of a kind, which is a key of a map. It returns how many have occurred since
// the last line about them, or 0 if it is too early for another one.
func (l *Limiter) Count(kind any) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.kinds, func(_ any, o occurrences) bool {
		return time.Since(o.logged) > forgetTime
	})
	if l.kinds == nil {
		l.kinds = map[any]occurrences{}
	}

	o := l.kinds[kind]
	o.n++
	if time.Since(o.logged) < time.Second {
		l.kinds[kind] = o
		return 0
	}
	l.kinds[kind] = occurrences{logged: time.Now()}
	return o.n
}
