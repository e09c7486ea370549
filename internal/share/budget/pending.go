package budget

import "context"

// maxPending bounds Store.pending; beyond it what a call has reserved counts as used.
const maxPending = 1000

// applyOrPostpone makes a change now or, if the script does not run now, when the store works
// again. A change without a mark is not postponed: it could be made twice.
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

// postpone leaves a change to Probe, unless there are too many, which it logs once until the store
// works again. It does not use the store: a call that ends does not wait until the store has the
// pending changes.
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
