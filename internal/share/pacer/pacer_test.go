package pacer

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// player is an API that plays its part for alice and for bob. A letter is a request: R is refused
// after 10 ms, A is answered after 10 ms, M is refused after 500 ms, S is refused after 3 s, L is
// answered after 10 s, and Q fails after 10 ms. The last letter repeats.
type player struct {
	begin time.Time
	asked time.Duration // in a refusal

	mu       sync.Mutex
	parts    map[string]string // that are left, by person
	requests []string          // each as milliseconds and person
}

// request makes a request of a person and returns its letter.
func (p *player) request(person string) byte {
	p.mu.Lock()
	at := time.Since(p.begin).Milliseconds()
	p.requests = append(p.requests, fmt.Sprint(at, " ", person))
	part := p.parts[person]
	p.parts[person] = cmp.Or(part[1:], part)
	p.mu.Unlock()

	delays := map[byte]time.Duration{
		'M': 500 * time.Millisecond,
		'S': 3 * time.Second,
		'L': 10 * time.Second,
	}
	time.Sleep(cmp.Or(delays[part[0]], 10*time.Millisecond))
	return part[0]
}

// call makes up to 7 attempts within an hour.
func (p *player) call(ctx context.Context, ticket *Ticket, person string) {
	const hour = time.Hour
	ctx, cancel := context.WithTimeout(ctx, hour)
	defer cancel()

	for attempt := range 7 {
		err := ticket.Wait(ctx, attempt == 6, nil)
		if err != nil {
			return
		}

		switch p.request(person) {
		case 'R', 'M', 'S':
			if ticket.NoteRefused(p.asked) >= hour {
				return
			}
		case 'Q':
			ticket.NoteNoVerdict()
			return
		default:
			ticket.NoteAccepted()
			return
		}
	}
}

// play returns the requests of calls.
func play(t *testing.T, asked time.Duration, parts string, calls []string) []string {
	p := &player{begin: time.Now(), asked: asked, parts: map[string]string{}}
	p.parts["alice"], p.parts["bob"], _ = strings.Cut(parts, " ")

	pacer := New()
	var all sync.WaitGroup
	for i, call := range calls {
		milliseconds, person, _ := strings.Cut(call, " ")
		at, _ := time.ParseDuration(milliseconds + "ms")
		all.Go(func() {
			time.Sleep(at + time.Duration(i)*time.Microsecond)
			p.call(t.Context(), pacer.Ticket(person), person)
		})
	}

	all.Wait()
	return p.requests
}

// times has plays, and the requests that follow from the rules of the pacer.
//
//go:embed testdata/times.txt
var times string

func TestTimes(t *testing.T) {
	plays := strings.Split(strings.TrimSpace(times), "\n\n")
	for _, row := range plays[1:] { // after a comment
		lines := strings.Split(row, "\n")
		asked, parts, _ := strings.Cut(lines[1], " ")
		compare.Bubble(t, lines[0], func(t *testing.T) {
			wait, err := time.ParseDuration(asked)
			if err != nil {
				t.Fatal(err)
			}

			requests := play(t, wait, parts, strings.Split(lines[2], ", "))
			compare.Equal(t, "requests", strings.Join(requests, ", "), lines[3])
		})
	}
}

// limited returns the ticket of a call of a person that the API has refused.
func limited(t *testing.T, p *Pacer, person string, asked time.Duration) *Ticket {
	ticket := p.Ticket(person)
	_ = ticket.Wait(t.Context(), false, nil)
	ticket.NoteRefused(asked)
	return ticket
}

// waitFor waits for the turn of a call, which gives up after a time.
func (t *Ticket) waitFor(ctx context.Context, within time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	return t.Wait(ctx, false, nil)
}

func wantLimited(t *testing.T, p *Pacer, want int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	compare.Equal(t, "limited people", len(p.limited), want)
}

// A person who has given up waiting keeps the turn, and the queue its gap, for a minute.
func TestGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		err := limited(t, p, "alice", time.Hour).waitFor(t.Context(), 50*time.Second)
		compare.Equal(t, "error", err, error(call.QueuedError(0)))
		compare.Equal(t, "waiting calls", p.NumWaiting(), 0)

		time.Sleep(59 * time.Second)
		wantLimited(t, p, 1)
		next := p.Ticket("alice")
		next.enter(false)
		next.leave()
		p.mu.Lock()
		gap := p.gap
		p.mu.Unlock()
		compare.Equal(t, "the queue has its gap", gap > 0, true)

		time.Sleep(time.Minute)
		synctest.Wait()
		wantLimited(t, p, 0)
		compare.Contains(t, "queue", fmt.Sprintf("%+v", p.queue), "kept:[]")
	})
}

// Calls that reach one deadline are told how many were ahead, whichever gives up first.
func TestOneDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		tickets := make([]*Ticket, 3)
		for i := range tickets {
			tickets[i] = limited(t, p, "alice", time.Hour)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute+reportInterval/2)
		defer cancel()
		var ahead []int
		var mu sync.Mutex
		var calls sync.WaitGroup
		for _, ticket := range tickets {
			calls.Go(func() {
				queued, _ := errors.AsType[call.QueuedError](ticket.Wait(ctx, false, nil))
				mu.Lock()
				defer mu.Unlock()
				ahead = append(ahead, int(queued))
			})
		}
		calls.Wait()
		slices.Sort(ahead)
		compare.Equal(t, "calls ahead", ahead, []int{0, 1, 2})
	})
}

