package budget

import (
	"maps"
	"math"
	"sync"
	"time"
)

// localBuckets holds the buckets of this process. Its rules are those of take.lua, which has the
// same three steps: advance, refuse, change. TestSame compares both. Two rules are only in
// take.lua. What a call has reserved is freed only if the store knows the call, because the server
// may have lost keys. Reservations more than two days ahead are dropped, because the clock of the
// server may have been wrong.
type localBuckets struct {
	clock func() time.Time

	mu      sync.Mutex // guards buckets
	buckets map[string]bucketState
}

// bucketState is the content of a bucket.
type bucketState struct {
	// used is how many units are used. If SettleResponse gives back 45,000 of 60,000 units that are
	// still reserved, used may be -45,000 until the reservation ends. The sum of used and reserved
	// units is never below 0.
	used float64

	changedAtMicros int64 // time since which used units refill, since 1970
	unusedAtMicros  int64 // when nothing is used or reserved, since 1970

	// reserved has units by the minute since 1970 at whose end they count as used. The first minute
	// of 1970 is 1.
	reserved map[int64]int64
}

// newLocalBuckets returns localBuckets of which nothing is used.
func newLocalBuckets(clock func() time.Time) *localBuckets {
	return &localBuckets{
		clock:   clock,
		buckets: map[string]bucketState{},
	}
}

// minute returns the present minute since 1970, rounded up.
func (l *localBuckets) minute() int64 {
	return int64(math.Ceil(float64(l.clock().UnixMicro()) / minuteMicros))
}

// apply changes all buckets, or none if one refuses. untilMinute is the minute since 1970 at whose
// end the units that the changes reserve or free count as used.
func (l *localBuckets) apply(untilMinute int64, changes []bucketChange) reply {
	l.mu.Lock()
	defer l.mu.Unlock()
	nowMicros := l.clock().UnixMicro() // under the lock: no bucket may have been changed after it
	isUnused := func(_ string, s bucketState) bool { return s.unusedAtMicros <= nowMicros }
	maps.DeleteFunc(l.buckets, isUnused)

	states := make([]bucketState, len(changes))
	r := reply{waitMicros: -1}
	for i, bc := range changes {
		s, running := l.buckets[bc.key].advance(nowMicros, bc.bucket)
		missing := s.used + float64(bc.need) - float64(bc.limitUnits)
		wait := max(int64(math.Ceil(missing*float64(bc.period.micros)/float64(bc.limitUnits))), 0)
		refuses := bc.need > 0 && missing+float64(running) > 0
		if refuses && wait > r.waitMicros {
			r = reply{
				outcome:        refusedByBucket,
				refusingBucket: int64(i + 1),
				waitMicros:     wait,
				used:           int64(math.Ceil(max(s.used, 0))),
			}
		}
		states[i] = s
	}
	if r.outcome == refusedByBucket {
		return r
	}

	r = reply{outcome: made}
	for i, bc := range changes {
		s := states[i].applyChange(nowMicros, bc, untilMinute)
		l.buckets[bc.key] = s
		share := max(int64(math.Floor(s.used/float64(bc.limitUnits)*1000)), 0)
		r.shares = append(r.shares, share)
	}
	return r
}

// advance returns the state at nowMicros, after used units have refilled, and how many units are
// reserved for calls that run. next has a map of its own.
func (s bucketState) advance(nowMicros int64, bk bucket) (next bucketState, running int64) {
	next.reserved = map[int64]int64{}
	next.changedAtMicros = nowMicros
	if s.changedAtMicros >= nowMicros+bk.period.micros { // the clock was wrong
		return next, 0
	}

	overdue := int64(0)
	for untilMinute, units := range s.reserved {
		if untilMinute*minuteMicros <= nowMicros { // the process has ended before its call
			overdue += units
			continue
		}
		next.reserved[untilMinute] = units
		running += units
	}

	sinceMicros := max(nowMicros-s.changedAtMicros, 0)
	refilled := float64(sinceMicros) * float64(bk.limitUnits) / float64(bk.period.micros)
	used := s.used + float64(overdue)
	least := max(min(used, 0), -float64(running)) // used may be below 0, by at most what is reserved
	next.used = clampUsed(used-refilled, least, bk)
	return next, running
}

// applyChange returns the state after a change at nowMicros, which reserves or frees units of
// untilMinute. It changes the map of s.
func (s bucketState) applyChange(nowMicros int64, bc bucketChange, untilMinute int64) bucketState {
	use := bc.use
	if bc.reserve < 0 && untilMinute*minuteMicros <= nowMicros { // these count as used: see advance
		use += bc.reserve
	}

	least := min(s.used, 0) // used may be below 0: see bucketState.used
	// A change that neither reserves nor frees, as that of SettleResponse, may give back units that
	// the call of another process still reserves.
	if bc.reserve == 0 {
		least = 0
		for _, reserved := range s.reserved {
			least -= float64(reserved)
		}
	}

	s.used = clampUsed(s.used+float64(use), least, bc.bucket)
	s.reserved[untilMinute] = max(s.reserved[untilMinute]+bc.reserve, 0)

	units := s.used
	unreservedAtMicros := nowMicros // when nothing is reserved any more
	for until, reserved := range s.reserved {
		if reserved > 0 {
			units += float64(reserved)
			unreservedAtMicros = max(unreservedAtMicros, until*minuteMicros)
		}
	}
	refills := clampUsed(units, 0, bc.bucket) / float64(bc.limitUnits) // periods
	refillMicros := refills * float64(bc.period.micros)
	s.unusedAtMicros = unreservedAtMicros + int64(math.Ceil(refillMicros))
	return s
}

// clampUsed returns used units, but not below least, and not above maxUsedPeriods.
func clampUsed(used, least float64, bk bucket) float64 {
	return min(max(used, least), maxUsedPeriods*float64(bk.limitUnits))
}
