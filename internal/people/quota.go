package people

import (
	"math"
	"time"

	"golang.org/x/time/rate"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
)

// quota returns a full bucket of the calls of an hour. It refills evenly.
func (l Limits) quota() *rate.Limiter {
	return rate.NewLimiter(rate.Limit(l.PerHour)/3600, l.PerHour)
}

// TakeCalls takes calls from the quota of a person, by ID; a negative number gives them back. The
// error is of call.KindLimited.
func (r *Registry) TakeCalls(id string, calls int) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	quota := r.entryLocked(id).quota
	if r.Limits.PerHour == 0 || quota.AllowN(time.Now(), calls) {
		return nil
	}

	minutes := (1 - quota.Tokens()) * 60 / float64(r.Limits.PerHour)
	return call.KindLimited.Errorf("limit of %d calls an hour reached; "+
		"a call is possible in %v min", r.Limits.PerHour, math.Ceil(minutes))
}
