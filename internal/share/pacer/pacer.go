// Package pacer lets people share the rate limit of an API. A Pacer decides when a request may go
// out, from how the API answered earlier requests, and when. It sends no requests itself.
//
// An API does not say how many requests it accepts. So a call waits only after the API has refused
// a request of its person. From then on the calls of the person wait in a queue, which lets one
// request out after each gap. The queue looks for the shortest gap that the API accepts: an
// accepted request makes the gap shorter, a refused one longer. People take turns in the queue. A
// person whose requests are all accepted does not wait in it.
//
// For example, a call of a person sends a request, which the API refuses after 10 ms. The API asks
// for a wait of 1.5 s. Two more calls of the person come at 20 ms and 30 ms. Each later request is
// accepted within 10 ms:
//
//	0 ms      request of the first call
//	1,510 ms  its second request, after the wait that the API asked for
//	1,843 ms  request of the second call, after the first gap, a third of a second
//	2,159 ms  request of the third call, after a gap that is 5 % shorter
package pacer

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/share/queue"
)

// Times of the pacer.
const (
	firstGap = time.Second / 3
	minGap   = 10 * time.Millisecond
	maxGap   = 20 * time.Second // divided among the waiting calls if a longer gap does not help

	firstPause    = 500 * time.Millisecond // of a call or a person; each further refusal doubles it
	maxPause      = 8 * time.Second        // of a call, a person, or the queue if the API asks
	maxQueuePause = 4 * time.Second        // of the queue after refusals in a row

	maxVerdictTime = time.Second // a request that is not refused by then counts as accepted
	limitTTL       = time.Minute // a limit ends so long after its last refusal or call that gave up
	reportInterval = time.Second // between two looks of a waiting call at how many calls are ahead
)

// Pacer lets the calls of one model share the API's rate limit. A Pacer is safe for concurrent use.
//
// A person is limited from a refusal on. All limited people share the queue. Points in time are
// durations since epoch.
//
// Each event begins with lockAndForget and ends with giveTurnsAndUnlock. Between events this
// holds:
//
//   - A call is in the queue exactly while it waits for its turn.
//   - Each limited person has a waiting call, or was refused within the last minute, or had a call
//     that gave up waiting within the last minute. The next event removes any other person from
//     limited.
//   - If a person is limited, the timer is set to the time when the next call may go out, or
//     earlier.
type Pacer struct {
	mu      sync.Mutex              // guards the fields below and all tickets, see lockAndForget
	epoch   time.Time               // a minute before New, so that a zero time is not recent
	limited map[string]*personState // by ID of the person
	queue   queue.Queue             // calls of limited people
	timer   *time.Timer             // begins the next event; nil until the first refusal

	gap             time.Duration // between two requests of the queue; 0: no limit is known
	nextSendAt      time.Duration // when the queue may let its next request out
	queuePause      time.Duration // after the last refusal that counted; 0 after an accepted request
	lastRefusalAt   time.Duration // when the last refusal came
	lastShortenedAt time.Duration // when an accepted request last shortened the gap
	slowestRefusal  time.Duration // longest time from a request to its refusal; 0 without a limit
}

// personState is the state of a limited person.
type personState struct {
	latestTicket   *Ticket       // call of the last request from the queue, or of the first refusal
	lastRefusalAt  time.Duration // when the last refusal came
	gaveUpAt       time.Duration // when a call last gave up waiting
	refusalsInARow int           // of requests from the queue, none accepted between
	firstRefusalAt time.Duration // when the first refusal in a row came
	pause          time.Duration // from a refusal to the next request; 0 after a first refusal
}

