package budget

import (
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// End says how a call has ended. The zero value is a call whose end only its process knows.
// docs/reference/limits.md has what counts, and which process observes the call ("Responses in the
// background").
//
// If other processes may read the end of its response, too, the first one settles the call. A call
// that has reserved 60,000 tokens and uses 20,000 then changes the store so:
//
//	its process is the first   Settle frees 60,000 and uses 20,000. For any other process the store
//	                           refuses SettleResponse.
//	another one is the first   SettleResponse gives 40,000 back: with the 60,000, which stay
//	                           reserved and count from the time limit on, that is 20,000. The store
//	                           refuses the change of Settle, which then adds only what a retry or a
//	                           requery has used.
//	its process stops before   If there is time, Settle frees 60,000 and uses as many, as a guess;
//	the response has ended     else it is as if killed. SettleResponse gives 40,000 back.
//	its process is killed      The 60,000 count from the time limit on. SettleResponse gives 40,000
//	                           back.
//	the store has not taken    The first of Settle and SettleResponse takes it with the 20,000; if
//	the call at its start      its process stops before the end, SettleResponse does.
type End struct {
	NotCounted bool // the call does not count for the quota of calls

	// GoesOn: the call ends with its process, and its response goes on at the API, whose end
	// another process may read. Then Settle ignores the fields below: it must not count that end.
	GoesOn bool

	// ResponseID is that of the response whose end other processes may read, too; else "". It need
	// not be the last response of the call.
	ResponseID string

	// ReportedOfResponse is what the API has reported of that response. What it has reported of
	// other responses of the call, of a retry or a requery, only this process knows.
	ReportedOfResponse call.Reported
}

// Settle replaces what a call has reserved by what it has used, at the end of the call. It sets
// GuessedTokens and NearLimit of c, and with GoesOn it clears RequestInput.
//
// observes tells whether the caller observes the end: not if the call goes on at the API, or
// another process has settled it in the store. While the store fails, the caller observes it.
func (t *Taken) Settle(c *call.Call, end End) (observes bool) {
	if end.GoesOn {
		// The response is an UnreportedBegun of c, for which countUsed guesses at least what is
		// reserved. SettleResponse gives that back: a guess from a long question would be more.
		c.RequestInput = nil
		end.ResponseID = ""
		end.ReportedOfResponse = call.Reported{}
	}
	b := t.budget
	ofCall := callChange{
		use:     b.countUsed(t.tool, c),
		reserve: t.reserved.times(-1),
	}
	if end.NotCounted {
		ofCall.use[unitCalls] = -1
	}
	changes := t.correctionsByBucket(ofCall)
	r := b.local.apply(t.untilMinute, changes)

	// The store gets what a retry or a requery has used beside the response in a second change.
	withoutOthers, others := ofCall, amount{}
	if end.ResponseID != "" {
		others = t.usedByOtherResponses(c, end)
		withoutOthers.use = ofCall.use.plus(others.times(-1))
	}
	toStore, storeReply := t.settleInStore(withoutOthers, end)
	if storeReply.isDecided() { // its buckets have the calls of all processes
		changes, r = toStore.buckets, storeReply // without shares if a mark refuses the change
	}

	b.noteNear(t.nearWords, t.person, changes, r.shares)
	c.NearLimit = t.nearWords.of(b.buckets(t.person))

	t.settleOtherResponses(others)
	// The mark that refuses is the endMark, if there is one: it tells of another process. A releaseMark
	// does not refuse: only a closeMark settles its key, and takeInStore sends one only if the reply was
	// lost. Then inStore is false, and there is no releaseMark.
	settledElsewhere := storeReply.outcome == refusedByMark && end.ResponseID != ""
	return !settledElsewhere && !end.GoesOn
}

// settleInStore sends a correction to the store, and returns what it changes there:
//
//	the store has taken the call        its buckets are corrected
//	it has not, and the response goes   nothing: SettleResponse takes the call
//	on at the API
//	it has not, and nothing goes on     the call is taken now, with what it has used
//
// While the store fails, the change is kept if it has a mark: the store has a reservation of the
// call to free, or another process may read the end, too, and it must count once. For other calls
// the local buckets are enough.
func (t *Taken) settleInStore(correction callChange, end End) (change storeChange, r reply) {
	store := t.budget.storeOf(t.person)
	if end.ResponseID != "" {
		change.marks = append(change.marks, endMark(end.ResponseID))
	}
	switch {
	case t.inStore:
		store = t.budget.Store // even if the person has no limit any more
		change.marks = append(change.marks, releaseMark(t.callName))
		change.buckets = t.correctionsByBucket(correction)
	case end.GoesOn: // SettleResponse takes the call
	default:
		correction.use[unitCalls]++ // to 1 for the call itself; with NotCounted from -1 to 0
		correction.reserve = amount{}
		change.buckets = correction.inBuckets(t.budget.buckets(t.person))
	}
	return change, store.applyOrPostpone(change)
}

// usedByOtherResponses returns what the call has used beside the response that has ended.
func (t *Taken) usedByOtherResponses(c *call.Call, end End) amount {
	beside := call.Call{Used: call.Used{
		Reported:           c.Reported.Minus(end.ReportedOfResponse),
		UnreportedRequests: c.UnreportedRequests,
		UnreportedBegun:    c.UnreportedBegun,
		RequestInput:       c.RequestInput,
	}}
	// Without a usage of the ended response one unreported request is its own. The guess for it stays
	// in the change with the endMark, which counts once.
	if end.ReportedOfResponse.Usage == (call.Usage{}) {
		beside.UnreportedRequests = max(beside.UnreportedRequests-1, 0)
		beside.UnreportedBegun = max(beside.UnreportedBegun-1, 0)
	}
	return t.budget.countUsed(t.tool, &beside)
}

// settleOtherResponses adds to the store what usedByOtherResponses has returned, if it is not zero.
// It is a change of its own, because the store refuses that of the call if another process has
// settled it.
func (t *Taken) settleOtherResponses(use amount) {
	changes := callChange{use: use}.inBuckets(t.budget.buckets(t.person))
	if len(changes) > 0 {
		t.budget.Store.applyOrPostpone(storeChange{
			marks:   []mark{otherResponsesMark(t.callName)},
			buckets: changes,
		})
	}
}

// correctionsByBucket returns what a correction does to each bucket. Limits may change while a call
// runs:
//
//	the limit is      its bucket
//	as before         is corrected
//	new               has not taken the call: it only adds the tokens and money that the call
//	                  has used
//	not there now     is corrected, too: the limit may come again
func (t *Taken) correctionsByBucket(cc callChange) []bucketChange {
	isIn := func(list []bucket, bk bucket) bool {
		return slices.ContainsFunc(list, func(other bucket) bool { return other.key == bk.key })
	}
	inForce := t.budget.buckets(t.person)
	var corrected, onlyAdded []bucket
	for _, bk := range inForce {
		if isIn(t.buckets, bk) {
			corrected = append(corrected, bk)
		} else {
			onlyAdded = append(onlyAdded, bk)
		}
	}
	for _, bk := range t.buckets {
		if !isIn(inForce, bk) {
			bk.limitEnded = true
			corrected = append(corrected, bk)
		}
	}

	added := callChange{use: cc.use}
	added.use[unitCalls] = 0
	return append(cc.inBuckets(corrected), added.inBuckets(onlyAdded)...)
}

// SettleResponse notes what a response has used whose call was begun by another process. c has the
// person and the tool of that call, and what the API reports. SettleResponse sets GuessedTokens of
// c. It adds the difference to what the other process has reserved or, with Unreserved of c, takes
// the whole call.
//
// The store remembers the response for two days. observes tells whether the caller observes the
// end:
//
//	the store has settled it now    true
//	the store may have settled it   true; the end is kept, and noted again if need be
//	another process has settled it  false
//	the store fails                 false: the process that began the call may observe the end, and
//	                                it is noted when the store works again
//	no store, or no limit           false: that process may observe the end; nothing is noted
func (b *Budget) SettleResponse(c *call.Call, responseID string) (observes bool) {
	store := b.storeOf(c.Person)
	if store == nil {
		return false
	}
	use := b.countUsed(c.Tool, c)
	correction := callChange{use: use.plus(b.reservation(c.Tool).times(-1))}
	if c.Unreserved {
		correction.use = use
		correction.use[unitCalls] = 1
	}
	buckets := b.buckets(c.Person)
	end := storeChange{
		marks:   []mark{endMark(responseID)},
		buckets: correction.inBuckets(buckets),
	}
	r := store.applyOrPostpone(end)
	if r.outcome == notRun || r.outcome == refusedByMark {
		return false
	}
	b.noteNear(nearWords{}, c.Person, end.buckets, r.shares)

	// The buckets of this process have no reservation of the call. The call itself counts in the
	// process that began it.
	correction.use = use
	b.local.apply(b.local.minute(), correction.inBuckets(buckets))
	return true
}
