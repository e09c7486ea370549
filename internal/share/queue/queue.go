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

// placeTTL is how long the place of a call that gave up is kept.
const placeTTL = time.Minute

// Queue holds the calls that wait, and those whose places are kept. No two places have the same
// number. The zero value is an empty Queue. The user of a Queue guards it and its entries with a
// lock.
type Queue struct {
	// ByTurns is whether people take turns; else the first call to come is the first to go. Only
	// Ahead depends on it.
	ByTurns bool

	// Waiting holds the waiting calls by the ID of their person, in the order of their numbers. A
	// person without a waiting call is not in it.
	Waiting map[string][]*Entry

	kept       []*Entry // calls that gave up, whose places are kept, in the order of their numbers
	lastNumber int      // number of the last new place
}

// Entry is a call with its place. The call may wait more than once, such as before each attempt.
type Entry struct {
	PersonID string // ID of the person
	Value    any    // for the user of the queue
	Number   int    // of the place, in the order in which calls first waited; 0: none yet

	// ReadyAt is when the call may go at the earliest; 0: at once. It is on the clock of the
	// queue's user. A call that gets a kept place also gets the ReadyAt of that place.
	ReadyAt time.Duration

	turn   chan struct{} // closed by GiveTurn at the end of the present wait
	leftAt time.Time     // when the call gave up
}

// Enter puts a call into the queue, and returns the turn of this wait: a channel that GiveTurn
// closes. A call that gave up must not enter again. Places are given so:
//
//	a call that has waited before         its old place
//	its ReadyAt is 0, and a place is      the first place that is kept
//	  kept for its person
//	any other call                        a new place, behind all others
//
// A call that has not waited has a ReadyAt if the API has refused it. It gets no kept place: the place
// is for a call that asks anew.
func (q *Queue) Enter(e *Entry) (turn <-chan struct{}) {
	q.DropOldPlaces()
	keptIndex := slices.IndexFunc(q.kept, func(k *Entry) bool { return k.PersonID == e.PersonID })
	switch {
	case e.Number > 0: // it has waited before
	case keptIndex >= 0 && e.ReadyAt == 0:
		e.Number = q.kept[keptIndex].Number
		e.ReadyAt = q.kept[keptIndex].ReadyAt
		q.kept = slices.Delete(q.kept, keptIndex, keptIndex+1)
	default:
		q.lastNumber++
		e.Number = q.lastNumber
	}

	if q.Waiting == nil {
		q.Waiting = map[string][]*Entry{}
	}
	q.Waiting[e.PersonID] = insert(q.Waiting[e.PersonID], e)
	e.turn = make(chan struct{})
	return e.turn
}

// GiveTurn takes a waiting call out of the queue, and closes the channel that Enter returned for
// it.
func (q *Queue) GiveTurn(e *Entry) {
	q.remove(e)
	close(e.turn)
}

// Leave takes out a call that gives up, and keeps its place. It reports whether the call was still
// waiting: if its turn came in the same moment, the place is not kept.
func (q *Queue) Leave(e *Entry) bool {
	waits := q.remove(e)
	if waits {
		e.leftAt = time.Now()
		q.kept = insert(q.kept, e)
	}
	return waits
}

// Ahead returns how many calls are ahead of a waiting call. If people take turns, and the person
// has n earlier calls, Ahead counts these n, and up to n calls of each other person. So Ahead
// returns 0 for the first call of a person, although calls of other people may go before: a Queue
// does not know whose turn is next.
func (q *Queue) Ahead(e *Entry) int {
	before := countBefore(q.Waiting[e.PersonID], e)
	ahead := 0
	for _, calls := range q.Waiting {
		if q.ByTurns {
			ahead += min(before, len(calls))
		} else {
			ahead += countBefore(calls, e)
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

// DropOldPlaces drops the places that have been kept for a minute.
func (q *Queue) DropOldPlaces() {
	oldest := time.Now().Add(-placeTTL)
	q.kept = slices.DeleteFunc(q.kept, func(e *Entry) bool { return !e.leftAt.After(oldest) })
}

// countBefore returns how many of the entries, which are sorted, have smaller numbers than e.
func countBefore(entries []*Entry, e *Entry) int {
	n, _ := slices.BinarySearchFunc(entries, e, func(a, b *Entry) int { return a.Number - b.Number })
	return n
}

// insert inserts e into entries, which are sorted by their numbers.
func insert(entries []*Entry, e *Entry) []*Entry {
	return slices.Insert(entries, countBefore(entries, e), e)
}

// remove takes a call out of Waiting, and reports whether the call was there.
func (q *Queue) remove(e *Entry) bool {
	calls := q.Waiting[e.PersonID]
	i := slices.Index(calls, e)
	if i >= 0 {
		calls = slices.Delete(calls, i, i+1)
	}
	q.Waiting[e.PersonID] = calls
	if len(calls) == 0 {
		delete(q.Waiting, e.PersonID)
	}
	return i >= 0
}
