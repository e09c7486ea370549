package server

import (
	"cmp"
	"maps"
	"math"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/call"
	"golang.org/x/time/rate"
)

// hourLimit bounds the calls that each person starts in an hour. A person has a bucket of that many
// calls, which refills evenly.
type hourLimit struct {
	calls int // 0: no limit

	mu      sync.Mutex               // guards buckets
	buckets map[string]*rate.Limiter // by ID of the person; one that is not there is full
}

// take takes calls of a person from the bucket; a negative number gives them back. The error is of
// call.KindLimited.
func (h *hourLimit) take(id string, calls int) error {
	if h.calls == 0 {
		return nil
	}
	h.mu.Lock()
	defer h.mu.Unlock()

	most := float64(h.calls)
	maps.DeleteFunc(h.buckets, func(_ string, b *rate.Limiter) bool { return b.Tokens() >= most })
	bucket := cmp.Or(h.buckets[id], rate.NewLimiter(rate.Limit(most/3600), h.calls))
	h.buckets[id] = bucket
	if bucket.AllowN(time.Now(), calls) {
		return nil
	}

	minutes := (1 - bucket.Tokens()) * 60 / most
	return call.KindLimited.Errorf("limit of %d calls an hour reached; "+
		"a call is possible in %v min", h.calls, math.Ceil(minutes))
}
