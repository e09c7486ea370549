package pacer

import (
	"cmp"
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// player is an API that plays its part for alice and for bob. A letter is a request: R is refused
// after 10 ms, A is answered after 10 ms, S is refused after 3 s, L is answered after 10 s, and Q
// fails after 10 ms. The last letter repeats.
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

	delays := map[byte]time.Duration{'S': 3 * time.Second, 'L': 10 * time.Second}
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
			ticket.Ended()
			return
		}

		switch p.request(person) {
		case 'R', 'S':
			if ticket.Refused(p.asked) >= hour {
				return
			}
		case 'Q':
			ticket.Ended()
			return
		default:
			ticket.Accepted()
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

// timesRows have the times of requests, which follow from the rules of the pacer.
var timesRows = []struct {
	name  string
	asked time.Duration // in a refusal
	parts string        // of alice and bob
	calls string
	want  string
}{
	{
		"a call waits longer after each refusal, and a gap before its last request",
		0, "R",
		"0 alice",
		"0 alice, 510 alice, 1520 alice, 3530 alice, 7540 alice, 15550 alice, 24060 alice",
	},

	{
		"only the refused call waits for the API, and the first gap is half a second",
		20 * time.Second, "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 510 alice, 1010 alice, 20010 alice",
	},

	{
		"a call that would have to wait a day fails",
		24 * time.Hour, "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 510 alice, 1010 alice",
	},

	{
		"the gap is at least 10 ms",
		time.Millisecond, "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 20 alice, 30 alice, 40 alice",
	},

	{
		"the gap grows while late requests are refused less than others, then it becomes half",
		time.Second, "RARARARARARARARARARARARA",
		"0 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, " +
			"20 alice, 20 alice, 20 alice, 20 alice",
		"0 alice, 510 alice, 1010 alice, 1732 alice, 2445 alice, 3470 alice, 4485 alice, 5942 alice, " +
			"7389 alice, 9460 alice, 11522 alice, 14470 alice, 17408 alice, 18814 alice, 20209 alice, " +
			"20882 alice, 21545 alice, 21870 alice, 22185 alice, 22344 alice, 22494 alice, " +
			"22575 alice, 22646 alice, 23195 alice, 23504 alice, 23656 alice",
	},

	{
		"a burst of others does not shorten a gap that refusals made longer",
		time.Second, "RARARAA RAAA",
		"0 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, " +
			"5000 bob, 5000 bob, 5000 bob, 5000 bob",
		"0 alice, 510 alice, 1010 alice, 1732 alice, 2445 alice, 3470 alice, 4485 alice, 5000 bob, " +
			"5000 bob, 5000 bob, 5000 bob, 5450 alice, 6366 bob, 7236 alice",
	},

	{
		"a burst that was accepted does not shorten the gap",
		time.Second, "RA",
		"0 alice, 5 alice, 20 alice",
		"0 alice, 5 alice, 510 alice, 1010 alice",
	},

	{
		"a refused call keeps its place, and each accepted request shortens the gap",
		time.Second, "RA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1010 alice, 1485 alice, 1936 alice",
	},

	{
		"without a time the rate rises fast",
		0, "RA",
		"0 alice, 20 alice, 30 alice, 40 alice, 50 alice",
		"0 alice, 510 alice, 1010 alice, 1385 alice, 1666 alice, 1877 alice",
	},

	{
		"a second counted refusal makes the gap longer and ends the rise",
		0, "RARA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1010 alice, 1582 alice, 2145 alice, 2679 alice",
	},

	{
		"refusals without an accepted request count once, and the person makes a pause",
		0, "RRRRA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1020 alice, 2030 alice, 4040 alice, 4540 alice, 4915 alice, 5196 alice",
	},

	{
		"refusals of requests that were on their way together count once",
		time.Second, "ARRRA",
		"0 alice, 1 alice, 2 alice, 3 alice, 20 alice",
		"0 alice, 1 alice, 2 alice, 3 alice, 513 alice, 1013 alice, 1488 alice, 1939 alice",
	},

	{
		"a pause is that of one person",
		0, "R RA",
		"0 alice, 0 bob, 20 bob, 30 bob",
		"0 alice, 0 bob, 510 alice, 1010 bob, 1510 bob, 1885 alice, " +
			"2166 bob, 3895 alice, 7905 alice, 15915 alice, 24135 alice",
	},

	{
		"people take turns",
		0, "RA RA",
		"0 alice, 1 bob, 20 alice, 30 alice, 40 bob",
		"0 alice, 1 bob, 510 alice, 1010 bob, 1385 alice, 1666 bob, 1877 alice",
	},

	{
		"a request that is not refused in time is accepted",
		0, "RRLA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 510 alice, 1020 alice, 1520 alice, 1895 alice",
	},

	{
		"which takes a second at most",
		0, "SRLA",
		"0 alice, 3020 alice, 3030 alice",
		"0 alice, 3500 alice, 4010 alice, 5010 alice, 5385 alice",
	},

	{
		"a request that fails otherwise says nothing",
		0, "RQA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 510 alice, 1010 alice, 1510 alice, 1885 alice",
	},

	{
		"for a minute after a slow refusal",
		0, "SARRLA",
		"0 alice, 70000 alice, 70020 alice, 70030 alice",
		"0 alice, 3500 alice, 70000 alice, 70510 alice, 71020 alice, 71520 alice, 71895 alice",
	},

	{
		"a minute without a refusal ends the limit",
		0, "RA",
		"0 alice, 50000 alice, 50000 alice, 61000 alice, 61000 alice",
		"0 alice, 510 alice, 50000 alice, 50375 alice, 61000 alice, 61000 alice",
	},

	{
		"and the gap",
		0, "RAARA",
		"0 alice, 61000 alice, 61000 alice, 61100 alice, 61200 alice",
		"0 alice, 510 alice, 61000 alice, 61000 alice, 61510 alice, 62010 alice, 62385 alice",
	},

	{
		"calls without a refusal go out at once",
		0, "RA A",
		"0 alice, 20 alice, 21 bob, 22 bob, 23 bob",
		"0 alice, 21 bob, 22 bob, 23 bob, 510 alice, 1010 alice",
	},
}

func TestTimes(t *testing.T) {
	for _, tt := range timesRows {
		bubble(t, tt.name, func(t *testing.T) {
			requests := play(t, tt.asked, tt.parts, strings.Split(tt.calls, ", "))
			got := strings.Join(requests, ", ")
			if got != tt.want {
				t.Errorf("requests at %s\nwant %s", got, tt.want)
			}
		})
	}
}

// A refusal of a person whose calls did not wait yet says nothing about the gap.
func TestFirstRefusals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		for i := range 100 {
			ticket := p.Ticket(fmt.Sprint(i))
			_ = ticket.Wait(t.Context(), false, nil)
			time.Sleep(time.Millisecond)
			ticket.Refused(0)
		}

		start := time.Now()
		ticket := p.Ticket("0")
		_ = ticket.Wait(t.Context(), false, nil)
		if wait := time.Since(start); wait > firstGap {
			t.Errorf("a call waits %v, want at most the first gap, %v", wait, firstGap)
		}
	})
}

