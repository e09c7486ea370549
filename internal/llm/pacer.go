package llm

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"
)

// The pace of a limited model, in requests per second. It grows by half and half
// again until the API refuses a request, then with each request by a fiftieth of
// what was refused. A refusal cuts it to seven tenths.
const (
	minPace    = 1.0 / 60
	maxPace    = 100.0
	startPace  = 1.0 // at least, after the first refusal
	startGain  = 1.5
	paceGain   = 0.02
	paceCut    = 0.7
	firstPause = 500 * time.Millisecond // after a refusal that names no time; up to 16 times as long while others follow
	paceMemory = time.Minute            // without a refusal and without a queue the limit is forgotten
)

// pacer lets the calls of one model share the API's rate limit. Until the API refuses a request
// with a 429 it does nothing. From then on the calls wait in the order of their arrival and go out
// one by one, at a pace that follows what the API accepts.
type pacer struct {
	mu      sync.Mutex
	queue   []chan struct{} // of the calls that wait; a value says that the queue has changed
	pace    float64         // 0: no limit is known
	refusal float64         // pace at the last refusal; 0: still growing from the start
	next    time.Time       // when the next call may go out
	resume  time.Time       // the end of the wait that the API asked for
	cut     time.Time       // when a refusal changed the pace
	sent    int             // requests since then
	grown   time.Time       // when the pace grew by half
	delay   time.Duration   // from the last request that was refused to its refusal
	streak  int             // refusals in a row
}

// wait returns when a call may send its request, and meanwhile reports how many calls are ahead.
// The last request of a call that was refused several times goes out later than its pace, when the
// API will hardly refuse it. wait fails as soon as the turn is known to be after the deadline of
// ctx.
func (p *pacer) wait(ctx context.Context, last bool, report func(ahead int)) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.queue) == 0 && time.Since(p.cut) > paceMemory && time.Now().After(p.resume) {
		p.pace, p.refusal, p.streak, p.next = 0, 0, 0, time.Time{}
	}
	if p.pace == 0 {
		return nil
	}
	me := make(chan struct{}, 1)
	p.queue = append(p.queue, me)
	defer p.leaveLocked(me)
	for {
		ahead := slices.Index(p.queue, me)
		delay := time.Until(p.next)
		if last {
			delay += p.intervalLocked()
		}
		if ahead == 0 && delay <= 0 {
			p.sendLocked()
			return nil
		}
		earliest := time.Until(p.resume)
		var turn <-chan time.Time
		if ahead == 0 {
			earliest = delay
			turn = time.After(delay)
		}
		deadline, ok := ctx.Deadline()
		if ok && earliest > time.Until(deadline) {
			message := fmt.Sprintf("no turn before the time limit of the call, %d calls ahead", ahead)
			return &Error{Kind: KindRateLimit, Message: message, RetryAfter: earliest, final: true}
		}
		p.yieldLocked(func() {
			report(ahead)
			select {
			case <-turn:
			case <-me:
			case <-ctx.Done():
			}
		})
		if ctx.Err() != nil {
			return QueuedError(slices.Index(p.queue, me))
		}
	}
}

// yieldLocked calls f without the lock.
func (p *pacer) yieldLocked(f func()) {
	p.mu.Unlock()
	defer p.mu.Lock()
	f()
}

// leaveLocked removes a call from the queue and tells those behind it.
func (p *pacer) leaveLocked(me chan struct{}) {
	i := slices.Index(p.queue, me)
	p.queue = slices.Delete(p.queue, i, i+1)
	for _, behind := range p.queue[i:] {
		select {
		case behind <- struct{}{}:
		default: // it has not seen the last change yet
		}
	}
}

// sendLocked counts a request and sets the time of the next one. A request counts as accepted until
// the API refuses it, which it does at once.
func (p *pacer) sendLocked() {
	p.next = time.Now().Add(p.intervalLocked())
	p.sent++
	if time.Since(p.cut) > paceMemory/4 {
		p.refusal = 0 // the limit is gone or was not reached: grow as at the start
	}
	switch {
	case p.refusal > 0:
		p.pace += paceGain * p.refusal / max(1, p.pace*p.delay.Seconds())
	case time.Since(p.grown) >= 2*p.delay: // else a refusal may be on its way
		p.pace *= startGain
		p.grown = time.Now()
	}
	p.pace = min(p.pace, maxPace)
}

// intervalLocked is the time between two requests.
func (p *pacer) intervalLocked() time.Duration {
	return time.Duration(float64(time.Second) / p.pace)
}

// refused slows the model down after a 429 for a request sent at sent; after is the wait that
// the API asks for, or 0. Of requests on their way together only the first refusal changes the pace.
func (p *pacer) refused(sent time.Time, after time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := time.Now()
	if p.pace == 0 || sent.After(p.cut) {
		p.delay = min(now.Sub(sent), time.Second)
		p.streak++
		if p.sent > 1 {
			p.streak = 1
		}
		switch {
		case p.pace == 0:
			p.pace, p.refusal = startPace, 0
			if after > 0 {
				p.pace = min(max(startPace, 1/after.Seconds()), maxPace)
			}
		case p.refusal == 0: // the start overshoots: what was accepted counts
			p.refusal = min(p.pace, float64(max(p.sent, 1))/now.Sub(p.cut).Seconds())
			p.pace = max(p.refusal*paceCut, minPace)
		case p.streak == 1: // else the pause grows
			p.refusal = p.pace
			p.pace = max(p.pace*paceCut, minPace)
		}
		p.cut, p.sent = now, 0
	}
	pause := after
	if after == 0 || p.streak > 1 {
		pause = firstPause << min(p.streak-1, 4)
	}
	if end := now.Add(after); end.After(p.resume) {
		p.resume = end
	}
	if end := now.Add(max(pause, after)); end.After(p.next) {
		p.next = end
	}
}

// pacer returns the pacer of a model.
func (c *Client) pacer(model string) *pacer {
	p, _ := c.pacers.LoadOrStore(model, &pacer{})
	return p.(*pacer)
}

// Waiting returns how many calls wait for the rate limit.
func (c *Client) Waiting() (n int) {
	for _, v := range c.pacers.Range {
		p := v.(*pacer)
		p.mu.Lock()
		n += len(p.queue)
		p.mu.Unlock()
	}
	return n
}
