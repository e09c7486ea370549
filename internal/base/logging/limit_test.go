package logging

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// lines are the numbers of events of the lines that a Limiter logs.
type lines chan int

func (l lines) log(n int) { l <- n }

// sums returns how many lines and events there are.
func (l lines) sums() (sums [2]int) {
	close(l)
	for n := range l {
		sums[0]++
		sums[1] += n
	}
	return sums
}

// A loop of one person gets a line in a period with a count, and takes none of another's. The last
// events have a line when the period ends, and then the person is forgotten.
func TestLimiter(t *testing.T) {
	for period, want := range map[time.Duration]int{0: 4, 2 * time.Second: 3, time.Minute: 2} {
		compare.Bubble(t, period.String(), func(t *testing.T) {
			l := &Limiter{Period: period}
			alice, bob := make(lines, 300), make(lines, 1)
			for range 299 {
				l.Log("alice", alice.log)
				time.Sleep(10 * time.Millisecond)
			}
			l.Log("bob", bob.log)
			compare.Equal(t, "another's event", <-bob, 1)

			time.Sleep(2 * time.Minute)
			synctest.Wait()
			compare.Equal(t, "lines and events", alice.sums(), [2]int{want, 299})
			compare.Equal(t, "keys that are left", len(l.pending), 0)
		})
	}
}

// Events at once, also in the moment in which a period ends or the log does, are in a line.
func TestLimiterAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l Limiter
		alice := make(lines, 1024)
		for range 256 {
			go func() {
				for range 4 {
					l.Log("alice", alice.log)
					time.Sleep(time.Second)
				}
			}()
		}
		time.Sleep(3 * time.Second)
		synctest.Wait()
		l.Flush()
		compare.Equal(t, "keys that are left", len(l.pending), 0)

		time.Sleep(time.Minute)
		synctest.Wait()
		compare.Equal(t, "events", alice.sums()[1], 1024)
	})
}
