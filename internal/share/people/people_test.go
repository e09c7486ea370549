package people

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// newRegistry returns a Registry for 8 calls, 2 of them of one person.
func newRegistry() *Registry {
	return New(Limits{MaxCalls: 8, PerPerson: func() int { return 2 }})
}

// run starts a call of a person, which gives up after a second.
func (r *Registry) run(t *testing.T, id string) (end func(), err error) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	t.Cleanup(cancel)
	return r.Run(ctx, &call.Call{Person: call.Person{ID: id}})
}

// What a person can take of a server, and how often.
var takes = []struct {
	name string
	take func(t *testing.T, r *Registry, id string) error
	most int
}{
	{"requests", func(_ *testing.T, r *Registry, id string) error { return r.Take(id, 1, 0) }, 4},
	{"bytes", func(_ *testing.T, r *Registry, id string) error { return r.Take(id, 0, 1<<20) }, 16},
	{"slots", func(t *testing.T, r *Registry, id string) error {
		_, err := r.run(t, id)
		return err
	}, 2},
}

// A person who takes as much as possible, and is refused as often again, leaves others what is
// theirs.
func TestTwoPeople(t *testing.T) {
	for _, tt := range takes {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				r := newRegistry()
				for _, id := range []string{"alice", "bob"} {
					taken := 0
					for range 2 * tt.most {
						if tt.take(t, r, id) == nil {
							taken++
						}
					}
					compare.Equal(t, id+" has taken", taken, tt.most)
				}
			})
		})
	}
}

// An entry ends when everything is given back. All are in use until then.
func TestEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRegistry()
		known := func(what string, want int) {
			t.Helper()
			r.mu.Lock()
			defer r.mu.Unlock()
			r.entryLocked(what) // someone new
			compare.Equal(t, "people while alice has "+what, len(r.people), want)
		}

		_ = r.Take("alice", 1, 5)
		known("a request", 2)
		endFirst, _ := r.run(t, "alice")
		endSecond, _ := r.run(t, "alice")
		r.Return("alice", 1, 5)
		known("a slot", 2)

		_, err := r.run(t, "alice")
		compare.Equal(t, "the third call gives up", err, context.DeadlineExceeded)
		endFirst()
		endSecond()
		known("an order", 2)

		time.Sleep(orderTime)
		end, _ := r.run(t, "bob")
		end()
		known("nothing", 1)
	})
}

// After Close no request is let in, and the end of the last one is known at once.
func TestClose(t *testing.T) {
	r := newRegistry()
	_ = r.Take("alice", 2, 0)
	empty := r.Close()
	compare.Equal(t, "refused after Close", errors.Is(r.Take("bob", 1, 0), ErrClosed), true)
	compare.Equal(t, "bytes of requests before it", r.Take("alice", 0, 1) == nil, true)

	r.Return("alice", 1, 1)
	select {
	case <-empty:
		t.Error("it is empty with a request left")
	default:
	}
	r.Return("alice", 1, 0)
	<-empty
}
