// Package pacer lets people share the rate limit of an API. A Pacer decides when a request may go
// out, from when the API refused and accepted earlier requests, and makes none itself.
//
// An API does not say how many requests it accepts. So no call waits until the API refuses a
// request of its person. From then on the calls of the person wait in a queue, which sends one
// request after each gap. The gap is an experiment that goes on all the time: an accepted request
// makes it shorter, a refused one longer. People take turns in the queue, and a person whose
// requests are accepted does not wait in it.
//
// For example, a call of a person sends a request, which the API refuses after 10 ms. The API asks
// for a wait of 1.5 s. Two more calls of the person come at 20 ms and 30 ms, and each later request
// is accepted within 10 ms:
//
//	0 ms      request of the first call
//	1,510 ms  its second request, after the wait that the API asked for
//	1,843 ms  request of the second call, after the first gap, a third of a second
//	2,159 ms  request of the third call, after a gap that is 5 % shorter
package pacer

import (
	"cmp"
	"context"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/queue"
)

// Times of the pacer.
const (
	firstGap = time.Second / 3
	minGap   = 10 * time.Millisecond
	maxGap   = 20 * time.Second // if a longer one does not help, the calls that wait share it

	firstPause    = 500 * time.Millisecond // of a call or a person; each further refusal doubles it
	maxPause      = 8 * time.Second        // also of the queue, where the API asks for one
	maxQueuePause = 4 * time.Second        // that refusals in a row lead to

	maxVerdict  = time.Second // after which a request that was not refused counts as accepted
	limitMemory = time.Minute // without a refusal and without a waiting call a limit is forgotten
	reportEvery = time.Second // how often a waiting call looks how many calls are ahead
)

// Pacer lets the calls of one model share the API's rate limit. A Pacer is safe for concurrent use.
//
// The requests of a person go out at once until the API refuses one of them. From then on the
// person is limited, and the calls wait in a queue that the limited people share. The queue sends
// one request after each gap. Points in time are durations since begin. While the lock is free,
// this holds:
//
//   - A call is in the queue exactly while it waits for its turn.
//   - The people in the map are limited. Each has a waiting call, or was refused or had a call that
//     gave up waiting within the last minute, or is forgotten by the next event or the timer.
//   - If a person is in the map, the timer is set to the time when the next call may go out, or
//     earlier.
type Pacer struct {
	mu     sync.Mutex
	begin  time.Time          // a minute before the first call, so that 0 is no recent time
	people map[string]*person // by ID
	queue  queue.Queue        // of limited people
	timer  *time.Timer        // nil until the first refusal

	gap        time.Duration // between two requests of the queue; 0: the limit is not known
	next       time.Duration // when the queue may send its next request
	queuePause time.Duration // after the last refusal that counted; 0: a request was accepted since
	refused    time.Duration // when the last refusal came
	slowest    time.Duration // longest time from a request to its refusal; 0: no limit is known
}

// person is the state of a limited person.
type person struct {
	latest      *Ticket       // whose request was sent last
	refused     time.Duration // when the last refusal came
	left        time.Duration // when a call last gave up waiting
	refusals    int           // of requests of the queue, since the last accepted request
	personPause time.Duration // after a refusal, from the second one on
}

// Ticket is a call with all its attempts, which follow each other. Its methods are called one after
// another: Wait, and then Accepted, Refused or Undecided. Refused or Undecided may also follow
// Accepted, if the API's answer fails after its header.
type Ticket struct {
	pacer     *Pacer
	place     queue.Place
	last      bool          // the next request is the last one
	callPause time.Duration // after the last refusal that named no time

	sent    time.Duration
	verdict *time.Timer // accepts the request; nil: no request is undecided
}

// New returns a Pacer without a limit.
func New() *Pacer {
	return &Pacer{
		begin:  time.Now().Add(-limitMemory),
		people: map[string]*person{},
		queue:  queue.Queue{ByTurns: true},
	}
}

// Ticket returns a ticket for a call of a person.
func (p *Pacer) Ticket(person string) *Ticket {
	t := &Ticket{pacer: p}
	t.place = queue.Place{Person: person, Call: t}
	return t
}

// Waiting returns how many calls wait.
func (p *Pacer) Waiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.Len()
}

