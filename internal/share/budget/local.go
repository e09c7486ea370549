package budget

import (
	"maps"
	"sync"
	"time"
)

// local has the buckets of this process. It follows the rules of take.lua.
type local struct {
	clock func() time.Time

	mu   sync.Mutex       // guards full
	full map[string]int64 // when a bucket is full, by its key; one that is not there is full
}

// newLocal returns a local whose buckets are full.
func newLocal(clock func() time.Time) *local {
	return &local{
		clock: clock,
		full:  map[string]int64{},
	}
}

// take takes from buckets. The results are those of take.lua.
func (l *local) take(buckets []bucket) (refused int, wait int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock().UnixMicro() // while it is locked: a call must not see a bucket of the future
	maps.DeleteFunc(l.full, func(_ string, full int64) bool { return full <= now })

	missing := make([]int64, len(buckets))
	for i, b := range buckets {
		missing[i] = min(max(l.full[b.key]-now, 0), 2*b.period)
		over := missing[i] + b.need - b.period // the time until what is needed has refilled
		if over > wait {
			refused = i + 1
			wait = over
		}
	}
	if refused == 0 {
		for i, b := range buckets {
			l.full[b.key] = now + min(max(missing[i]+b.take, 0), 2*b.period)
		}
	}
	return refused, wait
}