// Ticket is a call with all its requests, one after another. For each request Wait is called, and
// then the verdict of the API on the request is noted: NoteAccepted (a 2xx), NoteRefused (a 429),
// or NoteNoVerdict. If a response fails after its 2xx, NoteRefused or NoteNoVerdict follows
// NoteAccepted. A request whose verdict is known, or is not awaited any more, is decided.
type Ticket struct {
	Waited time.Duration // in the last Wait; 0 if the request went out at once

	pacer       *Pacer
	entry       queue.Entry
	isLastRetry bool          // the next request is the last retry of the call
	isQueued    bool          // the present request waits in the queue, or came from it
	callPause   time.Duration // after the last refusal in which the API named no wait

	sentAt       time.Duration // when the last request went out
	verdictTimer *time.Timer   // accepts the last request later; nil if the request is decided
	undo         undoState     // in case the last request is refused after it was accepted
}

// undoState is the state before acceptLocked, which undoAcceptedLocked restores.
type undoState struct {
	refusalsInARow  int           // of the person
	personPause     time.Duration // of the person
	queuePause      time.Duration // of the Pacer
	lastShortenedAt time.Duration // of the Pacer
	shortenedAt     time.Duration // when acceptLocked shortened the gap of the Pacer; 0: it did not
}

// New returns a Pacer without a limit.
func New() *Pacer {
	return &Pacer{
		epoch:   time.Now().Add(-limitTTL),
		limited: map[string]*personState{},
		queue:   queue.Queue{ByTurns: true},
	}
}

// Ticket returns a ticket for a call of the person with an ID.
func (p *Pacer) Ticket(personID string) *Ticket {
	t := &Ticket{pacer: p}
	t.entry = queue.Entry{PersonID: personID, Value: t}
	return t
}

// NumWaiting returns how many calls wait.
func (p *Pacer) NumWaiting() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.queue.Len()
}

// Wait waits until the call may send its next request. The last retry of a call goes out four gaps
// later, when the API is more likely to accept it: the calls behind it wait, too. During the wait,
// Wait calls report with the number of calls ahead: at once, and when the number changes. report
// may be nil.
//
// If ctx ends first, the call leaves the queue, and Wait returns a call.QueuedError. If the turn
// comes as ctx ends, Wait returns nil, and the turn is used up. A caller that does not send the
// request after a nil calls NoteNoVerdict.
func (t *Ticket) Wait(ctx context.Context, isLastRetry bool, report func(ahead int)) error {
	t.Waited = 0
	turn := t.enter(isLastRetry)
	if turn == nil {
		return nil
	}
	select {
	case <-turn: // the turn came at once: nothing to report
		return nil
	default:
	}

	began := time.Now()
	defer func() { t.Waited = time.Since(began) }()
	tick := time.Tick(reportInterval)
	last := -1
	for {
		if ctx.Err() == nil { // else calls ahead may have ended at the same deadline
			ahead := t.ahead()
			if report != nil && ahead != last {
				report(ahead)
			}
			last = ahead
		}

		select {
		case <-turn:
			return nil
		case <-tick:
		case <-ctx.Done():
			ahead := max(t.ahead(), last)
			if errors.Is(context.Cause(ctx), call.ErrWaiting) { // for the next try
				ahead = t.ahead()
			}
			if t.leave() {
				return call.QueuedError(ahead)
			}
			return nil // the turn has just come
		}
	}
}

func (p *Pacer) now() time.Duration { return time.Since(p.epoch) }

// lockAndForget locks the pacer for an event, and forgets what is old:
//
//   - the places that the queue has kept for a minute;
//   - limited people without a waiting call, a minute after the last refusal or the last call that
//     gave up waiting, whichever came later;
//   - the gap, when no person is limited.
func (p *Pacer) lockAndForget() {
	p.mu.Lock()
	p.queue.DropOldPlaces()
	now := p.now()
	for id, person := range p.limited {
		waits := len(p.queue.Waiting[id]) > 0
		if !waits && now-max(person.lastRefusalAt, person.gaveUpAt) >= limitTTL {
			delete(p.limited, id)
		}
	}
	if len(p.limited) == 0 {
		p.gap = 0
		p.queuePause = 0
		p.slowestRefusal = 0
	}
}