// Wait returns when the call may send its next request. The last request of a call goes out four
// gaps later, when there is more room. Meanwhile Wait calls report, unless it is nil, with how many
// calls are ahead, first at once and then when the number has changed.
//
// If ctx ends first, the call leaves the queue, and Wait returns a call.QueuedError. Wait returns
// nil if the turn comes as ctx ends: the turn is taken, and a caller that does not use it calls
// Undecided.
func (t *Ticket) Wait(ctx context.Context, last bool, report func(ahead int)) error {
	turn := t.enter(last)
	if turn == nil {
		return nil
	}
	select {
	case <-turn: // at once
		return nil
	default:
	}

	var tick <-chan time.Time
	if report != nil {
		tick = time.Tick(reportEvery)
	}
	reported := -1
	for {
		ahead := t.ahead()
		if report != nil && ahead != reported {
			report(ahead)
		}
		reported = ahead

		select {
		case <-turn:
			return nil
		case <-tick:
		case <-ctx.Done():
			ahead = t.ahead()
			if t.leave() {
				return call.QueuedError(ahead)
			}
			return nil // the turn has just come
		}
	}
}

func (p *Pacer) now() time.Duration { return time.Since(p.begin) }

// lock locks the pacer for an event. A minute without a refusal and without a waiting call ends the
// limit of a person, and the end of the last limit that of the gap.
func (p *Pacer) lock() {
	p.mu.Lock()
	p.queue.Forget()
	now := p.now()
	for name, owner := range p.people {
		waits := len(p.queue.Waiting[name]) > 0
		if !waits && now-max(owner.refused, owner.left) >= limitMemory {
			delete(p.people, name)
		}
	}
	if len(p.people) == 0 {
		p.gap = 0
		p.queuePause = 0
		p.slowest = 0
	}
}

// unlock ends an event: it sends the requests that are due, and sets the timer for what is next.
func (p *Pacer) unlock() {
	defer p.mu.Unlock()
	for len(p.people) > 0 {
		t, due := p.nextLocked()
		delay := due - p.now()
		switch {
		case t != nil && delay <= 0: // t is nil if no call is ready; then delay may be below 0, too
			p.releaseLocked(t)
		case p.timer == nil:
			p.timer = time.AfterFunc(delay, func() {
				p.lock()
				p.unlock()
			})
			return
		default:
			p.timer.Reset(delay)
			return
		}
	}
}

// enter puts the call into the queue and returns its turn, or nil if the request goes out at once.
func (t *Ticket) enter(last bool) (turn <-chan struct{}) {
	p := t.pacer
	p.lock()
	defer p.unlock()

	t.last = last
	if p.people[t.place.Person] != nil {
		return p.queue.Enter(&t.place)
	}
	t.sendLocked()
	return nil
}

// leave takes the call out of the queue, and reports whether the call was there.
func (t *Ticket) leave() bool {
	p := t.pacer
	p.lock()
	defer p.unlock()

	left := p.queue.Leave(&t.place)
	if left {
		p.people[t.place.Person].left = p.now()
	}
	return left
}

// ahead returns how many calls are ahead of a waiting one.
func (t *Ticket) ahead() int {
	t.pacer.lock()
	defer t.pacer.unlock()
	return t.pacer.queue.Ahead(&t.place)
}

// Undecided notes that the request ended in some other way than with a 2xx or a refusal.
func (t *Ticket) Undecided() {
	t.pacer.lock()
	defer t.pacer.unlock()
	t.decideLocked()
}

// sendLocked lets the request of t go out. Without a refusal in twice the time that a refusal
// takes, the request counts as accepted: a plain answer sends its headers at its end.
func (t *Ticket) sendLocked() {
	limit := min(2*cmp.Or(t.pacer.slowest, maxVerdict), maxVerdict)
	sent := t.pacer.now()
	t.sent = sent
	t.verdict = time.AfterFunc(limit, func() { t.accept(sent) })
}

// Accepted notes that the request was answered with a 2xx.
func (t *Ticket) Accepted() { t.accept(t.sent) }

// accept notes that the request that was sent at this time counts as accepted, if it is undecided.
// The acceptance ends the refusals of the person and shortens the gap.
func (t *Ticket) accept(sent time.Duration) {
	p := t.pacer
	p.lock()
	defer p.unlock()

	if t.verdict == nil || t.sent != sent {
		return
	}
	t.decideLocked()
	owner := p.people[t.place.Person]
	if owner == nil {
		return // a request without a limit says nothing about the queue
	}
	owner.refusals = 0
	owner.personPause = 0
	if sent > p.refused && p.gap > 0 { // else sent before the gap changed
		p.gap = max(minGap, p.gap*19/20)
		p.queuePause = 0
	}
}

