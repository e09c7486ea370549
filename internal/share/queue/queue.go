// Package queue keeps the places of calls that wait. The user of a queue decides which call goes
// next, and when: package people for slots, package pacer for the rate limit.
//
// Each call that waits has a place, which is a number. Clients end calls that wait long, and people
// ask again. So the place of a call that gives up is kept for a minute, and the next call of the
// person gets it: a person who asks again is not last.
//
// For example, two calls of alice wait, and calls of bob and carol. The call of bob gives up, and
// bob asks again. The numbers are the calls ahead, where the first call to come is the first to go:
//
//	place                         1      2    3      4      5
//	call of                       alice  bob  alice  carol
//	all wait                      0      1    2      3
//	bob gives up                  0           1      2
//	bob asks again after 40 s     0      1    2      3
//	or bob asks again after 70 s  0           1      2      3
//
// Where people take turns, the second call of alice waits for the first call of each person: 3
// calls are ahead of it, and 0 of each first call.
package queue

import (
	"slices"
	"time"
)

// keepTime is for how long the place of a call that gave up is kept.
const keepTime = time.Minute

// Queue has the calls that wait, and the places that are kept. No two places have the same number.
// The zero value is an empty Queue. The lock of its user guards a Queue and its places.
type Queue struct {
	// ByTurns is whether people take turns. false: the first call to come is the first to go. Only
	// Ahead depends on that.
	ByTurns bool

	// Waiting has the waiting calls of each person, by ID, in the order of their numbers. A person
	// without one has no entry.
	Waiting map[string][]*Place

	kept []*Place // of calls that gave up, in the order of their numbers
	last int      // number of the last new place
}

// Place is the place of a call, which waits before each of its attempts.
type Place struct {
	Person string // by ID
	Call   any    // what the user of the queue needs
	Number int    // in the order of the first waits; 0: the call has not waited

	// Ready is when the call may go at the earliest, on a clock of the user; 0: at once. The call
	// that gets a kept place gets its Ready, too.
	Ready time.Duration

	turn chan struct{} // of the last wait
	left time.Time     // when the call gave up
}

// HasWaited reports whether the call has ever been in the queue.
func (p *Place) HasWaited() bool {
	return p.Number > 0
}

// Enter puts a call into the queue, and returns the turn of this wait: a channel that Go closes. A
// call that has waited before is back at its place. A call without Ready gets the first place that
// is kept for its person. Any other call gets a new place, the last one. A call that gave up does
// not enter again.
func (q *Queue) Enter(p *Place) (turn <-chan struct{}) {
	q.Forget()
	i := slices.IndexFunc(q.kept, func(k *Place) bool { return k.Person == p.Person })
	switch {
	case p.HasWaited():
	case i >= 0 && p.Ready == 0:
		p.Number = q.kept[i].Number
		p.Ready = q.kept[i].Ready
		q.kept = slices.Delete(q.kept, i, i+1)
	default:
		q.last++
		p.Number = q.last
	}

	if q.Waiting == nil {
		q.Waiting = map[string][]*Place{}
	}
	q.Waiting[p.Person] = insert(q.Waiting[p.Person], p)
	p.turn = make(chan struct{})
	return p.turn
}

// Go lets a waiting call go.
func (q *Queue) Go(p *Place) {
	q.remove(p)
	close(p.turn)
}

// Leave takes out a call that gives up, and keeps its place. Leave reports whether the call was
// waiting: its turn may have come in the same moment.
func (q *Queue) Leave(p *Place) bool {
	waits := q.remove(p)
	if waits {
		p.left = time.Now()
		q.kept = insert(q.kept, p)
	}
	return waits
}

// Ahead returns how many calls go before a waiting one, as far as that is known. Where people take
// turns, these are the calls of its person before it, and as many of each other person.
func (q *Queue) Ahead(p *Place) int {
	before := index(q.Waiting[p.Person], p)
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

// Forget ends the places that were kept for a minute.
func (q *Queue) Forget() {
	oldest := time.Now().Add(-keepTime)
	q.kept = slices.DeleteFunc(q.kept, func(p *Place) bool { return !p.left.After(oldest) })
}

// index returns how many places have smaller numbers than p.
func index(places []*Place, p *Place) int {
	i, _ := slices.BinarySearchFunc(places, p, func(a, b *Place) int { return a.Number - b.Number })
	return i
}

func insert(places []*Place, p *Place) []*Place {
	return slices.Insert(places, index(places, p), p)
}

// remove takes a call out of Waiting, and reports whether the call was there.
func (q *Queue) remove(p *Place) bool {
	calls := q.Waiting[p.Person]
	i := slices.Index(calls, p)
	if i >= 0 {
		calls = slices.Delete(calls, i, i+1)
	}
	q.Waiting[p.Person] = calls
	if len(calls) == 0 {
		delete(q.Waiting, p.Person)
	}
	return i >= 0
}
