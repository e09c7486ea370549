package llm

import (
	"cmp"
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

	firstPause = 500 * time.Millisecond // after a refusal that names no time; each further one doubles it
	maxPause   = 8 * time.Second

	maxVerdict  = time.Second // after which a request that was not refused counts as accepted
	limitMemory = time.Minute // without a refusal and without a waiting call a limit is forgotten
	reportEvery = time.Second // how often a waiting call looks how many calls are ahead
)

// pacer lets the calls of one model share the API's rate limit.
//
// The requests of a person go out at once until the API refuses one of them. From then on the
// person is limited, and the calls wait in a queue that the limited people share. The queue sends
// one request after each gap. Points in time are durations since begin. While the lock is free, this
// holds:
//
//   - A call is in the list of its person exactly while it waits for its turn.
//   - The people in the map are limited. Each has a waiting call, or was refused within the last
//     minute, or is forgotten by the next event or the timer.
//   - If a person is in the map, the timer is set to the time when the next call may go out, or
//     earlier.
type pacer struct {
	mu     sync.Mutex
	begin  time.Time          // a minute before the first call, so that 0 is no recent time
	people map[string]*person // by name
	places int                // that calls have got so far
	timer  *time.Timer        // nil until the first refusal

	gap     time.Duration // between two requests of the queue; 0: the limit is not known
	next    time.Duration // when the queue may send its next request
	counted time.Duration // when the last counted refusal came
	rising  bool          // the gap is a guess, and no counted refusal has followed
	untried bool          // the gap is from the API, and no counted refusal has followed
	grown   time.Duration // when the rate rose last; only while rising
	slowest time.Duration // the longest time from a request to its refusal since the limit is known; 0: none
}

// person is the state of a limited person.
type person struct {
	calls    []*pacedCall  // that wait, by place
	latest   *pacedCall    // whose request was sent last
	refused  time.Duration // when the last refusal came
	refusals int           // since the last accepted request
	pause    time.Duration // after a refusal, from the second one on
}

// pacedCall is a call with all its attempts, which follow each other.
type pacedCall struct {
	pacer  *pacer
	person string
	place  int           // order of the first wait among all calls; 0: the call has not waited
	turn   chan struct{} // receives a value when the request may be sent

	last bool // its next request is the last one

	pause time.Duration // after the last refusal that named no time
	ready time.Duration // end of the wait after the last refusal

	sent    time.Duration
	verdict *time.Timer // accepts the request; nil: no request is undecided
}

// newCall returns a call of a person for the pacer of a model.
func (c *Client) newCall(owner, model string) *pacedCall {
	p, _ := c.pacers.LoadOrStore(model, &pacer{
		begin:  time.Now().Add(-limitMemory),
		people: map[string]*person{},
	})
	return &pacedCall{
		pacer:  p.(*pacer),
		person: owner,
		turn:   make(chan struct{}, 1),
	}
}

// Waiting returns how many calls wait for the rate limit.
func (c *Client) Waiting() int { return int(c.waiting.Load()) }

// wait returns when the call may send its next request. Meanwhile it tells the sink how many calls are
// ahead. If ctx ends first, the error is a QueuedError.
func (c *Client) wait(ctx context.Context, turn *pacedCall, call *Call) error {
	if turn.enter() {
		return nil
	}
	select {
	case <-turn.turn: // at once
		return nil
	default:
	}

	c.waiting.Add(1)
	defer c.waiting.Add(-1)
	var tick <-chan time.Time
	if call.Sink != nil {
		tick = time.Tick(reportEvery)
	}
	reported := -1
	for {
		ahead := turn.ahead()
		if ahead != reported {
			reported = ahead
			call.Send(Waiting{ahead})
		}

		select {
		case <-turn.turn:
			return nil
		case <-tick:
		case <-ctx.Done():
			ahead = turn.ahead()
			turn.ended()
			return QueuedError(ahead)
		}
	}
}

