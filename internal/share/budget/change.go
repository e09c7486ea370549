package budget

import "slices"

// callChange is what a call changes in the buckets of its person and of all people. inBuckets makes
// a bucketChange for each bucket. A storeChange has the bucketChanges and the marks of the call.
type callChange struct {
	use     amount // negative if units are given back
	reserve amount // negative at the end of a call
	need    int64  // units that must be free in each bucket; 0: no bucket refuses
}

// bucketChange is what a callChange does to one bucket.
type bucketChange struct {
	bucket
	need, use, reserve int64
}

// inBuckets returns what the change does to each of the buckets that it affects.
func (cc callChange) inBuckets(buckets []bucket) (list []bucketChange) {
	for _, bk := range buckets {
		bc := bucketChange{
			bucket:  bk,
			need:    cc.need,
			use:     cc.use[bk.unit],
			reserve: cc.reserve[bk.unit],
		}
		if bc.use != 0 || bc.reserve != 0 {
			list = append(list, bc)
		}
	}
	return list
}

// storeChange is what one use of the store changes: everything or, if a mark or a bucket refuses,
// nothing. A mark with needsTaken that refuses still changes the state of its key.
type storeChange struct {
	marks   []mark
	minutes int64 // how long units are reserved, from now on; 0 without a startMark
	buckets []bucketChange
}

// again returns what is sent after the reply to a change was lost. The store refuses this second
// change if it has made the first, whose marks are one of
//
//	closeMark, endMark or otherResponsesMark   sent as they are: the key is settled, and refuses
//	endMark with a releaseMark                 sent as they are: the endMark refuses the change
//	releaseMark                                replaced by a closeMark, which refuses if the key
//	                                           is not taken: the first has deleted the key
//
// A startMark is never sent again.
func (change storeChange) again() storeChange {
	settles := func(m mark) bool { return m.then == stateSettled }
	if !slices.ContainsFunc(change.marks, settles) {
		change.marks = []mark{closeMark(change.marks[0].key)}
	}
	return change
}

// outcome is what has become of a change.
type outcome int

const (
	notRun          outcome = iota // the store was not asked, not reached, or has refused to run it
	unsure                         // the store was asked, and the reply does not tell
	refusedByMark                  // nothing is changed, except the key of a closeMark
	refusedByBucket                // nothing is changed
	made
)

// isDecided reports whether the change was made or refused.
func (o outcome) isDecided() bool { return o >= refusedByMark }

// reply is the result of a change. Buckets have numbers, from 1 on.
type reply struct {
	outcome

	// If a bucket has refused the change:
	refusingBucket int64 // number of the bucket that refuses for the longest time
	waitMicros     int64 // microseconds until it refuses no more; 0: running calls are in the way
	used           int64 // used units of the refusing bucket

	// If the change was made: how much of its limit each bucket has used, in thousandths.
	shares []int64
}