// A turn that comes as the wait ends is not lost.
func TestTurnAtEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for range 20 { // select takes either of the two at random
			ctx, cancel := context.WithCancel(t.Context())
			err := limited(t, New(), "alice", time.Second).Wait(ctx, false, func(int) {
				time.Sleep(time.Minute / 2)
				cancel()
			})
			compare.Equal(t, "error", err, nil)
		}
	})
}

// A call of a person who has given up waiting waits as long as the API asked for, and again. Other
// calls of the person, and other people, do not.
func TestWaitsOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		began := time.Now()
		ticket := limited(t, p, "alice", time.Minute)
		for range 2 { // gives up, asks again, and gives up
			err := ticket.waitFor(t.Context(), 15*time.Second)
			compare.Equal(t, "error", err, error(call.QueuedError(0)))
			ticket = p.Ticket("alice")
		}
		limited(t, p, "bob", time.Second)

		sentAt := make([]time.Duration, 3)
		var calls sync.WaitGroup
		for i, person := range []string{"alice", "alice", "bob"} {
			calls.Go(func() {
				_ = p.Ticket(person).Wait(t.Context(), false, nil)
				sentAt[i] = time.Since(began).Truncate(time.Second)
			})
			synctest.Wait()
		}
		calls.Wait()
		compare.Equal(t, "sent", sentAt, []time.Duration{time.Minute, time.Minute / 2, time.Minute / 2})
	})
}

// People who call at random keep the rules: none waits beyond a bound, the calls of a person go in
// their order, the queue keeps its gap, and nothing is left.
func TestProperties(t *testing.T) {
	for seed := range compare.Seeds(10) {
		compare.Bubble(t, fmt.Sprint("seed=", seed), func(t *testing.T) {
			c := &crowd{
				T:      t,
				Pacer:  New(),
				chance: rand.New(rand.NewPCG(seed, 0)),
				passed: map[string]int{},
			}
			c.play()
		})
	}
}

const callers = 5 // people

// crowd is people who call an API that accepts four requests a second.
type crowd struct {
	*testing.T
	*Pacer
	chance *rand.Rand

	mu    sync.Mutex // guards the fields below
	api   time.Time  // when the API has no more requests to forget
	sent  time.Duration
	since time.Duration // the gap when the queue last sent a request

	passed map[string]int // turns of all others since each person could have had one
}

// upTo returns a time of at most most.
func (c *crowd) upTo(most time.Duration) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	return time.Duration(1 + c.chance.Int64N(int64(most)))
}

func (c *crowd) play() {
	var calls sync.WaitGroup
	for i := range 120 {
		person := fmt.Sprint(i % 2 * (i % callers)) // one has more than half of the calls
		start := c.upTo(5 * time.Second)
		within := time.Hour
		if i%3 == 0 {
			within = c.upTo(10 * time.Second)
		}
		calls.Go(func() {
			time.Sleep(start)
			for !c.call(person, within) { // gives up, or fails, and asks again
				time.Sleep(c.upTo(90 * time.Second))
			}
		})
	}
	calls.Wait()

	for i := range 10 {
		limited(c.T, c.Pacer, fmt.Sprint("late ", i), 0)
	}
	time.Sleep(limitTTL)
	synctest.Wait()
	wantLimited(c.T, c.Pacer, 0)
	compare.Equal(c, "waiting calls", c.NumWaiting(), 0)
	compare.Equal(c, "gap", c.gap, 0)
}

// call makes attempts until the API accepts one, and reports whether that was in time.
func (c *crowd) call(person string, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(c.Context(), within)
	defer cancel()
	ticket := c.Ticket(person)
	for {
		began := time.Now()
		err := ticket.Wait(ctx, false, func(int) { c.NumWaiting() })
		if err != nil {
			return false
		}
		c.check(ticket)
		if waited := time.Since(began); waited > 40*time.Second {
			c.Errorf("a call of %s has waited %v", person, waited)
		}

		time.Sleep(c.upTo(100 * time.Millisecond))
		switch {
		case c.upTo(20) == 1: // the connection breaks
			ticket.NoteNoVerdict()
			return false
		case c.accepts():
			ticket.NoteAccepted()
			return true
		}
		ticket.NoteRefused(max(0, c.upTo(4*time.Second)-2*time.Second)) // half of them name no time
	}
}

// accepts reports whether the API accepts a request now.
func (c *crowd) accepts() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := time.Now()
	if c.api.Sub(now) > time.Second {
		return false
	}
	c.api = now.Add(max(0, c.api.Sub(now)) + time.Second/4)
	return true
}

// check checks the rules when the queue has sent a request.
func (c *crowd) check(ticket *Ticket) {
	c.Pacer.mu.Lock()
	defer c.Pacer.mu.Unlock()
	person := c.limited[ticket.entry.PersonID]
	if person == nil || person.latestTicket != ticket || ticket.entry.Number == 0 {
		return // without a limit
	}

	for _, other := range c.queue.Waiting[ticket.entry.PersonID] {
		if other.Number < ticket.entry.Number && other.ReadyAt <= ticket.sentAt {
			c.Errorf("place %d goes before place %d", ticket.entry.Number, other.Number)
		}
	}
	gap := ticket.sentAt - c.sent
	if least := min(c.since, c.gap); gap < least {
		c.Errorf("a gap of %v, want at least %v", gap, least)
	}
	c.sent = ticket.sentAt
	c.since = c.gap

	c.passed[ticket.entry.PersonID] = 0
	for person, calls := range c.queue.Waiting {
		if calls[0].ReadyAt > ticket.sentAt || c.limited[person].pause > 0 {
			c.passed[person] = 0
			continue
		}
		c.passed[person]++
		if c.passed[person] > callers {
			c.Errorf("person %s has waited for %d turns", person, c.passed[person])
		}
	}
}
