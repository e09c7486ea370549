package expire

import (
	"testing"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// Entries end when they are read, and take memory until Set sweeps them.
func TestMap(t *testing.T) {
	now := 0
	m := Map[int, int]{Expired: func(end int) bool { return end <= now }}
	for key := range 1000 {
		m.Set(key, 10+key)
	}
	compare.Equal(t, "entries", len(m.Live()), 1000)

	now = 1000
	compare.Equal(t, "one that has ended", m.Get(990), 0)
	compare.Equal(t, "one that has not", m.Get(991), 1001)
	compare.Equal(t, "the others", len(m.Live()), 9)

	m.Delete(991)
	compare.Equal(t, "one that is deleted", m.Get(991), 0)
	for key := range 2000 {
		m.Set(key, now+1)
		now++
	}
	if len(m.entries) > 2*minSweep {
		t.Errorf("%d entries take memory, and 1 has not ended", len(m.entries))
	}

	m.Clear()
	compare.Equal(t, "after Clear", len(m.entries), 0)
}