// giveTurnsAndUnlock ends an event: it gives their turns to the calls that are due, sets the timer
// for the next one, and unlocks the pacer.
func (p *Pacer) giveTurnsAndUnlock() {
	defer p.mu.Unlock()
	for len(p.limited) > 0 {
		t, dueAt := p.nextLocked()
		delay := dueAt - p.now()
		switch {
		case t != nil && delay <= 0: // t is nil if no call is ready
			p.giveTurnLocked(t)
		case p.timer == nil:
			p.timer = time.AfterFunc(delay, func() {
				p.lockAndForget()
				p.giveTurnsAndUnlock()
			})
			return
		default:
			p.timer.Reset(delay)
			return
		}
	}
}

// nextLocked returns the next call of the queue, and when it may go out. If no call is ready, it
// returns nil, and when to look again.
//
// The next call is the first ready call of the person who sent a request longest ago. A person with
// a pause sends one request at a time, each after the pause.
func (p *Pacer) nextLocked() (next *Ticket, dueAt time.Duration) {
	now := p.now()
	var sentAt time.Duration      // when the person of next last sent a request
	lookAgainAt := now + limitTTL // at the latest, so that lockAndForget forgets the limits
	for id, calls := range p.queue.Waiting {
		person := p.limited[id]
		if person.pause > 0 && person.latestTicket.verdictTimer != nil {
			continue // the last request is undecided; its verdict is an event, which looks again
		}

		for _, entry := range calls {
			readyAt := max(entry.ReadyAt, person.lastRefusalAt+person.pause)
			if readyAt > now {
				lookAgainAt = min(lookAgainAt, readyAt)
				continue
			}
			if next == nil || person.latestTicket.sentAt < sentAt {
				next = entry.Value.(*Ticket)
				sentAt = person.latestTicket.sentAt
			}
			break
		}
	}

	switch {
	case next == nil:
		return nil, lookAgainAt
	case next.isLastRetry: // see Wait
		return next, max(p.nextSendAt, next.entry.ReadyAt) + 4*p.gap
	}
	return next, p.nextSendAt
}

// giveTurnLocked ends the wait of a call: its request goes out.
func (p *Pacer) giveTurnLocked(t *Ticket) {
	t.sendLocked()
	p.nextSendAt = t.sentAt + p.gap
	p.limited[t.entry.PersonID].latestTicket = t
	p.queue.GiveTurn(&t.entry)
}

// enter puts the call into the queue and returns its turn, or nil if the request goes out at once.
func (t *Ticket) enter(isLastRetry bool) (turn <-chan struct{}) {
	p := t.pacer
	p.lockAndForget()
	defer p.giveTurnsAndUnlock()

	t.isLastRetry = isLastRetry
	t.isQueued = p.limited[t.entry.PersonID] != nil
	if t.isQueued {
		return p.queue.Enter(&t.entry)
	}
	t.sendLocked()
	return nil
}

// leave takes the call out of the queue, and reports whether the call was there.
func (t *Ticket) leave() bool {
	p := t.pacer
	p.lockAndForget()
	defer p.giveTurnsAndUnlock()

	left := p.queue.Leave(&t.entry)
	if left {
		p.limited[t.entry.PersonID].gaveUpAt = p.now()
	}
	return left
}

// ahead returns how many calls are ahead of this waiting call.
func (t *Ticket) ahead() int {
	t.pacer.lockAndForget()
	defer t.pacer.giveTurnsAndUnlock()
	return t.pacer.queue.Ahead(&t.entry)
}

// sendLocked lets the request of t out. The request counts as accepted if no refusal comes within
// twice the time of the slowest refusal: after 400 ms if this refusal took 200 ms, and after 1 s at
// the latest. The 2xx may come much later: a response that is not streamed has its header at its
// end.
func (t *Ticket) sendLocked() {
	verdictTimeout := min(2*cmp.Or(t.pacer.slowestRefusal, maxVerdictTime), maxVerdictTime)
	sentAt := t.pacer.now()
	t.sentAt = sentAt
	t.undo = undoState{}
	t.verdictTimer = time.AfterFunc(verdictTimeout, func() { t.acceptIfSentAt(sentAt) })
}

