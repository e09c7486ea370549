package people

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newRegistry returns a Registry for 8 calls, 2 of them of one person.
func newRegistry() *Registry {
	return New(Bounds{MaxCalls: 8, MaxCallsPerPerson: func() int { return 2 }})
}

// Neither a lower bound nor BeginDrain refuses the bytes of requests that were admitted before.
func TestLowerBound(t *testing.T) {
	bound := 0
	r := New(Bounds{MaxCalls: 4, MaxCallsPerPerson: func() int { return bound }})
	for range 3 {
		compare.Equal(t, "a request", r.TakeRequest("alice"), nil)
	}
	bound = 1
	compare.Equal(t, "its bytes", r.TakeBytes("alice", 1), nil)
	compare.Equal(t, "another request is refused", r.TakeRequest("alice") != nil, true)

	r.BeginDrain()
	compare.Equal(t, "its bytes after BeginDrain", r.TakeBytes("alice", 1), nil)
}

// Calls that go on without their requests may hold more bytes than the bounds. Then requests of a
// few bytes are still admitted: people ask for their answers.
func TestHeldBytes(t *testing.T) {
	r := newRegistry()
	for _, personID := range []string{"alice", "bob"} {
		release := r.HoldBytes(personID, maxBytes)
		compare.Equal(t, "a request", r.TakeRequest("alice"), nil)
		compare.Equal(t, "bytes are refused", r.TakeBytes("alice", 1) != nil, true)
		release()
		compare.Equal(t, "bytes", r.TakeBytes("alice", 1), nil)
		r.EndRequest("alice", 1)
	}
}

// Calls at random run within the bounds, and none waits while one of its person may run. The calls
// of a person begin in their order if none gives up. None waits longer than those that came before
// it can run, and nothing is left.
func TestSlotsProperties(t *testing.T) {
	for seed := range compare.Seeds(20) {
		compare.Bubble(t, fmt.Sprint("seed=", seed), func(t *testing.T) {
			s := &slots{
				Registry: newRegistry(),
				chance:   rand.New(rand.NewPCG(seed, 0)),
				began:    map[string][]int{},
				patient:  seed%2 == 0,
			}
			s.play(t)
		})
	}
}

const longest = 10 * time.Second // that a call runs

// slots is a server whose calls come at random.
type slots struct {
	*Registry
	chance  *rand.Rand
	patient bool             // no call gives up
	began   map[string][]int // calls, by person
}

func (s *slots) play(t *testing.T) {
	var calls sync.WaitGroup
	for i := range 200 {
		id := fmt.Sprint(s.chance.IntN(8) * s.chance.IntN(2)) // one has half of the calls
		within := time.Hour
		if !s.patient {
			within = time.Duration(1 + s.chance.Int64N(int64(time.Minute)))
		}
		runs := time.Duration(1 + s.chance.Int64N(int64(longest)))
		time.Sleep(time.Duration(1 + s.chance.Int64N(int64(time.Second))))
		calls.Go(func() { s.call(t, i, id, within, runs) })
		synctest.Wait()
		s.check(t)
	}

	calls.Wait()
	requests, running, waiting := s.Counts()
	compare.Equal(t, "what is left", requests+running+waiting+len(s.held), 0)
	for id, began := range s.began {
		if s.patient && !slices.IsSorted(began) {
			t.Errorf("calls of %s began in the order %v", id, began)
		}
	}
}

// call is a call of a person.
func (s *slots) call(t *testing.T, i int, id string, within, runs time.Duration) {
	c := &call.Call{Person: call.Person{ID: id}, WaitDeadline: time.Now().Add(within)}
	queued := time.Now()
	s.mu.Lock()
	before := s.queue.Len()
	s.mu.Unlock()

	end, err := s.Acquire(t.Context(), c)
	waited := time.Since(queued)
	most := time.Duration(before+1) * longest
	if waited > min(most, within) {
		t.Errorf("call %d waited %v behind %d calls, want at most %v", i, waited, before, most)
	}
	if err != nil {
		compare.Equal(t, "waits no more", errors.Is(err, call.ErrWaiting), true)
		return
	}

	s.begins(t, i, id)
	time.Sleep(runs)
	end()
}

// begins notes that a call begins. Earlier calls that wait are those of people who may not run
// more.
func (s *slots) begins(t *testing.T, i int, id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.began[id] = append(s.began[id], i)
	for other, calls := range s.queue.Waiting {
		earlier := calls[0].Number <= i // the first call has number 1
		if s.patient && earlier && s.held[other].calls < s.Bounds.MaxCallsPerPerson() {
			t.Errorf("call %d begins before call %d", i, calls[0].Number-1)
		}
	}
}

// check checks the bounds while no call comes or goes.
func (s *slots) check(t *testing.T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	running := 0
	for id, u := range s.held {
		running += u.calls
		if u.calls > s.Bounds.MaxCallsPerPerson() {
			t.Errorf("%d calls of %s run", u.calls, id)
		}
	}
	compare.Equal(t, "running calls", running, s.all.calls)
	if running > s.Bounds.MaxCalls {
		t.Errorf("%d calls run", running)
	}

	for id := range s.queue.Waiting {
		if running < s.Bounds.MaxCalls && s.held[id].calls < s.Bounds.MaxCallsPerPerson() {
			t.Errorf("a call of %s waits, but may run", id)
		}
	}
}