// Calls of people who are refused at random, with odd waits, and cancelled all end, and nothing of
// them is left.
func TestRace(t *testing.T) {
	odd := []time.Duration{0, 1, -time.Second, time.Millisecond, 20 * time.Millisecond, 24 * time.Hour}
	p := New()
	var calls sync.WaitGroup
	for i := range 2000 {
		calls.Go(func() {
			chance := rand.New(rand.NewPCG(uint64(i), 0))
			time.Sleep(time.Duration(chance.IntN(300)) * time.Millisecond)
			most := time.Duration(1+chance.IntN(400)) * time.Millisecond
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()

			ticket := p.Ticket(fmt.Sprint(i % 7))
			for attempt := range 4 {
				err := ticket.Wait(ctx, attempt == 3, func(int) { p.Waiting() })
				switch {
				case err != nil, chance.IntN(10) == 0:
					ticket.Ended()
					return
				case chance.IntN(3) > 0:
					ticket.Accepted()
					return
				}
				ticket.Refused(odd[chance.IntN(len(odd))])
			}
		})
	}

	calls.Wait()
	if n := p.Waiting(); n != 0 {
		t.Errorf("%d calls wait, want 0", n)
	}
}

// Each call gets its turn while the API refuses a third of the requests at random.
func TestNoCallStarves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		var calls sync.WaitGroup
		for i := range 300 {
			calls.Go(func() {
				chance := rand.New(rand.NewPCG(uint64(i), 0))
				ticket := p.Ticket(fmt.Sprint(i % 5))
				ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
				defer cancel()
				for ticket.Wait(ctx, false, nil) == nil {
					time.Sleep(10 * time.Millisecond)
					if chance.IntN(3) > 0 {
						ticket.Accepted()
						return
					}
					ticket.Refused(0)
				}
				t.Errorf("call %d gets no answer", i)
			})
		}

		calls.Wait() // the bubble fails if a goroutine is left
	})
}

// bubble runs a subtest in a synctest bubble.
func bubble(t *testing.T, name string, f func(*testing.T)) {
	t.Run(name, func(t *testing.T) {
		synctest.Test(t, f)
	})
}

// A person is forgotten after a minute.
func TestForgets(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := New()
		for i := range 100 {
			ticket := p.Ticket(fmt.Sprint(i))
			_ = ticket.Wait(t.Context(), false, nil)
			ticket.Refused(0)
		}
		wantLimited(t, p, 100)

		time.Sleep(time.Minute)
		synctest.Wait()
		wantLimited(t, p, 0)
	})
}

func wantLimited(t *testing.T, p *Pacer, want int) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.people) != want {
		t.Errorf("%d people are limited, want %d", len(p.people), want)
	}
}
