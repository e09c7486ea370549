package llm

import (
	"context"
	"slices"
	"sync"
	"time"
)

// Times of the pacer.
const (
	firstGap    = 500 * time.Millisecond // where the API names no time
	maxFirstGap = time.Second            // where it does
	minGap      = 10 * time.Millisecond
	maxGap      = 30 * time.Second

	firstPause = 500 * time.Millisecond // after a refusal that names no time; doubled by each further one
	maxPause   = 8 * time.Second

	maxVerdict  = time.Second // after which a request that was not refused counts as accepted
	limitMemory = time.Minute // without a refusal and without a waiting call a limit is forgotten
	reportEvery = time.Second // how often a waiting call looks how many calls are ahead
)

// The factors by which refused and accepted requests change the gap.
const (
	refusedFactor  = 1.5
	acceptedFactor = 0.95
	risingFactor   = 0.75 // until the first guess is confirmed
)

// pacer lets the calls of one model share the API's rate limit.
//
// The requests of a person go out at once until the API refuses one of them. From then on the
// person is limited, and the calls wait in a queue that the limited people share. The queue sends
// one request after each gap. While the lock is free, this holds:
//
//   - A call is in the list of its person exactly while it waits for its turn.
//   - The people in the map are limited. Each has a waiting call, or was refused within the last
//     minute, or is forgotten by the next event or the timer.
//   - If a person is in the map, the timer is set to the time when the next call may go out, or
//     earlier. Whatever brings that time forward calls scheduleLocked.
type pacer struct {
	mu     sync.Mutex
	people map[string]*person // by name
	places int                // that calls have got so far
	timer  *time.Timer        // nil until the first refusal

	gap     time.Duration // between two requests of the queue; 0: the limit is not known
	next    time.Time     // when the queue may send its next request
	counted time.Time     // when the last counted refusal came
	untried bool          // the gap is from the API, and no counted refusal has followed
	rising  bool          // the same, but the gap is a guess
	grown   time.Time     // when the rate rose last; only while rising

	slowest   time.Duration // the longest time from a request to its refusal, in the last minute
	slowestAt time.Time
}

// person is the state of a limited person.
type person struct {
	calls     []*pacedCall // that wait, by place
	served    time.Time    // when the last request was sent
	refused   time.Time    // when the last refusal came
	refusals  int          // since the last accepted request
	pause     time.Duration
	undecided int // requests of the queue that are neither accepted nor refused yet
}

// pacedCall is a call with all its attempts, which follow each other.
type pacedCall struct {
	pacer  *pacer
	person string
	place  int           // order of the first wait among all calls; 0: the call has not waited
	turn   chan struct{} // receives a value when the request may be sent

	last  bool          // the next attempt is the last one
	pause time.Duration // after the last refusal that named no time
	ready time.Time     // end of the wait after the last refusal

	sent    time.Time
	queued  *person     // whose undecided requests include this one; nil: none
	verdict *time.Timer // accepts the request; nil: no request is undecided
}

type personKey struct{} // key of a context's value

// WithPerson returns a context whose calls belong to person. The API's rate limit is shared among
// people: they take turns, and the refusals of one person do not delay another. Calls without a
// person belong to one and the same.
func WithPerson(ctx context.Context, person string) context.Context {
	return context.WithValue(ctx, personKey{}, person)
}

// pacer returns the pacer of a model.
func (c *Client) pacer(model string) *pacer {
	p, _ := c.pacers.LoadOrStore(model, &pacer{people: map[string]*person{}})
	return p.(*pacer)
}

// newCall returns a call of the person of ctx.
func (p *pacer) newCall(ctx context.Context) *pacedCall {
	name, _ := ctx.Value(personKey{}).(string)
	return &pacedCall{pacer: p, person: name, turn: make(chan struct{}, 1)}
}

// wait returns when the call may send its next request. Meanwhile it tells e how many calls are
// ahead. If ctx ends first, the error is a QueuedError.
func (c *pacedCall) wait(ctx context.Context, last bool, e *emitter) error {
	c.enter(last)
	select {
	case <-c.turn:
		return nil
	default:
	}

	var tick <-chan time.Time
	if e.watched() {
		ticker := time.NewTicker(reportEvery)
		defer ticker.Stop()
		tick = ticker.C
	}
	reported := -1
	for {
		ahead := c.ahead()
		if ahead != reported {
			reported = ahead
			e.send(Waiting{ahead})
		}

		select {
		case <-c.turn:
			return nil
		case <-tick:
		case <-ctx.Done():
			return QueuedError(c.ended())
		}
	}
}

// enter sends the request of the call at once, or puts the call into the queue.
func (c *pacedCall) enter(last bool) {
	p := c.pacer
	p.mu.Lock()
	defer p.mu.Unlock()

	p.forgetLocked()
	c.last = last
	owner := p.people[c.person]
	if owner == nil {
		c.sendLocked()
		return
	}

	if c.place == 0 {
		p.places++
		c.place = p.places
	}
	i, _ := owner.find(c)
	owner.calls = slices.Insert(owner.calls, i, c)
	p.scheduleLocked()
}

