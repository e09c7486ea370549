package budget

import "context"

// maxPending bounds Store.pending. If a change is dropped, what its call reserved counts as used.
const maxPending = 1000

// applyOrPostpone makes a change now. If the store does not decide now, the change is postponed
// until the store works again. A change without a mark is not postponed: it could be made twice.
func (s *Store) applyOrPostpone(change storeChange) reply {
	r := s.apply(change)
	if s == nil || r.isDecided() || len(change.marks) == 0 {
		return r
	}
	if r.outcome == unsure {
		change = change.again()
	}
	s.postpone(change)
	return r
}

// postpone leaves a change to Probe. Beyond maxPending it drops the change, and logs this once
// until the store works again. It does not use the store, so that a call that ends need not wait
// for the pending changes.
func (s *Store) postpone(change storeChange) {
	s.mu.Lock()
	isFull := len(s.pending) >= maxPending
	if !isFull {
		s.pending = append(s.pending, change)
	}
	s.mu.Unlock()
	if isFull && s.isFirstLine("dropped changes") {
		s.options.Log.Warn("the store of the limits has missed too many changes: "+
			"what further calls reserve counts as used", "kept", maxPending)
	}
}

// applyPending gives the store the changes that it has missed, one after another. A change that
// does not run, or that is left when ctx ends, is postponed again.
func (s *Store) applyPending(ctx context.Context) {
	s.mu.Lock()
	missed := s.pending
	s.pending = nil
	s.mu.Unlock()
	for _, change := range missed {
		if ctx.Err() == nil {
			s.applyOrPostpone(change)
		} else {
			s.postpone(change)
		}
	}
}
