// Package queue keeps the places of calls that wait. The user of a queue decides which call goes
// next, and when: package people for slots, package pacer for the rate limit.
//
// Each call that waits has a place with a number. Clients end calls that wait long, and people then
// ask again. So the place of a call that gives up is kept for a minute, and the next call of the
// person gets it. Otherwise a person who asks again would be last.
//
// For example, two calls of alice wait, one of bob and one of carol. The call of bob gives up, and
// bob asks again. The numbers are the calls ahead, if the first call to come is the first to go:
//
//	place                         1      2    3      4      5
//	call of                       alice  bob  alice  carol
//	all wait                      0      1    2      3
//	bob gives up                  0           1      2
//	bob asks again after 40 s     0      1    2      3
//	or bob asks again after 70 s  0           1      2      3
//
// If people take turns, 3 calls are ahead of the second call of alice: the first call of each
// person (Queue.Ahead).
package queue

import (
	"slices"
	"time"
)

// keepTime is for how long the place of a call that gave up is kept.
const keepTime = time.Minute

// Queue holds the calls that wait, and the places that are kept. No two places have the same
// number. The zero value is an empty Queue. The user of a Queue guards it and its places with a
// lock.
type Queue struct {
	// ByTurns is whether people take turns; else the first call to come is the first to go. Only
	// Ahead depends on it.
	ByTurns bool

	// Waiting holds the waiting calls by the ID of their person, in the order of their numbers. A
	// person without a waiting call has no entry.
	Waiting map[string][]*Place

	kept       []*Place // places of calls that gave up, in the order of their numbers
	lastNumber int      // number of the last new place
}

// Place is the place of a call. The call may wait more than once, such as before each attempt.
type Place struct {
	PersonID string // ID of the person
	Value    any    // for the user of the queue
	Number   int    // in the order in which calls first waited; 0 before the first wait

	// ReadyAt is when the call may go at the earliest; 0: at once. It is on the clock of the
	// queue's user. A call that gets a kept place also gets the ReadyAt of that place.
	ReadyAt time.Duration

	turn   chan struct{} // closed by Release at the end of the present wait
	leftAt time.Time     // when the call gave up
}

// Enter puts a call into the queue, and returns the turn of this wait: a channel that Release
// closes. A call that has waited before gets its old place. Another call with ReadyAt 0 gets the
// first place that is kept for its person, if there is one. Any other call gets a new place, behind
// all others. A call that gave up must not enter again.
func (q *Queue) Enter(p *Place) (turn <-chan struct{}) {
	q.DropOld()
	i := slices.IndexFunc(q.kept, func(k *Place) bool { return k.PersonID == p.PersonID })
	switch {
	case p.Number > 0: // it has waited before
	case i >= 0 && p.ReadyAt == 0:
		p.Number = q.kept[i].Number
		p.ReadyAt = q.kept[i].ReadyAt
		q.kept = slices.Delete(q.kept, i, i+1)
	default:
		q.lastNumber++
		p.Number = q.lastNumber
	}

	if q.Waiting == nil {
		q.Waiting = map[string][]*Place{}
	}
	q.Waiting[p.PersonID] = insert(q.Waiting[p.PersonID], p)
	p.turn = make(chan struct{})
	return p.turn
}

// Release takes a waiting call out of the queue, and closes the channel that Enter returned for it.
func (q *Queue) Release(p *Place) {
	q.remove(p)
	close(p.turn)
}

// Leave takes out a call that gives up, and keeps its place. It reports whether the call was still
// waiting: if its turn came in the same moment, the place is not kept.
func (q *Queue) Leave(p *Place) bool {
	waits := q.remove(p)
	if waits {
		p.leftAt = time.Now()
		q.kept = insert(q.kept, p)
	}
	return waits
}

// Ahead returns how many calls are ahead of a waiting call. If people take turns, it counts the n
// earlier calls of the person, and up to n calls of each other person. So it returns 0 for the
// first call of a person, although others may be before it: a Queue does not know whose turn is
// next.
func (q *Queue) Ahead(p *Place) int {
	before := index(q.Waiting[p.PersonID], p)
	ahead := 0
	for _, calls := range q.Waiting {
		if q.ByTurns {
			ahead += min(before, len(calls))
		} else {
			ahead += index(calls, p)
		}
	}
	return ahead
}

// Len returns how many calls wait.
func (q *Queue) Len() int {
	n := 0
	for _, calls := range q.Waiting {
		n += len(calls)
	}
	return n
}

// DropOld drops the places that have been kept for a minute.
func (q *Queue) DropOld() {
	oldest := time.Now().Add(-keepTime)
	q.kept = slices.DeleteFunc(q.kept, func(p *Place) bool { return !p.leftAt.After(oldest) })
}

// index returns how many of the places, which are sorted, have smaller numbers than p.
func index(places []*Place, p *Place) int {
	i, _ := slices.BinarySearchFunc(places, p, func(a, b *Place) int { return a.Number - b.Number })
	return i
}

// insert inserts p into places, which are sorted by their numbers.
func insert(places []*Place, p *Place) []*Place {
	return slices.Insert(places, index(places, p), p)
}

// remove takes a call out of Waiting, and reports whether the call was there.
func (q *Queue) remove(p *Place) bool {
	calls := q.Waiting[p.PersonID]
	i := slices.Index(calls, p)
	if i >= 0 {
		calls = slices.Delete(calls, i, i+1)
	}
	q.Waiting[p.PersonID] = calls
	if len(calls) == 0 {
		delete(q.Waiting, p.PersonID)
	}
	return i >= 0
}
