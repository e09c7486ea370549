package budget

import (
	"maps"
	"math"
	"sync"
	"time"
)

// local has the buckets of this process. It follows the rules of take.lua.
type local struct {
	clock func() time.Time

	mu      sync.Mutex // guards buckets
	buckets map[string]state
}

// state is what a bucket holds. Units that are used refill from the time at on. used is below 0
// where a response has used less than its call has still reserved; with what is reserved the sum is
// not.
type state struct {
	used     float64
	at       int64           // microseconds since 1970
	reserved map[int64]int64 // units, by the minute since 1970 at whose end they count as used
	end      int64           // when the bucket is full, in microseconds since 1970
}

// newLocal returns a local whose buckets are full.
func newLocal(clock func() time.Time) *local {
	return &local{
		clock:   clock,
		buckets: map[string]state{},
	}
}

// apply changes buckets.
func (l *local) apply(changes []bucketChange) reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	now := l.clock().UnixMicro() // while it is locked: a call must not see a bucket of the future
	maps.DeleteFunc(l.buckets, func(_ string, s state) bool { return s.end <= now })

	states := make([]state, len(changes))
	r := reply{wait: -1}
	for i, b := range changes {
		s, running := l.buckets[b.key].until(now, b)
		missing := s.used + float64(b.need) - float64(b.limit)
		wait := max(int64(math.Ceil(missing*float64(b.period())/float64(b.limit))), 0)
		if missing+float64(running) > 0 && wait > r.wait {
			r = reply{
				refused: int64(i + 1),
				wait:    wait,
				used:    int64(math.Ceil(max(s.used, 0))),
				minute:  int64(math.Ceil(float64(s.at) / oneMinute)),
			}
		}
		states[i] = s
	}
	if r.refused > 0 {
		return r
	}

	r = reply{}
	for i, b := range changes {
		r.minute = b.minute
		if b.minute < 0 {
			r.minute = int64(math.Ceil(float64(now)/oneMinute)) - b.minute
		}

		s := states[i].change(now, b, r.minute)
		l.buckets[b.key] = s

		thousandths := share(math.Floor(s.used / float64(b.limit) * 1000))
		used := thousandths*16 + share(i+1)
		switch {
		case thousandths <= 0:
		case b.ofAll:
			r.ofAll = max(r.ofAll, used)
		default:
			r.ofPerson = max(r.ofPerson, used)
		}
	}
	return r
}

// until returns the state at a time, in a map of its own, and how much is reserved for calls that
// run.
func (s state) until(now int64, b bucketChange) (next state, running int64) {
	next.reserved = map[int64]int64{}
	if s.at >= now+b.period() { // the clock was wrong
		return next, 0
	}

	overdue := int64(0)
	for last, units := range s.reserved {
		if last*oneMinute <= now { // the call has not ended: its process has
			overdue += units
			continue
		}
		next.reserved[last] = units
		running += units
	}

	refilled := float64(max(now-s.at, 0)) * float64(b.limit) / float64(b.period())
	next.at = s.at
	used := s.used + float64(overdue)
	least := max(min(used, 0), float64(0-running))
	next.used = bounded(used-refilled, least, b)
	return next, running
}

// change returns the state after a change.
func (s state) change(now int64, b bucketChange, last int64) state {
	use := b.use
	if b.reserve < 0 && last*oneMinute <= now { // it counts as used
		use += b.reserve
	}

	least := min(s.used, 0)
	if b.reserve == 0 { // SettleResponse may give back what the call of another process still reserves
		least = 0
		for _, reserved := range s.reserved {
			least -= float64(reserved)
		}
	}

	s.at = now
	s.used = bounded(s.used+float64(use), least, b)
	s.reserved[last] = max(s.reserved[last]+b.reserve, 0)

	units := s.used
	free := now
	for last, reserved := range s.reserved {
		if reserved > 0 {
			units += float64(reserved)
			free = max(free, last*oneMinute)
		}
	}
	s.end = free + int64(math.Ceil(bounded(units, 0, b)*float64(b.period())/float64(b.limit)))
	return s
}

// bounded bounds the units that are used: a debt is forgiven beyond seven periods.
func bounded(used, least float64, b bucketChange) float64 {
	return min(max(used, least), 8*float64(b.limit))
}