// acceptIfSentAt accepts the request of t that went out at sentAt, unless t has sent another one
// since.
func (t *Ticket) acceptIfSentAt(sentAt time.Duration) {
	t.pacer.lockAndForget()
	defer t.pacer.giveTurnsAndUnlock()
	if t.sentAt == sentAt {
		t.acceptLocked()
	}
}

// NoteAccepted notes that the API answered the request with a 2xx.
func (t *Ticket) NoteAccepted() {
	t.pacer.lockAndForget()
	defer t.pacer.giveTurnsAndUnlock()
	t.acceptLocked()
}

// acceptLocked notes that the last request of t is accepted, unless this request is decided. An
// accepted request ends the refusals in a row of the person, and shortens the gap.
func (t *Ticket) acceptLocked() {
	p := t.pacer
	if t.verdictTimer == nil {
		return
	}
	t.noteDecidedLocked()
	person := p.limited[t.entry.PersonID]
	if person == nil {
		return // the person is not limited: the request says nothing about the queue
	}

	t.undo.refusalsInARow = person.refusalsInARow
	t.undo.personPause = person.pause
	person.refusalsInARow = 0
	person.pause = 0
	// A request sent before the last refusal does not show that the gap may be shorter.
	if t.sentAt > p.lastRefusalAt && p.gap > 0 {
		t.undo.queuePause = p.queuePause
		t.undo.lastShortenedAt = p.lastShortenedAt
		t.undo.shortenedAt = p.now()
		p.lastShortenedAt = t.undo.shortenedAt
		p.gap = max(minGap, p.gap*19/20)
		p.queuePause = 0
	}
}

// NoteNoVerdict notes that the request ended otherwise than with a 2xx or a 429, or was not sent.
func (t *Ticket) NoteNoVerdict() {
	t.pacer.lockAndForget()
	defer t.pacer.giveTurnsAndUnlock()
	t.noteDecidedLocked()
}

// noteDecidedLocked notes that the last request of t is decided.
func (t *Ticket) noteDecidedLocked() {
	if t.verdictTimer != nil {
		t.verdictTimer.Stop()
		t.verdictTimer = nil
	}
}

// NoteRefused notes that the API refused the request with a 429. retryAfter is the wait that the
// API asks for, or 0. NoteRefused returns how long this call has to wait before its next attempt.
// Other calls of the queue may go out earlier.
func (t *Ticket) NoteRefused(retryAfter time.Duration) (wait time.Duration) {
	p := t.pacer
	p.lockAndForget()
	defer p.giveTurnsAndUnlock()

	now := p.now()
	t.noteDecidedLocked()
	p.slowestRefusal = max(p.slowestRefusal, now-t.sentAt)

	wait = retryAfter
	if wait == 0 {
		t.callPause = nextPause(t.callPause)
		wait = t.callPause
	}
	t.entry.ReadyAt = now + wait

	person := p.limited[t.entry.PersonID]
	if person == nil {
		person = &personState{latestTicket: t}
		p.limited[t.entry.PersonID] = person
	} else {
		t.undoAcceptedLocked(person)
	}
	if t.isQueued {
		person.refusalsInARow++
		if person.refusalsInARow == 1 {
			person.firstRefusalAt = now
		}
	}
	t.slowDownLocked(person, retryAfter)
	t.pausePersonLocked(person, retryAfter)
	// The two above compare with the refusal before this one.
	person.lastRefusalAt = now
	p.lastRefusalAt = now
	return wait
}

