package queue

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The example of the package comment, and more. A step is "NAME waits", "NAME gives up", "NAME
// goes" or a time that passes; NAME is a person and a number. The result is each waiting call, by
// number, and how many calls are ahead.
func TestQueue(t *testing.T) {
	for _, tt := range compare.Rows[struct {
		Name           string
		First, ByTurns string // who comes first goes first, and people take turns
		Steps          string
	}](t, "queue") {
		for byTurns, want := range map[bool]string{false: tt.First, true: tt.ByTurns} {
			t.Run(fmt.Sprint(tt.Name, ", by turns ", byTurns), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					q := &Queue{ByTurns: byTurns}
					compare.Equal(t, "calls and calls ahead", play(q, tt.Steps), want)
				})
			})
		}
	}
}

// play takes the steps.
func play(q *Queue, steps string) string {
	calls := map[string]*Entry{}
	for step := range strings.SplitSeq(steps, ", ") {
		name, what, _ := strings.Cut(step, " ")
		switch what {
		case "waits":
			if calls[name] == nil {
				calls[name] = &Entry{PersonID: strings.TrimRight(name, "234"), Value: name}
			}
			q.Enter(calls[name])
		case "gives up":
			q.Leave(calls[name])
		case "goes":
			q.GiveTurn(calls[name])
		default:
			pause, _ := time.ParseDuration(name)
			time.Sleep(pause)
		}
	}

	var waiting []string
	for _, e := range inOrder(q) {
		waiting = append(waiting, fmt.Sprint(e.Value, " ", q.Ahead(e)))
	}
	return strings.Join(waiting, ", ")
}

// inOrder returns the waiting calls by number.
func inOrder(q *Queue) []*Entry {
	var all []*Entry
	for _, calls := range q.Waiting {
		all = append(all, calls...)
	}
	slices.SortFunc(all, func(a, b *Entry) int { return a.Number - b.Number })
	return all
}

// A call that continues another has its ReadyAt, and one with a ReadyAt of its own continues none.
func TestReady(t *testing.T) {
	q := &Queue{}
	enter := func(ready time.Duration) *Entry {
		e := &Entry{PersonID: "alice", ReadyAt: ready}
		q.Enter(e)
		return e
	}

	q.Leave(enter(5))
	compare.Equal(t, "Ready of a call with its own", enter(3).ReadyAt, 3)
	compare.Equal(t, "Ready of the next call", enter(0).ReadyAt, 5)
	compare.Equal(t, "Ready of a third call", enter(0).ReadyAt, 0)
}

// What calls do at random leaves the places in order, gives turns to waiting calls only, and ends
// with nothing.
func TestQueueProperties(t *testing.T) {
	for seed := range compare.Seeds(20) {
		t.Run(fmt.Sprint("seed=", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				q := &Queue{ByTurns: seed%2 == 0}
				chance := rand.New(rand.NewPCG(seed, 0))
				turns := map[*Entry]<-chan struct{}{} // of all waits that have not ended
				for range 300 {
					time.Sleep(time.Duration(chance.IntN(9)) * time.Second)
					step(t, q, chance, turns)
					wantOrder(t, q, turns)
				}

				for e := range turns {
					q.Leave(e)
				}
				time.Sleep(placeTTL)
				q.DropOldPlaces()
				compare.Equal(t, "people who wait", len(q.Waiting), 0)
				compare.Equal(t, "kept places", len(q.kept), 0)
			})
		})
	}
}

// step lets a call do something.
func step(t *testing.T, q *Queue, chance *rand.Rand, turns map[*Entry]<-chan struct{}) {
	waiting := inOrder(q)
	if len(waiting) == 0 || chance.IntN(2) == 0 {
		e := &Entry{PersonID: fmt.Sprint(chance.IntN(4))}
		turns[e] = q.Enter(e)
		return
	}

	e := waiting[chance.IntN(len(waiting))]
	turn := turns[e]
	delete(turns, e)
	if chance.IntN(2) == 0 {
		compare.Equal(t, "a waiting call leaves", q.Leave(e), true)
		return
	}

	q.GiveTurn(e)
	<-turn
	compare.Equal(t, "a call leaves whose turn has come", q.Leave(e), false)
	if chance.IntN(2) == 0 { // another attempt
		number := e.Number
		turns[e] = q.Enter(e)
		compare.Equal(t, "number of the next wait", e.Number, number)
	}
}

// wantOrder wants that the places are in order, each number once, and that no waiting call has a
// turn.
func wantOrder(t *testing.T, q *Queue, turns map[*Entry]<-chan struct{}) {
	t.Helper()
	compare.Equal(t, "waiting calls", q.Len(), len(turns))
	numbers := map[int]bool{}
	for _, places := range append(slices.Collect(maps.Values(q.Waiting)), q.kept) {
		last := 0
		for _, e := range places {
			if e.Number <= last || numbers[e.Number] {
				t.Fatalf("place %d after place %d, or twice", e.Number, last)
			}
			numbers[e.Number] = true
			last = e.Number
		}
	}

	for e, turn := range turns {
		select {
		case <-turn:
			t.Fatalf("a turn of the call at place %d, which waits", e.Number)
		default:
		}
	}
}
