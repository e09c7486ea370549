package budget

import "time"

// change is what one use of the store changes: all of it, or nothing if a mark or a bucket refuses.
type change struct {
	marks   []mark
	buckets []bucketChange
}

func (ch change) isEmpty() bool { return len(ch.marks)+len(ch.buckets) == 0 }

// mark is a change of what the store remembers of a call or a response: the state of a key. A mark
// refuses its change unless the key has the state that it needs. So a change whose reply was lost
// can be sent again, and the buckets change once.
//
//	mark         key            needs  then      it succeeds
//	startMark    call:NAME      none   taken     once: the store takes the call
//	claimMark    call:NAME      none   unwanted  if the store has not taken the call; from then on
//	                                             it refuses to
//	releaseMark  call:NAME      taken  none      once: the end of the call, or giving it back
//	forgetMark   call:NAME      any    none      always, beside endMark
//	endMark      end:RESPONSE   none   settled   once: the end of the response in any process
//	othersMark   others:NAME    none   settled   once: see settleOtherResponses
//
// Behind its state a key has the minute in which it began. A change with a mark of a call that is
// taken frees what was reserved in that minute.
type mark struct {
	key   string
	needs string // a state, or anyState
	then  string // the next state; noState deletes the key

	keep time.Duration // how long the store keeps the next state
}

// States of keys. No key has anyState.
const (
	noState       = "" // there is no key
	stateTaken    = "taken"
	stateUnwanted = "unwanted"
	stateSettled  = "settled"
	anyState      = "any"
)

// maxOutage is how long the store may fail after the time limit of a call, and still count the end
// of the call once.
const maxOutage = 7 * time.Hour

// startMark returns the mark of a call at its start. callName is the random name of the call.
func (b *Budget) startMark(callName string) mark {
	reserved := time.Duration(b.reservedMinutes()) * time.Minute
	return mark{callKey(callName), noState, stateTaken, reserved + maxOutage}
}

// claimMark returns the mark of a call to whose start the store has not replied. The start may
// still be on its way, in a connection that was closed.
func claimMark(callName string) mark {
	return mark{callKey(callName), noState, stateUnwanted, time.Hour}
}

// releaseMark returns the mark of the end of a call, or of giving it back.
func releaseMark(callName string) mark { return mark{key: callKey(callName), needs: stateTaken} }

// forgetMark returns the mark of the end of a call with an endMark.
func forgetMark(callName string) mark { return mark{key: callKey(callName), needs: anyState} }

// endMark returns the mark of the end of a response. A sealed id lasts for at most an hour beyond
// the time limit of calls, which is far less than two days.
func endMark(responseID string) mark {
	return mark{"end:" + pseudonym(responseID), noState, stateSettled, 48 * time.Hour}
}

// othersMark returns the mark of what the other responses of a call have used, beside the one that
// has ended.
func othersMark(callName string) mark {
	return mark{"others:" + pseudonym(callName), noState, stateSettled, maxOutage}
}

func callKey(callName string) string { return "call:" + pseudonym(callName) }