// undoAcceptedLocked undoes acceptLocked for a request that is refused after it was accepted: a
// stream may bring its refusal after the header of a 2xx. For any other request it changes nothing.
func (t *Ticket) undoAcceptedLocked(person *personState) {
	p := t.pacer
	before := t.undo
	person.refusalsInARow = max(person.refusalsInARow, before.refusalsInARow)
	person.pause = max(person.pause, before.personPause)
	// After another refusal, the queue is slower already.
	if before.shortenedAt > 0 && t.sentAt > p.lastRefusalAt {
		p.queuePause = max(p.queuePause, before.queuePause)
		if p.lastShortenedAt == before.shortenedAt { // no other request has shortened it since
			p.lastShortenedAt = before.lastShortenedAt
		}
		p.gap = min(p.gap*20/19, maxGap)
	}
}

// slowDownLocked makes the queue slower after a refusal:
//
//	refused is                        gap                   pause of the queue
//	any, while no limit is known      a third of a second   none
//	one that the queue did not send   unchanged             unchanged
//	one sent before another refusal   unchanged             unchanged
//	the request after a pause         unchanged, or less    1.5 times the last pause, within
//	                                  (see below)           the bounds below
//	any other request                 1.25 times as long,   1.5 gaps
//	                                  if calls wait, and
//	                                  the API limits all
//
// A pause delays all waiting calls. So if the request after a pause is refused, the gaps of the
// waiting calls together become at most maxGap. The next pause is at least 1.5 gaps, and at most
// three such gaps or maxQueuePause.
//
// The queue also waits as long as the API asks for, up to maxPause. The exception is a wait that
// may be of one person alone, who is refused again and again while others are accepted.
func (t *Ticket) slowDownLocked(person *personState, retryAfter time.Duration) {
	p := t.pacer
	switch {
	case p.gap == 0: // the first refusal starts the queue
		p.gap = firstGap

	case !t.isQueued || t.sentAt <= p.lastRefusalAt:
		return

	case p.queuePause > 0: // no request has been accepted since the last pause
		// A longer gap may not help: the request after a pause is refused, too.
		longestGap := max(minGap, maxGap/time.Duration(p.queue.Len()+1))
		p.gap = min(p.gap, longestGap)
		p.queuePause = max(p.gap*3/2, min(p.queuePause*3/2, longestGap*3, maxQueuePause))

	default:
		// The gap is that of all people: it stays if the person may have a limit of their own. For
		// mayHaveOwnLimit the refusals in a row include the present one (NoteRefused).
		if !person.mayHaveOwnLimit() && p.queue.Len() > 0 {
			p.gap = min(p.gap*5/4, maxGap)
		}
		p.queuePause = p.gap * 3 / 2
	}

	othersAccepted := p.lastShortenedAt > person.firstRefusalAt // requests of others shorten the gap
	if person.mayHaveOwnLimit() && othersAccepted {
		retryAfter = 0
	}
	if retryAfter%time.Second == 0 { // the API may have rounded it up
		retryAfter -= time.Second // below 0 if it asked for none, which max ignores
	}
	p.nextSendAt = p.now() + max(p.gap, p.queuePause, min(retryAfter, maxPause))
}

// pausePersonLocked makes the pause of a person longer with each refusal in a row from the second
// on. If the person may have a limit of their own, the pause is at least as long as the API asks
// for, up to maxPause.
func (t *Ticket) pausePersonLocked(person *personState, retryAfter time.Duration) {
	// A request that was sent before the previous refusal does not lengthen a pause.
	if person.refusalsInARow > 1 && (person.pause == 0 || t.sentAt > person.lastRefusalAt) {
		person.pause = nextPause(person.pause)
	}
	if person.mayHaveOwnLimit() {
		person.pause = max(person.pause, min(retryAfter, maxPause))
	}
}

// mayHaveOwnLimit reports whether the API may limit this person alone: three refusals in a row.
func (s *personState) mayHaveOwnLimit() bool { return s.refusalsInARow > 2 }

// nextPause returns the pause after a further refusal: firstPause, then twice the last pause.
func nextPause(pause time.Duration) time.Duration {
	return min(max(firstPause, 2*pause), maxPause)
}
