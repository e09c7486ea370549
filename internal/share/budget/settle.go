package budget

import (
	"slices"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
)

// End says how a call has ended. The zero value is a call whose end only its process knows.
// docs/reference/limits.md has what counts, and which process observes the call ("Responses in the
// background").
//
// If other processes may read the end of its response, too, the first to read it settles the call.
// For example, a call has reserved 60,000 tokens, and uses 20,000. The store changes so:
//
//	its process is the first   Settle frees 60,000 and uses 20,000. For any other process the store
//	                           refuses SettleResponse.
//	another one is the first   SettleResponse gives 40,000 back. The 60,000 stay reserved, and
//	                           count from the time limit on: together 20,000. The store refuses
//	                           the change of Settle. Settle adds only what a retry or a requery
//	                           has used.
//	its process stops before   If there is time, Settle frees 60,000 and uses as many, as a guess;
//	the response has ended     else the next row applies. SettleResponse gives 40,000 back.
//	its process is killed      The 60,000 count from the time limit on. SettleResponse gives 40,000
//	                           back.
//	the store has not taken    The first of Settle and SettleResponse takes the call with the
//	the call at its start      20,000. If its process stops before the end, SettleResponse does.
//	another one has other      SettleResponse gives nothing back: the 60,000 count, or the tokens that
//	limits or prices           are used if these are more. It could give back what is not reserved,
//	                           but used by other calls.
type End struct {
	NotCounted bool // the call does not count for the quota of calls

	// GoesOn: the call ends with its process, and its response goes on at the API. Another process
	// may read the end of the response, so Settle must not count it. The fields below are zero.
	GoesOn bool

	// ResponseID is the ID of the response whose end other processes may read, too, or "". It need
	// not be the last response of the call.
	ResponseID string

	// ReportedOfResponse is what the API has reported of that response. Only this process knows
	// what the API has reported of other responses of the call, those of a retry or a requery.
	ReportedOfResponse call.Reported
}

// Settle replaces what a call has reserved by what it has used, at the end of the call. It sets
// GuessedTokens and NearLimit of c, and with GoesOn it clears RequestInput.
//
// observes tells whether the caller observes the end. It is false if the call goes on at the API,
// or another process has settled the call in the store; else true, also while the store fails.
func (t *Taken) Settle(c *call.Call, end End) (observes bool) {
	if end.GoesOn {
		// The response is an UnreportedBegun of c. Without an input, countUsed guesses what is
		// reserved, and SettleResponse gives as much back. A long input would make the guess more.
		c.RequestInput = nil
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
	ofResponse, useOfOthers := ofCall, amount{}
	if end.ResponseID != "" {
		useOfOthers = t.usedByOtherResponses(c, end)
		ofResponse.use = ofCall.use.plus(useOfOthers.times(-1))
	}
	toStore, storeReply := t.settleInStore(ofResponse, end)
	if storeReply.isDecided() { // its buckets have the calls of all processes
		changes, r = toStore.buckets, storeReply // without shares if a mark refuses the change
	}

	// The shares lack what other responses have used: the next call of the person notes that.
	b.noteNear(t.nearWords, t.person, changes, r.shares)
	c.NearLimit = t.nearWords.of(b.buckets(t.person))

	t.settleOtherResponses(useOfOthers)
	// Of the marks of this change only an endMark refuses: then another process has settled the call.
	// Nothing settles the key of a releaseMark before.
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
// While the store fails, the change is kept if it has a mark. With a releaseMark, the store has a
// reservation to free. With an endMark, the end must count once, and another process may read it,
// too. For other calls the local buckets are enough.
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
	case end.GoesOn: // nothing is sent: SettleResponse takes the call
	default:
		// 1 for the call itself, which the store has not counted yet. With NotCounted -1 becomes 0.
		correction.use[unitCalls]++
		correction.reserve = amount{}
		change.buckets = correction.inBuckets(t.budget.buckets(t.person))
	}
	return change, store.applyOrPostpone(change)
}

// usedByOtherResponses returns what the call has used beside the response of end.ResponseID.
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
// It is a change of its own, because the store refuses the change of the call if another process
// has settled the call.
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

// SettleResponse notes what a response has used, if another process has begun its call. c has the
// person, the tool and the Reservation of the call, and what the API reports. SettleResponse sets
// GuessedTokens and NearLimit of c. What it changes depends on Reservation:
//
//	0                    it takes the whole call
//	that of this Budget  it adds the difference between what is used and what is reserved
//	another one          it gives nothing back: the other process has other limits or prices (see
//	                     End)
//
// The store remembers the response for two days. observes tells whether the caller observes the
// end:
//
//	the store has settled it now    true
//	the store may have settled it   true; the change is kept, and sent again
//	another process has settled it  false
//	the store fails                 false: the process that began the call may observe the end.
//	                                The change is sent when the store works again
//	no store, or no limit           false: the process that began the call may observe the end.
//	                                Nothing is noted
func (b *Budget) SettleResponse(c *call.Call, responseID string) (observes bool) {
	store := b.storeOf(c.Person)
	if store == nil {
		return false
	}
	use := b.countUsed(c.Tool, c)
	buckets := b.buckets(c.Person)
	var correction callChange
	switch c.Reservation {
	case 0:
		correction.use = use
		correction.use[unitCalls] = 1
	case b.reservationHash(c.Tool, buckets):
		correction.use = use.plus(b.reservation(c.Tool).times(-1))
	default: // what is reserved in tokens depends on the tool alone
		correction.use[unitTokens] = max(use[unitTokens]-b.reservation(c.Tool)[unitTokens], 0)
	}
	end := storeChange{
		marks:   []mark{endMark(responseID)},
		buckets: correction.inBuckets(buckets),
	}
	r := store.applyOrPostpone(end)
	if r.outcome == notRun || r.outcome == refusedByMark {
		return false
	}
	words := nearWords{}
	for i, share := range r.shares {
		if share >= nearThousandths { // a lower one is too low: the reservation counts later
			b.noteNear(words, c.Person, end.buckets[i:i+1], r.shares[i:i+1])
		}
	}
	c.NearLimit = words.of(buckets)

	// The buckets of this process have no reservation of the call. The call itself counts in the
	// process that began it.
	correction.use = use
	b.local.apply(b.local.minute(), correction.inBuckets(buckets))
	return true
}