// decideLocked ends the time in which the request of t is undecided, if there is one.
func (t *Ticket) decideLocked() {
	if t.verdict != nil {
		t.verdict.Stop()
		t.verdict = nil
	}
}

// Refused notes that the API refused the request with a 429. retryAfter is the wait that the API
// asks for, or 0. Refused returns how long this call has to wait. The queue may wait less.
func (t *Ticket) Refused(retryAfter time.Duration) time.Duration {
	p := t.pacer
	p.lock()
	defer p.unlock()

	now := p.now()
	t.decideLocked()
	p.slowest = max(p.slowest, now-t.sent)

	wait := retryAfter
	if wait == 0 {
		t.callPause = nextPause(t.callPause)
		wait = t.callPause
	}
	t.place.Ready = now + wait

	owner := p.people[t.place.Person]
	if owner == nil {
		owner = &person{latest: t}
		p.people[t.place.Person] = owner
	}
	if t.place.HasWaited() {
		owner.refusals++
	}
	t.slowDownLocked(owner, retryAfter)
	later := owner.personPause == 0 || t.sent > owner.refused // else both requests were on their way
	if owner.refusals > 1 && later {
		owner.personPause = nextPause(owner.personPause)
	}
	owner.refused = now
	p.refused = now
	return wait
}

// slowDownLocked makes the queue slower after a refusal. The first refusal starts the queue. A
// later refusal counts if the queue sent the request after the last refusal: the gap becomes longer
// if calls wait, but not because of a person who was refused twice before and may have a limit of
// their own. Then the queue makes a pause. If the request after the pause is refused too, a longer
// gap may not help: the next pause becomes longer in its place. The queue also waits as long as the
// API asks for, up to maxPause.
func (t *Ticket) slowDownLocked(owner *person, retryAfter time.Duration) {
	p := t.pacer
	switch {
	case p.gap == 0:
		p.gap = firstGap

	case !t.place.HasWaited() || t.sent <= p.refused:
		return

	case p.queuePause > 0:
		most := max(minGap, maxGap/time.Duration(p.queue.Len()+1))
		p.gap = min(p.gap, most)
		p.queuePause = max(p.gap*3/2, min(p.queuePause*3/2, most*3, maxQueuePause))

	default:
		if owner.refusals <= 2 && p.queue.Len() > 0 {
			p.gap = min(p.gap*5/4, maxGap)
		}
		p.queuePause = p.gap * 3 / 2
	}

	if retryAfter%time.Second == 0 {
		retryAfter -= time.Second // it may be rounded up
	}
	p.next = p.now() + max(p.gap, p.queuePause, min(retryAfter, maxPause))
}

func nextPause(pause time.Duration) time.Duration {
	return min(max(firstPause, 2*pause), maxPause)
}

// releaseLocked lets a waiting call send its request.
func (p *Pacer) releaseLocked(t *Ticket) {
	t.sendLocked()
	p.next = t.sent + p.gap
	p.people[t.place.Person].latest = t
	p.queue.Go(&t.place)
}

// nextLocked returns the next call of the queue and when it may go out. Next is the person who was
// served longest ago, among those who have a call that is ready; of a person, the first such call.
// After a second refusal the person sends one request at a time, each after a pause. If no call is
// ready, nextLocked returns nil and when to look again.
func (p *Pacer) nextLocked() (*Ticket, time.Duration) {
	now := p.now()
	var next *Ticket
	var served time.Duration
	again := now + limitMemory // to forget
	for name, calls := range p.queue.Waiting {
		owner := p.people[name]
		if owner.personPause > 0 && owner.latest.verdict != nil {
			continue // one request at a time
		}

		for _, place := range calls {
			ready := max(place.Ready, owner.refused+owner.personPause)
			if ready > now {
				again = min(again, ready)
				continue
			}
			if next == nil || owner.latest.sent < served {
				next = place.Call.(*Ticket)
				served = owner.latest.sent
			}
			break
		}
	}

	switch {
	case next == nil:
		return nil, again
	case next.last: // there is more room later
		return next, max(p.next, next.place.Ready) + 4*p.gap
	}
	return next, p.next
}
