package logging

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A loop of one person gets a line in a period with a count, and takes none of another's.
func TestLimiter(t *testing.T) {
	for period, lines := range map[time.Duration]int{0: 3, 2 * time.Second: 2, time.Minute: 1} {
		t.Run(period.String(), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				l := &Limiter{Period: period}
				n, events := 0, 0
				for range 300 {
					count := l.Count("alice")
					events += count
					n += min(count, 1)
					time.Sleep(10 * time.Millisecond)
				}
				compare.Equal(t, "lines in 3 s", n, lines)
				compare.Equal(t, "another's event", l.Count("bob"), 1)

				time.Sleep(time.Minute)
				events += l.Count("alice")
				compare.Equal(t, "events in all lines", events, 301)
			})
		})
	}
}
