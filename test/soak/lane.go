package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// patientLane waits for the API as long as it takes: what becomes of a call is
// known to the letter.
func patientLane() style {
	return style{name: "patient", framing: "mixed", timeout: 10 * time.Minute, pause: 8 * time.Millisecond}
}

// hastyLane has a timeout that the API's silence runs into, and on a slow
// machine its answers as well: they may be errors that say so.
func hastyLane() style {
	return style{name: "hasty", framing: "mixed", timeout: 600 * time.Millisecond, pause: 12 * time.Millisecond}
}

// What a server may have more at the end than after the warm-up.
const (
	// The least heap of many collections is what is kept, and a little of what was
	// being worked on; the runtime tells it in whole MiB. Four KiB left behind by
	// each call pass this bound within the calls of a minute, a hundred bytes
	// within those of an hour.
	moreLive = 2
	// The heap may double before it is collected, and what is freed goes back to
	// the system little by little: the resident memory swings by that much.
	moreResident = 24
	// A thread that once was needed for a blocked write stays for ever. How many
	// there are is up to the scheduler, a leak would be one a call.
	moreThreads = 16
)

// long is a lane of one server that lives for the whole run.
func (k *soak) long(st style) func(context.Context) error {
	return func(ctx context.Context) error {
		a, err := newAPI(k.tally)
		if err != nil {
			return err
		}
		defer a.close()
		length := time.Until(k.end)
		if err := k.reference(ctx, st, a, time.Now().Add(min(length/10, 10*time.Second))); err != nil {
			return fmt.Errorf("%s: %w", st.name, err)
		}
		s, err := k.start(ctx, st, a, k.random(st.name, 1))
		if err != nil {
			return err
		}
		if err := s.live(ctx); err != nil && ctx.Err() == nil {
			s.fail("%v", err)
		}
		return nil
	}
}

// random is the source of decisions of one session of a lane.
func (k *soak) random(lane string, n uint64) *rand.Rand {
	for _, c := range lane {
		n = n*131 + uint64(c)
	}
	return rand.New(rand.NewPCG(k.seed, n))
}

// reference finds how many goroutines a server has that has worked for a moment
// and is left alone: goroutines can only be seen in the dump that ends it.
func (k *soak) reference(ctx context.Context, st style, a *api, until time.Time) error {
	st.name += ", short"
	s, err := k.start(ctx, st, a, k.random(st.name, 0))
	if err != nil {
		return err
	}
	if err := s.open(); err != nil {
		return err
	}
	if err := s.drive(ctx, until); err != nil {
		return err
	}
	idle, err := s.dump(ctx)
	if err != nil {
		return err
	}
	k.idle.Store(&idle)
	return nil
}

// live drives the session to the end of the run and compares its figures.
func (s *session) live(ctx context.Context) error {
	if err := s.open(); err != nil {
		return err
	}
	rest := time.Until(s.soak.end)
	if err := s.drive(ctx, time.Now().Add(rest/6)); err != nil {
		return err
	}
	s.err.reset()
	if err := s.drive(ctx, time.Now().Add(rest/6)); err != nil {
		return err
	}
	heapBefore := s.err.least()
	before, err := s.figures(ctx)
	if err != nil {
		return err
	}
	if err := s.drive(ctx, s.soak.end.Add(-rest/4)); err != nil {
		return err
	}
	s.err.reset()
	if err := s.drive(ctx, s.soak.end); err != nil {
		return err
	}
	heapAfter := s.err.least()
	after, err := s.figures(ctx)
	if err != nil {
		return err
	}
	idle := *s.soak.idle.Load()
	goroutines, err := s.dump(ctx)
	if err != nil {
		return err
	}
	s.soak.note("%-9s goroutines %d -> %d, descriptors %d -> %d, threads %d -> %d, live heap %d -> %d MiB, resident %d -> %d MiB, peak %d MiB",
		s.name, len(idle), len(goroutines), before.descriptors, after.descriptors, before.threads, after.threads,
		heapBefore, heapAfter, before.resident, after.resident, after.peak)
	return errors.Join(
		alike(idle, goroutines, 0),
		within("descriptors", before.descriptors, after.descriptors, 0),
		within("threads", before.threads, after.threads, moreThreads),
		s.soak.memory(within("live heap in MiB", heapBefore, heapAfter, moreLive)),
		s.soak.memory(within("resident MiB", before.resident, after.resident, moreResident)))
}

// within is an error when after is more than before and what may be added.
func within(what string, before, after, more int) error {
	if after <= before+more {
		return nil
	}
	return fmt.Errorf("%s: %d at the beginning, %d at the end, want at most %d", what, before, after, before+more)
}

// memory drops an error about memory when the race detector keeps a shadow of it.
func (k *soak) memory(err error) error {
	if k.raced {
		return nil
	}
	return err
}

// figures are those of the server with nothing to do.
func (s *session) figures(ctx context.Context) (figures, error) {
	if err := s.quiesce(ctx); err != nil {
		return figures{}, err
	}
	return measure(s.cmd.Process.Pid)
}

// dump ends the server, once it has nothing to do, by the signal for which the
// Go runtime prints every goroutine, and says who created them.
func (s *session) dump(ctx context.Context) ([]string, error) {
	if err := s.quiesce(ctx); err != nil {
		return nil, err
	}
	s.leaving.Store(true)
	s.err.dump()
	if err := s.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		return nil, err
	}
	if err := s.wait(); err == nil {
		return nil, errors.New("the server took SIGQUIT for a reason to end well")
	}
	return s.err.origins(), nil
}

// alike is an error when there are more goroutines than before and so many more.
func alike(before, after []string, more int) error {
	if len(after) <= len(before)+more && len(after) > 0 {
		return nil
	}
	return fmt.Errorf("%d goroutines at the beginning, %d at the end; before %v, after %v", len(before), len(after), before, after)
}
