package budget

import "time"

// mark is a change of what the store remembers of a call or a response: the state of a key. A mark
// refuses its storeChange if the key is settled. So a change whose reply was lost can be sent
// again, and the buckets change once. The lost change may even run after the second one: it may
// still be on its way, in a connection that was closed.
//
//	mark                key            then      its change is
//	startMark           call:NAME      taken     the start of a call: the store takes it
//	releaseMark         call:NAME      none      the end of a call that the store has taken
//	closeMark           call:NAME      settled   giving a call back, or its end, after a reply was
//	                                             lost. This mark also refuses if the key is not
//	                                             taken, and settles the key
//	endMark             end:RESPONSE   settled   the end of the response in any process
//	otherResponsesMark  others:NAME    settled   what a retry or a requery has used, beside a
//	                                             response whose end has an endMark
//
// A key in the state taken also has the minute at whose end the reserved units of the call count as
// used. A change with the key frees units of this minute.
type mark struct {
	key  string
	then string        // the next state; noState deletes the key
	keep time.Duration // how long the store keeps the next state

	// needsTaken tells that the mark refuses unless the key is taken. The key gets the next state
	// in any case.
	needsTaken bool
}

// States of keys.
const (
	noState      = "" // there is no key
	stateTaken   = "taken"
	stateSettled = "settled"
)

// maxOutage is how long the store may fail after the time limit of a call, and still count the end
// of the call once.
const maxOutage = 7 * time.Hour

// startMark returns the mark of a call at its start. callName is the random name of the call.
func (b *Budget) startMark(callName string) mark {
	reserved := time.Duration(b.reservedMinutes()) * time.Minute
	return mark{
		key:  callKey(callName),
		then: stateTaken,
		keep: reserved + maxOutage,
	}
}

// releaseMark returns the mark of the end of a call that the store has taken. It does not need the
// state taken: if the store has lost its keys, as by FLUSHALL, the end adds what the call has used.
func releaseMark(callName string) mark { return mark{key: callKey(callName)} }

// closeMark returns the mark of the change that is sent after the reply to a startMark or a
// releaseMark was lost. key is that of the call.
func closeMark(key string) mark {
	return mark{
		key:        key,
		then:       stateSettled,
		keep:       time.Hour,
		needsTaken: true,
	}
}

// endMark returns the mark of the end of a response. A sealed id lasts for at most an hour
// beyond the time limit of calls: less than two days, unless this limit is above 47 h.
func endMark(responseID string) mark {
	return mark{
		key:  "end:" + pseudonym(responseID),
		then: stateSettled,
		keep: 48 * time.Hour,
	}
}

// otherResponsesMark returns the mark of what the other responses of a call have used, beside the
// response with the endMark.
func otherResponsesMark(callName string) mark {
	return mark{
		key:  "others:" + pseudonym(callName),
		then: stateSettled,
		keep: maxOutage,
	}
}

// callKey returns the key of a call. The name is random: pseudonym only makes the key as short as
// the others.
func callKey(callName string) string { return "call:" + pseudonym(callName) }
