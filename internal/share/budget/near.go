package budget

import (
	"fmt"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/expire"
)

// nearShare is when a limit is nearly used up, in thousandths.
const nearShare = 800

// near has the buckets that are nearly used up, as far as calls of this process have shown.
type near struct {
	mu      sync.Mutex // guards entries
	entries expire.Map[string, nearEntry]
}

// nearEntry is a bucket that was nearly used up.
type nearEntry struct {
	quota string    // its name
	until time.Time // when it has refilled, unless more is used
	quiet time.Time // until which the log does not have it again
}

func newNear() *near {
	n := &near{}
	n.entries.Ended = func(e nearEntry) bool {
		return !time.Now().Before(e.until) && !time.Now().Before(e.quiet)
	}
	return n
}

// note returns what is used of the limit that a change has brought nearest to its end, and "" if that is
// not near. The log has a line for a person and a period.
func (b *Budget) note(p call.Person, buckets []bucket, r reply) string {
	if r.share < nearShare {
		return ""
	}
	of := buckets[r.fullest-1]
	words := fmt.Sprintf("%d %% of %s %s", r.share/10, of.unit.format(of.limit), of.words())
	period := time.Duration(of.period()) * time.Microsecond
	now := time.Now()

	b.near.mu.Lock()
	defer b.near.mu.Unlock()
	e := b.near.entries.Get(of.key)
	isNew := !now.Before(e.quiet)
	if isNew {
		e.quiet = now.Add(period)
	}
	e.quota = of.Name
	e.until = now.Add(time.Duration(r.share-nearShare+1) * period / 1000)
	b.near.entries.Set(of.key, e)
	if isNew && b.Log != nil {
		log := b.Log.With("limit", of.Name, "used", words)
		if !of.ofAll {
			log = log.With("client", p.Name)
		}
		log.Info("a limit is nearly used up")
	}
	return words
}

// Near returns how many people have used four fifths of a limit, or 1 if all people have, by the names of
// the quotas. Only calls of this process are known.
func (b *Budget) Near() map[string]int {
	b.near.mu.Lock()
	defer b.near.mu.Unlock()
	count := map[string]int{}
	for _, e := range b.near.entries.All() {
		if time.Now().Before(e.until) {
			count[e.quota]++
		}
	}
	return count
}
