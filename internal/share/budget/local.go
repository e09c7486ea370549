package budget

import (
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/expire"
)

// local has the buckets of this process. It follows the rules of take.lua.
type local struct {
	clock func() time.Time

	mu   sync.Mutex                // guards full
	full expire.Map[string, int64] // when a bucket is full, by its key; one that is not there is full
}

// newLocal returns a local whose buckets are full.
func newLocal(clock func() time.Time) *local {
	l := &local{clock: clock}
	l.full.Ended = func(full int64) bool { return full <= clock().UnixMicro() }
	return l
}

// take takes from buckets. The results are those of take.lua.
func (l *local) take(buckets []bucket) (refused int, wait int64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock().UnixMicro() // while it is locked: a call must not see a bucket of the future

	missing := make([]int64, len(buckets))
	for i, b := range buckets {
		missing[i] = min(max(l.full.Get(b.key)-now, 0), 2*b.period)
		over := missing[i] + b.need - b.period // the time until what is needed has refilled
		if over > wait {
			refused = i + 1
			wait = over
		}
	}
	if refused == 0 {
		for i, b := range buckets {
			l.full.Set(b.key, now+min(max(missing[i]+b.take, 0), 2*b.period))
		}
	}
	return refused, wait
}