func (p *pacer) now() time.Duration { return time.Since(p.begin) }

// lock locks the pacer for an event. It ends the limits of people, and the gap, after a minute
// without a refusal and without a waiting call.
func (p *pacer) lock() {
	p.mu.Lock()
	now := p.now()
	waiting := 0
	for name, owner := range p.people {
		waiting += len(owner.calls)
		if len(owner.calls) == 0 && now-owner.refused >= limitMemory {
			delete(p.people, name)
		}
	}
	if waiting == 0 && now-p.counted >= limitMemory {
		p.gap = 0
		p.slowest = 0
	}
}

// unlock ends an event: it sends the requests that are due, and sets the timer for what is next.
func (p *pacer) unlock() {
	defer p.mu.Unlock()
	for len(p.people) > 0 {
		c, due := p.nextLocked()
		delay := due - p.now()
		switch {
		case c != nil && delay <= 0: // without a call, time has passed since nextLocked
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
	p.lock()
	p.unlock()
}

// enter puts the call into the queue, or reports that its request may be sent at once.
func (c *pacedCall) enter() bool {
	p := c.pacer
	p.lock()
	defer p.unlock()

	owner := p.people[c.person]
	if owner == nil {
		c.sendLocked()
		return true
	}

	if c.place == 0 {
		p.places++
		c.place = p.places
	}
	i := len(owner.calls)
	for i > 0 && owner.calls[i-1].place > c.place {
		i--
	}
	owner.calls = slices.Insert(owner.calls, i, c)
	return false
}

// ended notes that the call waits no more, or that its request ended in some other way than with a
// 2xx or a refusal.
func (c *pacedCall) ended() {
	c.pacer.lock()
	defer c.pacer.unlock()
	c.removeLocked()
	c.decideLocked() // in case its turn has just come
}

// ahead returns how many calls are ahead of c. People take turns, so these are the calls of its
// person before it, and as many of each other person.
func (c *pacedCall) ahead() int {
	p := c.pacer
	p.lock()
	defer p.unlock()

	place := 0
	owner := p.people[c.person]
	if owner != nil {
		place = max(0, slices.Index(owner.calls, c)) // 0: its turn has just come
	}
	ahead := place
	for _, other := range p.people {
		if other != owner {
			ahead += min(place, len(other.calls))
		}
	}
	return ahead
}

// sendLocked notes that the request of c goes out. Without a refusal in twice the time that a
// refusal takes, it counts as accepted: a plain answer sends its headers at its end.
func (c *pacedCall) sendLocked() {
	limit := min(2*cmp.Or(c.pacer.slowest, maxVerdict), maxVerdict)
	sent := c.pacer.now()
	c.sent = sent
	c.verdict = time.AfterFunc(limit, func() { c.accepted(sent) })
}

// accepted notes that the request that was sent at this time counts as accepted, if it is undecided.
// That ends the refusals of the person and shortens the gap.
func (c *pacedCall) accepted(sent time.Duration) {
	p := c.pacer
	p.lock()
	defer p.unlock()

	if c.verdict == nil || c.sent != sent {
		return
	}
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
	// firstGap, because many APIs ask for whole seconds. After an outage the gap is a guess again. A guess and
	// such a gap shrink by a quarter, others by a twentieth.
	switch {
	case p.gap == 0:
	case outage:
		p.gap = min(p.gap, firstGap/2)
		p.rising = true
		p.grown = p.now()
	case p.rising && sent > p.grown:
		p.gap = max(minGap, p.gap*3/4)
		p.grown = p.now()
	case p.rising:
	case sent > p.counted:
		p.gap = max(minGap, p.gap*19/20)
	case p.untried && p.gap > firstGap:
		p.gap = max(firstGap, p.gap*3/4)
	}
}

// decideLocked ends the time in which the request of c is undecided, if there is one.
func (c *pacedCall) decideLocked() {
	if c.verdict != nil {
		c.verdict.Stop()
		c.verdict = nil
	}
}

// refused notes that the API refused the request with a 429. asked is the wait that the API asks
// for, or 0. refused returns how long this call has to wait; no other call has to.
func (c *pacedCall) refused(asked time.Duration) time.Duration {
	p := c.pacer
	p.lock()
	defer p.unlock()

	now := p.now()
	c.decideLocked()
	p.slowest = max(p.slowest, now-c.sent)

	wait := asked
	if wait == 0 {
		c.pause = nextPause(c.pause)
		wait = c.pause
	}
	c.ready = now + wait

	owner := p.people[c.person]
	if owner == nil {
		owner = &person{latest: c}
		p.people[c.person] = owner
	}
	owner.refusals++
	switch {
	case owner.refusals == 1:
		p.countLocked(c.sent, asked)
	case owner.pause == 0, c.sent > owner.refused: // else it was on its way with the last one
		owner.pause = nextPause(owner.pause)
	}
	owner.refused = now
	return wait
}

// countLocked makes the gap longer after a refusal of a request that was sent at sent. Of requests
// that were on their way together only the first refusal does.
func (p *pacer) countLocked(sent, asked time.Duration) {
	now := p.now()
	switch {
	case p.gap == 0:
		p.gap = min(max(cmp.Or(asked, firstGap), minGap), maxFirstGap)
		p.rising = asked == 0
		p.untried = asked > 0
		p.grown = now
		p.next = now + p.gap
	case sent > p.counted:
		p.gap = min(p.gap*3/2, maxGap)
		p.rising = false
		p.untried = false
		p.next = now + p.gap
	}
	p.counted = now
}

func nextPause(pause time.Duration) time.Duration {
	return min(max(firstPause, 2*pause), maxPause)
}

// releaseLocked lets a waiting call send its request.
func (p *pacer) releaseLocked(c *pacedCall) {
	c.removeLocked()
	c.sendLocked()
	c.turn <- struct{}{}
	p.next = c.sent + p.gap
	p.people[c.person].latest = c
}

// nextLocked returns the next call of the queue and when it may go out. Next is the person who was
// served longest ago, among those who have a call that is ready. If there is none, nextLocked
// returns nil and when to look again.
func (p *pacer) nextLocked() (*pacedCall, time.Duration) {
	now := p.now()
	var next *pacedCall
	var served time.Duration
	again := now + limitMemory // to forget
	for _, owner := range p.people {
		c, ready := owner.next(now)
		switch {
		case c == nil:
		case ready > now:
			again = min(again, ready)
		case next == nil, owner.latest.sent < served:
			next = c
			served = owner.latest.sent
		}
	}

	switch {
	case next == nil:
		return nil, again
	case next.last: // there is more room later
		return next, max(p.next, next.ready) + p.gap
	}
	return next, p.next
}

// next returns the person's next call and when it is ready: the first in the list that is ready
// now, else the one that is ready first. After a second refusal the person sends one request at a
// time, each after a pause. next returns nil if no call waits or a request has to be decided first.
func (owner *person) next(now time.Duration) (*pacedCall, time.Duration) {
	alone := owner.pause > 0
	if len(owner.calls) == 0 || alone && owner.latest.verdict != nil {
		return nil, 0
	}

	next := owner.calls[0]
	for _, c := range owner.calls {
		if c.ready < next.ready {
			next = c
		}
		if next.ready <= now {
			break
		}
	}
	if alone {
		return next, max(next.ready, owner.refused+owner.pause)
	}
	return next, next.ready
}

// removeLocked takes c out of the list of its person, if it is there.
func (c *pacedCall) removeLocked() {
	owner := c.pacer.people[c.person]
	if owner == nil {
		return
	}
	i := slices.Index(owner.calls, c)
	if i >= 0 {
		owner.calls = slices.Delete(owner.calls, i, i+1)
	}
}