// ended notes that the call waits no more, or that its request ended in some other way than with a
// 2xx or a refusal. It returns how many calls were ahead.
func (c *pacedCall) ended() int {
	p := c.pacer
	p.mu.Lock()
	defer p.mu.Unlock()

	ahead := c.aheadLocked()
	p.removeLocked(c)
	c.decideLocked() // in case its turn has just come
	p.scheduleLocked()
	return ahead
}

func (c *pacedCall) ahead() int {
	c.pacer.mu.Lock()
	defer c.pacer.mu.Unlock()
	return c.aheadLocked()
}

// aheadLocked returns how many calls are ahead of c. People take turns, so these are the calls of
// its person before it, and as many of each other person.
func (c *pacedCall) aheadLocked() int {
	owner := c.pacer.people[c.person]
	if owner == nil {
		return 0
	}
	place, _ := owner.find(c)
	if place == 0 {
		return 0
	}

	ahead := place
	for _, other := range c.pacer.people {
		if other != owner {
			ahead += min(place, len(other.calls))
		}
	}
	return ahead
}

// sendLocked lets the request of c go out. Without a refusal in twice the time that a refusal takes,
// it counts as accepted: a plain answer sends its headers at its end.
func (c *pacedCall) sendLocked() {
	p := c.pacer
	limit := maxVerdict
	if recent(p.slowestAt) {
		limit = min(limit, 2*p.slowest)
	}

	sent := time.Now()
	c.sent = sent
	c.verdict = time.AfterFunc(limit, func() { c.accepted(sent) })
	c.turn <- struct{}{}
}

// accepted notes that the request that was sent at this time counts as accepted, if it is undecided.
func (c *pacedCall) accepted(sent time.Time) {
	c.pacer.mu.Lock()
	defer c.pacer.mu.Unlock()
	if c.verdict != nil && c.sent == sent {
		c.acceptLocked()
	}
}

// acceptLocked ends the refusals of the person and shortens the gap.
func (c *pacedCall) acceptLocked() {
	p := c.pacer
	c.decideLocked()
	owner := p.people[c.person]
	if owner == nil {
		return // a request without a limit says nothing about the queue
	}
	outage := owner.pause == maxPause
	owner.refusals = 0
	owner.pause = 0

	// Requests that were on their way when the gap changed do not tell whether it is right: an
	// accepted burst says little about the rate. They shorten only a first gap longer than
	// firstGap, because many APIs ask for whole seconds. After an outage the gap is a guess
	// again.
	switch {
	case p.gap == 0:
	case outage:
		p.gap = min(p.gap, firstGap/2)
		p.rising = true
		p.grown = time.Now()
	case p.rising && c.sent.After(p.grown):
		p.gap = max(minGap, scale(p.gap, risingFactor))
		p.grown = time.Now()
	case p.rising:
	case c.sent.After(p.counted):
		p.gap = max(minGap, scale(p.gap, acceptedFactor))
	case p.untried && p.gap > firstGap:
		p.gap = max(firstGap, scale(p.gap, risingFactor))
	}
	p.scheduleLocked()
}

// decideLocked ends the time in which the request of c is undecided, if there is one.
func (c *pacedCall) decideLocked() {
	if c.verdict == nil {
		return
	}
	c.verdict.Stop()
	c.verdict = nil
	if c.queued != nil {
		c.queued.undecided--
		c.queued = nil
	}
}

// refused notes that the API refused the request with a 429. asked is the wait that the API asks
// for, or 0. refused returns how long this call has to wait; no other call has to.
func (c *pacedCall) refused(asked time.Duration) time.Duration {
	p := c.pacer
	p.mu.Lock()
	defer p.mu.Unlock()

	now := time.Now()
	p.forgetLocked()
	c.decideLocked()
	took := now.Sub(c.sent)
	if took >= p.slowest || !recent(p.slowestAt) {
		p.slowest = took
		p.slowestAt = now
	}

	wait := asked
	if wait == 0 {
		c.pause = nextPause(c.pause)
		wait = c.pause
	}
	c.ready = now.Add(wait)

	owner := p.people[c.person]
	if owner == nil {
		owner = &person{served: c.sent}
		p.people[c.person] = owner
	}
	owner.refusals++
	switch {
	case owner.refusals == 1:
		p.countLocked(c.sent, asked)
	case owner.pause == 0, c.sent.After(owner.refused): // else it was on its way with the last one
		owner.pause = nextPause(owner.pause)
	}
	owner.refused = now
	p.scheduleLocked()
	return wait
}

