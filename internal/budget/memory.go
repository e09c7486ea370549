package budget

import (
	"cmp"
	"maps"
	"sync"
	"time"
)

const (
	firstTypical = 20_000 // tokens of a call of a person who has made none
	maxTypical   = 10_000 // people whose typical calls are remembered
)

// memory has the buckets of this process. It follows the rules of take.lua.
type memory struct {
	clock func() time.Time

	mu     sync.Mutex       // guards the fields below
	full   map[string]int64 // when a bucket is full, by its key; one that is not there is full
	tokens map[string]int64 // of a typical call, by person
}

// take takes from buckets. The results are those of take.lua.
func (m *memory) take(buckets []bucket) (refused int, wait int64) {
	m.mu.Lock()
	defer m.mu.Unlock()
	now := m.clock().UnixMicro() // while it is locked: a call must not see a bucket of the future
	maps.DeleteFunc(m.full, func(_ string, full int64) bool { return full <= now })

	missing := make([]int64, len(buckets))
	for i, b := range buckets {
		missing[i] = min(max(m.full[b.key]-now, 0), 2*b.period)
		over := missing[i] + b.need - b.period
		if over > wait {
			refused = i + 1
			wait = over
		}
	}
	if refused == 0 {
		for i, b := range buckets {
			m.full[b.key] = now + min(max(missing[i]+b.take, 0), 2*b.period)
		}
	}
	return refused, wait
}

// typical returns the tokens of a typical call of a person, after a call with such tokens; 0: none.
func (m *memory) typical(person string, tokens int64) int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	typical := cmp.Or(m.tokens[person], firstTypical)
	if tokens > 0 {
		typical += (tokens - typical) / 8
		if len(m.tokens) == maxTypical {
			clear(m.tokens)
		}
		m.tokens[person] = typical
	}
	return typical
}
