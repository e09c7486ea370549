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
		"a call waits longer after each refusal, and three gaps before its last request",
		0, "R",
		"0 alice",
		"0 alice, 510 alice, 1520 alice, 3530 alice, 7540 alice, 15550 alice, 24559 alice",
	},

	{
		"only the refused call waits for the API, and the first gap is a third of a second",
		20 * time.Second, "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 343 alice, 676 alice, 20010 alice",
	},

	{
		"a call that would have to wait a day fails",
		24 * time.Hour, "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 343 alice, 676 alice",
	},

	{
		"the first gap does not depend on what the API asks for",
		time.Millisecond, "RA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 343 alice, 676 alice, 993 alice",
	},

	{
		"a refusal makes the gap longer, unless the request was late",
		time.Second, "RARARARARARARARARARARARA",
		"0 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, " +
			"20 alice, 20 alice, 20 alice, 20 alice",
		"0 alice, 343 alice, 676 alice, 1304 alice, 1715 alice, 2488 alice, 2996 alice, " +
			"3948 alice, 4576 alice, 5749 alice, 6525 alice, 7971 alice, 8929 alice, 10713 alice, " +
			"11896 alice, 14097 alice, 15557 alice, 18273 alice, 20077 alice, 23429 alice, " +
			"25657 alice, 29794 alice, 32545 alice, 37652 alice, 41050 alice, 44278 alice",
	},

	{
		"a burst of others does not shorten a gap that refusals made longer",
		time.Second, "RARARAA RAAA",
		"0 alice, 20 alice, 20 alice, 20 alice, 20 alice, 20 alice, " +
			"5000 bob, 5000 bob, 5000 bob, 5000 bob",
		"0 alice, 343 alice, 676 alice, 1304 alice, 1715 alice, 2488 alice, 2996 alice, " +
			"3479 alice, 3938 alice, 5000 bob, 5000 bob, 5000 bob, 5000 bob, 6010 bob",
	},

	{
		"a burst that was accepted does not shorten the gap",
		time.Second, "RA",
		"0 alice, 5 alice, 20 alice",
		"0 alice, 5 alice, 343 alice, 1010 alice",
	},

	{
		"a refused call keeps its place, and each accepted request shortens the gap",
		time.Second, "RA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 343 alice, 676 alice, 993 alice, 1294 alice",
	},

	{
		"without a time the gap is the same",
		0, "RA",
		"0 alice, 20 alice, 30 alice, 40 alice, 50 alice",
		"0 alice, 343 alice, 676 alice, 993 alice, 1294 alice, 1579 alice",
	},

	{
		"a second counted refusal makes the gap longer, and the next request late",
		0, "RARA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 343 alice, 676 alice, 1304 alice, 1715 alice, 2106 alice",
	},

	{
		"refusals without an accepted request count once, and the person makes a pause",
		0, "RRRRA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 343 alice, 853 alice, 1863 alice, 3873 alice, 4206 alice, 4523 alice, " +
			"4824 alice",
	},

	{
		"refusals of requests that were on their way together count once",
		time.Second, "ARRRA",
		"0 alice, 1 alice, 2 alice, 3 alice, 20 alice",
		"0 alice, 1 alice, 2 alice, 3 alice, 513 alice, 1011 alice, 1327 alice, 1628 alice",
	},

	{
		"a pause is that of one person",
		0, "R RA",
		"0 alice, 0 bob, 20 bob, 30 bob",
		"0 alice, 0 bob, 343 bob, 676 alice, 993 bob, 1309 bob, 1686 alice, 3696 alice, " +
			"7706 alice, 15716 alice, 24584 alice",
	},

	{
		"people take turns",
		0, "RA RA",
		"0 alice, 1 bob, 20 alice, 30 alice, 40 bob",
		"0 alice, 1 bob, 343 alice, 676 bob, 993 alice, 1294 bob, 1579 alice",
	},

	{
		"a request that is not refused in time is accepted",
		0, "RRLA",
		"0 alice, 20 alice, 30 alice",
		"0 alice, 343 alice, 853 alice, 1186 alice, 1503 alice",
	},

	{
		"which takes a second at most",
		0, "SRLA",
		"0 alice, 3020 alice, 3030 alice",
		"0 alice, 3333 alice, 3843 alice, 4843 alice, 5159 alice",
	},

	{
		"a request that fails otherwise says nothing",
		0, "RQA",
		"0 alice, 20 alice, 30 alice, 40 alice",
		"0 alice, 343 alice, 676 alice, 1009 alice, 1326 alice",
	},

	{
		"for a minute after a slow refusal",
		0, "SARRLA",
		"0 alice, 70000 alice, 70020 alice, 70030 alice",
		"0 alice, 3500 alice, 70000 alice, 70343 alice, 70853 alice, 71186 alice, 71503 alice",
	},

	{
		"a minute without a refusal ends the limit",
		0, "RA",
		"0 alice, 50000 alice, 50000 alice, 61000 alice, 61000 alice",
		"0 alice, 510 alice, 50000 alice, 50316 alice, 61000 alice, 61000 alice",
	},

	{
		"and the gap",
		0, "RAARA",
		"0 alice, 61000 alice, 61000 alice, 61100 alice, 61200 alice",
		"0 alice, 510 alice, 61000 alice, 61000 alice, 61343 alice, 61676 alice, 61993 alice",
	},

	{
		"calls without a refusal go out at once",
		0, "RA A",
		"0 alice, 20 alice, 21 bob, 22 bob, 23 bob",
		"0 alice, 21 bob, 22 bob, 23 bob, 343 alice, 676 alice",
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
