package llm

import (
	"context"
	"fmt"
	"math"
	"slices"
	"sync"
	"time"
)

// The pace of a limited model, in requests per second. It grows by half with
// each request until the API refuses one, then by a tenth of what was refused
// in each second; a refusal cuts it to seven tenths.
const (
	minPace     = 1.0 / 60
	maxPace     = 100.0
	startPace   = 1.0 // at least, after the first refusal
	paceStart   = 1.5
	paceGain    = 0.02
	paceCut     = 0.7
	firstPause  = 500 * time.Millisecond // after a refusal without a Retry-After
	maxPause    = 8 * time.Second
	paceMemory  = time.Minute // without a refusal: the model is not limited any more
	aheadUpdate = time.Second // between two Waiting events of a call
)

// pacer lets the calls of one model share the API's rate limit. Until the API
// refuses a request with a 429 it does nothing. From then on the calls wait in
// the order of their arrival and go out one by one, at a pace that follows what
// the API accepts.
type pacer struct {
	mu     sync.Mutex
	queue  []*turn       // of the calls that wait
	pace   float64       // requests per second; 0: no limit is known
	peak   float64       // pace at the last refusal; 0: none since the limit is known
	next   time.Time     // when the next call may go out
	resume time.Time     // the end of the wait that the API asked for
	cut    time.Time     // of the last refusal that changed the pace
	sent   int           // requests since then
	grown  time.Time     // when the pace grew by half
	delay  time.Duration // from a request to its refusal, at most
	streak int           // refusals in a row
}

// turn is the place of a call in the queue.
type turn struct{ first chan struct{} } // gets a value when the call has become the first

// wait returns when a call may send its request, and reports how many calls are
// ahead of it meanwhile. The last request of a call that was refused several
// times goes out later than its pace, when the API will hardly refuse it. wait
// fails at once if the API asked for a wait that ends after the deadline of ctx.
func (p *pacer) wait(ctx context.Context, last bool, report func(ahead int)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 && time.Since(p.cut) > paceMemory {
		p.pace = 0
	}
	if p.pace == 0 {
		return nil
	}
	me := &turn{make(chan struct{}, 1)}
	p.queue = append(p.queue, me)
	defer p.leaveLocked(me)
	reported := -1
	for {
		ahead := slices.Index(p.queue, me)
		delay := time.Until(p.next)
		if last {
			delay += p.interval()
		}
		if ahead == 0 && delay <= 0 {
			p.sendLocked()
			return nil
		}
		deadline, ok := ctx.Deadline()
		if ok && p.resume.After(deadline) {
			return &Error{
				Kind:       KindRateLimit,
				Message:    fmt.Sprintf("the API asks to wait longer than the call may take, %d ahead", ahead),
				RetryAfter: time.Until(p.resume),
				final:      true,
			}
		}
		if ahead > 0 || delay > aheadUpdate {
			delay = aheadUpdate
		}
		p.mu.Unlock()
		if ahead != reported {
			report(ahead)
			reported = ahead
		}
		select {
		case <-me.first:
		case <-time.After(delay):
		case <-ctx.Done():
		}
		p.mu.Lock()
		if ctx.Err() != nil {
			return QueuedError(slices.Index(p.queue, me))
		}
	}
}

// leaveLocked removes a call from the queue and wakes the next one.
func (p *pacer) leaveLocked(t *turn) {
	i := slices.Index(p.queue, t)
	p.queue = slices.Delete(p.queue, i, i+1)
	if i == 0 && len(p.queue) > 0 {
		p.queue[0].first <- struct{}{}
	}
}

// sendLocked counts a request and sets the time of the next one. A request counts
// as accepted until the API refuses it, which it does at once.
func (p *pacer) sendLocked() {
	p.next = time.Now().Add(p.interval())
	p.sent++
	switch {
	case p.peak > 0:
		p.pace += paceGain * p.peak / max(1, p.pace*p.delay.Seconds())
	case time.Since(p.grown) >= 2*p.delay: // else a refusal may be on its way
		p.pace *= paceStart
		p.grown = time.Now()
	}
	p.pace = min(p.pace, maxPace)
}

// interval is the time between two requests.
func (p *pacer) interval() time.Duration { return time.Duration(float64(time.Second) / p.pace) }

// refused slows the model down after a 429. The API asked to wait for after, or
// for nothing. Of the requests that were on their way together, the first one
// that is refused counts.
func (p *pacer) refused(sent time.Time, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	p.delay = min(max(p.delay, now.Sub(sent)), time.Second)
	isNew := p.pace == 0 || sent.After(p.cut)
	if isNew {
		p.streak++
		if p.sent > 1 {
			p.streak = 1
		}
		switch {
		case p.pace == 0:
			p.pace = startPace
			if after > 0 {
				p.pace = min(max(startPace, 1/after.Seconds()), maxPace)
			}
			p.peak = 0
		case p.peak == 0: // the start overshoots: what was accepted counts
			p.peak = min(p.pace, float64(p.sent)/now.Sub(p.cut).Seconds())
			p.pace = max(p.peak*paceCut, minPace)
		case p.streak == 1: // else the pause grows
			p.peak = p.pace
			p.pace = max(p.pace*paceCut, minPace)
		}
		p.cut, p.sent = now, 0
	}
	pause := min(firstPause*time.Duration(math.Exp2(float64(p.streak-1))), maxPause)
	if after > 0 && p.streak == 1 {
		pause = after
	}
	p.resume = later(p.resume, now.Add(after))
	p.next = later(p.next, now.Add(max(pause, after)))
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// pacer returns the pacer of a model.
func (c *Client) pacer(model string) *pacer {
	p, _ := c.pacers.LoadOrStore(model, &pacer{})
	return p.(*pacer)
}

// Waiting returns how many calls wait for the rate limit.
func (c *Client) Waiting() (n int) {
	for _, p := range c.pacers.Range {
		p := p.(*pacer)
		p.mu.Lock()
		n += len(p.queue)
		p.mu.Unlock()
	}
	return n
}
