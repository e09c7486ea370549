package budget

import "context"

// maxPending bounds Store.pending; beyond it what a call has reserved counts as used.
const maxPending = 1000

// pendingChange is a change for the store when it works again: the end of a call, or the return of
// a call that the store may have taken (giveBackLater).
type pendingChange struct {
	change
	claim        *change // see giveBackLater; nil for the end of a call
	maybeApplied bool    // the store may have made the change, and its reply was lost
}

// applyOrKeep applies the end of a call, if there is a store: now or, if the script does not run
// now, when the store works again. An end that the store may have got (storeUnsure) is kept, too:
// its mark refuses it if the store has it already. A refused releaseMark refuses nothing here, see
// applyEnd.
func (s *Store) applyOrKeep(end change) (r reply, result storeResult) {
	r, result = s.applyEnd(end)
	if result != storeRan && !end.isEmpty() && s != nil {
		s.keep(pendingChange{change: end, maybeApplied: result == storeUnsure})
	}
	return r, result
}

// applyEnd applies the end of a call that the store cannot have yet. If releaseMark refuses it, the
// store has lost the key of the call, as by FLUSHALL: then the end adds what the call has used.
func (s *Store) applyEnd(end change) (r reply, result storeResult) {
	r, result = s.apply(end)
	if r.refusedByMark && end.marks[0].needs == stateTaken { // a releaseMark has no mark beside it
		forget := end.marks[0]
		forget.needs = anyState
		return s.apply(change{[]mark{forget}, end.buckets})
	}
	return r, result
}

// giveBackLater gives back what a call may have taken, once, when the store works again. callName
// is the random name of the call. First its claimMark makes the store refuse the call, whose start
// may still be on its way in an old connection. If that is refused, the store has taken the call,
// or it has this claim already: then releaseMark refuses the change.
func (s *Store) giveBackLater(callName string, buckets []bucketChange) {
	s.keep(pendingChange{
		claim:        &change{marks: []mark{claimMark(callName)}},
		change:       change{[]mark{releaseMark(callName)}, buckets},
		maybeApplied: true,
	})
}

// keep keeps a change for Probe, unless there are too many, which it logs once until the store works
// again. It does not use the store: a call that ends does not wait until the store has all of them.
func (s *Store) keep(p pendingChange) {
	s.mu.Lock()
	drops := len(s.pending) >= maxPending
	logs := drops && !s.dropped
	s.dropped = s.dropped || drops
	if !drops {
		s.pending = append(s.pending, p)
	}
	s.mu.Unlock()
	if logs {
		s.log.Warn("the store of the limits has missed too many changes: what further calls reserve "+
			"counts as used", "kept", maxPending)
	}
}

// applyPending gives the store the changes that it has missed, one after another, until ctx ends or
// the store fails. What does not run is kept again.
func (s *Store) applyPending(ctx context.Context) {
	for n := s.countPending(); n > 0 && ctx.Err() == nil && !s.IsFailing(); n-- {
		s.mu.Lock()
		p := s.pending[0] // nothing else removes one
		s.pending = s.pending[1:]
		s.mu.Unlock()
		result := s.retryPending(p)
		if result != storeRan {
			p.maybeApplied = p.maybeApplied || result == storeUnsure
			s.keep(p)
		}
	}
}

// countPending counts the changes that the store has missed.
func (s *Store) countPending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// retryPending sends a pending change. If its claim is refused, either the store has taken the call,
// and the change gives it back, or it has an earlier claim, whose reply was lost: then the mark of
// the change refuses it.
func (s *Store) retryPending(p pendingChange) (result storeResult) {
	if p.claim != nil {
		r, result := s.apply(*p.claim)
		if result != storeRan || !r.refusedByMark { // it fails, or had not taken the call
			return result
		}
	}
	if p.maybeApplied {
		_, result = s.apply(p.change)
	} else {
		_, result = s.applyEnd(p.change)
	}
	return result
}
