package main

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/uchimanajet7/openai-responses-mcp/test/wire"
)

// request is one that the client has sent, from before its first byte until
// nothing more may come of it.
type request struct {
	id    string // JSON text
	nonce string // of its question; "": it asks none
	token string // of its progress, JSON text; "": none
	check func(wire.Message) error
	copy  bool // its id may be in flight: it may be refused
	lined bool // it was sent as a line
	// behind are requests that were cancelled before this one was sent. The
	// server reads in order, so from the answer to this one on they are over.
	behind []*request

	cancelled bool
	progress  float64 // of the last notification
}

// ledger accounts for every request of a session.
type ledger struct {
	tally  *tally
	finish func(nonce string) // the question is over

	mu       sync.Mutex
	byID     map[string][]*request // in flight, oldest first
	byToken  map[string]*request
	open     int           // requests in flight
	refusals int           // answers to garbage that are still due
	changed  chan struct{} // closed and replaced when one of the above gets less
}

func newLedger(t *tally, finish func(nonce string)) *ledger {
	return &ledger{
		tally: t, finish: finish,
		byID: map[string][]*request{}, byToken: map[string]*request{},
		changed: make(chan struct{}),
	}
}

// add enters a request that is about to be sent.
func (l *ledger) add(r *request) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.byID[r.id] = append(l.byID[r.id], r)
	if r.token != "" {
		l.byToken[r.token] = r
	}
	l.open++
}

// owe enters garbage that is about to be sent and gets one answer.
func (l *ledger) owe() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.refusals++
}

// holders are the requests in flight under an id.
func (l *ledger) holders(id string) []*request {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Clone(l.byID[id])
}

// inFlight is the number of requests that are.
func (l *ledger) inFlight() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.open
}

// cancel marks what a cancellation of id that is about to be sent will hit. It
// returns nil when there is nothing, and ok false when it would be a guess.
func (l *ledger) cancel(id string) (r *request, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch all := l.byID[id]; {
	case len(all) == 0:
		return nil, true
	case len(all) > 1 || all[0].copy:
		return nil, false
	default:
		all[0].cancelled = true
		return all[0], true
	}
}

// inUse is the refusal of an id in flight.
var inUse = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^Invalid Request: id (.+) is in use$`)
})

// receive accounts for a message of the server. It returns the request that is
// answered by it, if any, and an error for what may not come.
func (l *ledger) receive(m wire.Message) (*request, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case m.Method != "":
		return nil, l.told(m)
	case m.ID == "null":
		return nil, l.refused(m)
	}
	r := l.pick(m)
	if r == nil {
		return nil, fmt.Errorf("an answer to %s, which nobody waits for", m.ID)
	}
	l.remove(r)
	switch {
	case r.nonce == "":
		l.tally.add(others)
	case r.cancelled:
		l.tally.add(callsCrossed)
	default:
		l.tally.add(callsAnswered)
	}
	for _, c := range r.behind {
		if slices.Contains(l.byID[c.id], c) {
			l.tally.add(callsCancelled)
			l.remove(c)
		}
	}
	if err := r.check(m); err != nil {
		return r, fmt.Errorf("the answer to %s: %w", m.ID, err)
	}
	return r, nil
}

// pick finds whose answer it is: that of the question whose nonce it has, else
// the oldest under that id, since answers to one id come in the order of the
// requests.
func (l *ledger) pick(m wire.Message) *request {
	all := l.byID[m.ID]
	for _, r := range all {
		if r.nonce != "" && nonceIn(m.JSON) == r.nonce {
			return r
		}
	}
	if len(all) == 0 {
		return nil
	}
	return all[0]
}

// remove ends a request.
func (l *ledger) remove(r *request) {
	all := slices.DeleteFunc(l.byID[r.id], func(x *request) bool { return x == r })
	if l.byID[r.id] = all; len(all) == 0 {
		delete(l.byID, r.id)
	}
	delete(l.byToken, r.token)
	l.open--
	if r.nonce != "" {
		l.finish(r.nonce)
	}
	l.notify()
}

// refused accounts for an error without an id.
func (l *ledger) refused(m wire.Message) error {
	e, err := errorOf(m)
	if err != nil {
		return err
	}
	if found := inUse().FindStringSubmatch(e.Message); found != nil {
		for _, r := range l.byID[found[1]] {
			if r.copy {
				l.tally.add(callsRefused)
				l.remove(r)
				return nil
			}
		}
	} else if l.refusals > 0 && (e.Code == -32700 || e.Code == -32600) {
		l.tally.add(garbageRefused)
		l.refusals--
		l.notify()
		return nil
	}
	return fmt.Errorf("a refusal of nothing: %s", m.JSON)
}

// told accounts for a notification.
func (l *ledger) told(m wire.Message) error {
	var n struct {
		Params struct {
			Token    json.RawMessage `json:"progressToken"`
			Progress float64         `json:"progress"`
			Message  string          `json:"message"`
		} `json:"params"`
	}
	if err := json.Unmarshal([]byte(m.JSON), &n); err != nil || m.Method != "notifications/progress" {
		return fmt.Errorf("a notification that is no progress: %s", m.JSON)
	}
	r := l.byToken[string(n.Params.Token)]
	switch p := n.Params; {
	case r == nil:
		return fmt.Errorf("progress of a call that is over, or was never there: %s", m.JSON)
	case p.Progress <= r.progress:
		return fmt.Errorf("progress %v after %v: %s", p.Progress, r.progress, m.JSON)
	case p.Message == "" || len([]rune(p.Message)) > 200:
		return fmt.Errorf("progress with a message of %d characters", len([]rune(p.Message)))
	default:
		r.progress = p.Progress
	}
	l.tally.add(progressTold)
	return nil
}

func (l *ledger) notify() {
	close(l.changed)
	l.changed = make(chan struct{})
}

// settle waits until every request is answered and all garbage refused.
func (l *ledger) settle(ctx context.Context) error {
	for {
		l.mu.Lock()
		ok, changed := l.open == 0 && l.refusals == 0, l.changed
		left := fmt.Sprintf("%d requests, the oldest of each id %v; %d refusals", l.open, l.some(), l.refusals)
		l.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for answers, %s: %w", left, context.Cause(ctx))
		}
	}
}

// left are the nonces of the questions in flight.
func (l *ledger) left() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []string
	for _, all := range l.byID {
		for _, r := range all {
			if r.nonce != "" {
				out = append(out, r.nonce)
			}
		}
	}
	return out
}

// some names a few of the requests in flight.
func (l *ledger) some() []string {
	var out []string
	for id, all := range l.byID {
		if len(out) == 5 {
			break
		}
		out = append(out, id+" "+all[0].nonce)
	}
	return out
}
