package budget

import (
	"fmt"
	"strings"
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

// note returns what is used of the limits that changes have brought near to their ends, one of the
// person and one of all people, and "" if none is near. The log has a line for a person and a
// period.
func (b *Budget) note(p call.Person, changes []bucketChange, r reply) string {
	if r.refused != 0 {
		return ""
	}
	b.near.mu.Lock()
	defer b.near.mu.Unlock()
	for _, c := range changes { // what was near may have been reset
		used := r.ofPerson
		if c.ofAll {
			used = r.ofAll
		}
		e := b.near.entries.Get(c.key)
		if e.quota != "" && used.thousandths() < nearShare {
			e.until = time.Time{}
			b.near.entries.Set(c.key, e)
		}
	}

	var words []string
	for _, used := range []share{r.ofPerson, r.ofAll} {
		if used.thousandths() >= nearShare {
			words = append(words, b.noteLocked(p, changes[used.bucket()-1], used.thousandths()))
		}
	}
	return strings.Join(words, ", ")
}

func (b *Budget) noteLocked(p call.Person, of bucketChange, used int64) (words string) {
	words = fmt.Sprintf("%d %% of %s %s", used/10, of.unit.format(of.limit), of.words())
	period := time.Duration(of.period()) * time.Microsecond
	now := time.Now()

	e := b.near.entries.Get(of.key)
	isNew := !now.Before(e.quiet)
	if isNew {
		e.quiet = now.Add(period)
	}
	e.quota = of.Name
	e.until = now.Add(time.Duration(used-nearShare+1) * period / 1000)
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

// Near returns how many people have used four fifths of a limit, or 1 if all people have, by the
// names of the quotas. Only calls of this process are known.
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
