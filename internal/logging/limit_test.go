package logging

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A loop of one person gets a line a second with a count, and takes none of another's.
func TestLimiter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &Limiter{}
		lines, events := 0, 0
		for range 300 {
			n := l.Count("alice")
			events += n
			if n > 0 {
				lines++
			}
			time.Sleep(10 * time.Millisecond)
		}
		compare.Equal(t, "lines in 3 s", lines, 3)
		compare.Equal(t, "events in them", events, 1+100+100)
		compare.Equal(t, "another's event", l.Count("bob"), 1)
	})
}