// countLocked makes the gap longer after a refusal of a request that was sent at sent. Of requests
// that were on their way together only the first refusal does.
func (p *pacer) countLocked(sent time.Time, asked time.Duration) {
	now := time.Now()
	switch {
	case p.gap == 0:
		p.gap = firstGap
		p.untried = asked > 0
		p.rising = asked == 0
		p.grown = now
		if asked > 0 {
			p.gap = min(max(asked, minGap), maxFirstGap)
		}
		p.next = now.Add(p.gap)
	case sent.After(p.counted):
		p.gap = min(scale(p.gap, refusedFactor), maxGap)
		p.untried = false
		p.rising = false
		p.next = now.Add(p.gap)
	}
	p.counted = now
}

// recent reports whether t is within the last minute.
func recent(t time.Time) bool {
	return !t.IsZero() && time.Since(t) < limitMemory
}

func nextPause(pause time.Duration) time.Duration {
	return min(max(firstPause, 2*pause), maxPause)
}

func scale(d time.Duration, factor float64) time.Duration {
	return time.Duration(factor * float64(d))
}

// scheduleLocked sends the requests that are due, and sets the timer for what is next.
func (p *pacer) scheduleLocked() {
	p.forgetLocked()
	for len(p.people) > 0 {
		c, due := p.nextLocked()
		delay := time.Until(due)
		switch {
		case delay <= 0:
			p.releaseLocked(c)
		case p.timer == nil:
			p.timer = time.AfterFunc(delay, p.onTimer)
			return
		default:
			p.timer.Reset(delay)
			return
		}
	}
}

func (p *pacer) onTimer() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.scheduleLocked()
}

// releaseLocked lets a waiting call send its request.
func (p *pacer) releaseLocked(c *pacedCall) {
	now := time.Now()
	p.removeLocked(c)
	p.next = now.Add(p.gap)

	owner := p.people[c.person]
	owner.served = now
	owner.undecided++
	c.queued = owner
	c.sendLocked()
}

// nextLocked returns the next call of the queue and when it may go out. Next is the person who was
// served longest ago, among those who have a call that is ready. If there is none, nextLocked
// returns nil and when to look again.
func (p *pacer) nextLocked() (*pacedCall, time.Time) {
	now := time.Now()
	var next *pacedCall
	var served time.Time
	again := now.Add(limitMemory) // to forget
	for _, owner := range p.people {
		c, ready := owner.next(now)
		switch {
		case c == nil:
		case ready.After(now):
			if ready.Before(again) {
				again = ready
			}
		case next == nil, owner.served.Before(served):
			next = c
			served = owner.served
		}
	}

	if next == nil {
		return nil, again
	}
	due := p.next
	if next.last { // there is more room later
		if next.ready.After(due) {
			due = next.ready
		}
		due = due.Add(p.gap)
	}
	return next, due
}

// next returns the person's next call and when it is ready: the first in the list that is ready
// now, else the one that is ready first. After a second refusal the person sends one request at a
// time, each after a pause. next returns nil if no call waits or a request has to be decided first.
func (owner *person) next(now time.Time) (*pacedCall, time.Time) {
	alone := owner.pause > 0
	if len(owner.calls) == 0 || alone && owner.undecided > 0 {
		return nil, time.Time{}
	}

	next := owner.calls[0]
	for _, c := range owner.calls {
		if !next.ready.After(now) {
			break
		}
		if c.ready.Before(next.ready) {
			next = c
		}
	}

	resume := owner.refused.Add(owner.pause)
	if alone && resume.After(next.ready) {
		return next, resume
	}
	return next, next.ready
}

// find returns where c is in the list, or where it belongs, and whether it is there.
func (owner *person) find(c *pacedCall) (int, bool) {
	return slices.BinarySearchFunc(owner.calls, c, func(a, b *pacedCall) int { return a.place - b.place })
}

// removeLocked takes c out of the list of its person, if it is there.
func (p *pacer) removeLocked(c *pacedCall) {
	owner := p.people[c.person]
	if owner == nil {
		return
	}
	i, found := owner.find(c)
	if found {
		owner.calls = slices.Delete(owner.calls, i, i+1)
	}
}

// forgetLocked ends the limits of people, and the gap, after a minute without a refusal and without
// a waiting call.
func (p *pacer) forgetLocked() {
	waiting := 0
	for name, owner := range p.people {
		waiting += len(owner.calls)
		if len(owner.calls) == 0 && !recent(owner.refused) {
			delete(p.people, name)
		}
	}
	if waiting == 0 && !recent(p.counted) {
		p.gap = 0
	}
}

// Waiting returns how many calls wait for the rate limit.
func (c *Client) Waiting() (n int) {
	for _, v := range c.pacers.Range {
		p := v.(*pacer)
		p.mu.Lock()
		for _, owner := range p.people {
			n += len(owner.calls)
		}
		p.mu.Unlock()
	}
	return n
}
