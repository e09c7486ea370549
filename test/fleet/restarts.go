//go:build unix

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// gateway sends calls to the replicas in turn, but to none that ends.
type gateway struct {
	mu       sync.Mutex
	replicas []replica
	next     int
}

func (g *gateway) pick() replica {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.next++
	return g.replicas[g.next%len(g.replicas)]
}

// replace ends the first replica, whose calls finish, and adds another one.
func (g *gateway) replace(start func() (replica, error)) error {
	g.mu.Lock()
	old := g.replicas[0]
	g.replicas = g.replicas[1:]
	g.mu.Unlock()
	next, err := start()
	err = errors.Join(err, old.Stop())
	if err != nil {
		return err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.replicas = append(g.replicas, next)
	return nil
}

const (
	restartLimit  = 20   // calls of a person in an hour
	restartTokens = 1000 // of a call, for 1 USD a million
	restartFlags  = "--notice 0s --drain 30s --calls-per-hour 20 --tokens-per-day 2000000 --usd-per-day 2 --config "
)

// restarts shows that a rolling restart of three replicas under load loses no call, and that the
// limits hold over it as the API counts: exactly where the store works, and nearly where it stops
// in the middle.
func (f *fleet) restarts(server *redistest.Server) error {
	config, err := f.prices()
	if err != nil {
		return err
	}
	began := time.Now()
	sent, err := f.roll("carol", config, storeAt(server.Address), func() {})
	fmt.Printf("rolling restart: %d calls reached the API, want %d\n", sent, restartLimit)
	if err != nil || sent != restartLimit {
		return fmt.Errorf("%d calls reached the API, %w", sent, err)
	}
	for quota, limit := range map[string]float64{"day": 2_000_000, "usd": 2_000_000} {
		used, _, err := stored(server, quota)
		refilled := time.Since(began).Seconds() * limit / 86400
		want := float64(restartLimit * restartTokens) // micro-USD, too
		fmt.Printf("rolling restart: the store has %.0f of %.0f of the limit %s, as %.0f have refilled\n",
			used, want, quota, refilled)
		if err != nil || used > want || used < want-refilled-1 {
			return fmt.Errorf("the store has %f of %f, %w", used, want, err)
		}
	}

	stop := func() { _ = syscall.Kill(server.Pid(), syscall.SIGSTOP) }
	sent, err = f.roll("dave", config, storeAt(server.Address), stop)
	_ = syscall.Kill(server.Pid(), syscall.SIGCONT)
	fmt.Printf("rolling restart, and the store stops in the middle: %d calls reached the API\n", sent)
	if err != nil || sent > 4*restartLimit { // each replica may count for itself
		return fmt.Errorf("%d calls reached the API, %w", sent, err)
	}
	return nil
}

// roll replaces each replica while eight callers of a person ask, and returns how many calls
// reached the API. It calls middle after the first one. A call that is neither answered nor refused
// by a limit is an error.
func (f *fleet) roll(person, config, env string, middle func()) (sent int, err error) {
	before := f.api.Arrived()
	start := func() (replica, error) {
		p, err := f.program.Start(serving.AnyPort, restartFlags+config, env)
		return replica{p}, err
	}
	g := &gateway{}
	for range 3 {
		r, err := start()
		if err != nil {
			return 0, err
		}
		g.replicas = append(g.replicas, r)
	}
	defer func() {
		for _, r := range g.replicas {
			r.Kill()
		}
	}()

	ctx, end := context.WithCancel(context.Background())
	var callers sync.WaitGroup
	var mu sync.Mutex
	var lost error
	for range 8 {
		callers.Go(func() {
			for ctx.Err() == nil {
				r := g.pick()
				body, err := r.send(context.Background(), person, fmt.Sprintf("tokens=%d+delay=300ms", restartTokens))
				known := serving.IsAnswer(body) || strings.Contains(body, "calls an hour")
				if err != nil || !known {
					mu.Lock()
					lost = errors.Join(lost, err, fmt.Errorf("a call is lost: %s", body))
					mu.Unlock()
					return
				}
				time.Sleep(200 * time.Millisecond)
			}
		})
	}
	time.Sleep(300 * time.Millisecond)
	for i := range 3 {
		err = errors.Join(err, g.replace(start))
		if i == 0 {
			middle()
		}
	}
	time.Sleep(time.Second)
	end()
	callers.Wait()
	return f.api.Arrived() - before, errors.Join(err, lost)
}
