package llm

import (
	"context"
	"time"
)

// Stats says what a call took, also when it failed. The call changes it until it has ended.
type Stats struct {
	Attempts  int           // requests that were sent
	Time      time.Duration // of these requests, each until the end of its answer
	Waited    time.Duration // for the rate limit
	RequestID string        // of the last answer, known as soon as its header is there
}

type statsKey struct{} // of a context's value

// WithStats returns a context for one call, which adds to s.
func WithStats(ctx context.Context, s *Stats) context.Context {
	return context.WithValue(ctx, statsKey{}, s)
}

// statsOf returns the Stats of a context, or some that are not used.
func statsOf(ctx context.Context) *Stats {
	s, ok := ctx.Value(statsKey{}).(*Stats)
	if !ok {
		return &Stats{}
	}
	return s
}

// ended counts a request that was sent at that time.
func (s *Stats) ended(sent time.Time) {
	s.Attempts++
	s.Time += time.Since(sent)
}
