//go:build unix

package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// perHour is the limit of calls in the faults.
const perHour = 4

// most is the longest that a call may take in a fault: a use of the store, and what a busy machine adds.
const most = 1200 * time.Millisecond

// fault is what happens to a server.
type fault struct {
	name       string
	begin, end func() error

	works   bool // the common limit goes on to hold
	forgets bool // the server forgets what was used
}

// faults shows, for each fault, what passes and how long calls take, and that another person notices
// nothing. The replicas stay, as do the limits after each fault.
func (f *fleet) faults() error {
	server, err := redistest.Start(f.dir, "appendonly", "yes")
	if err != nil {
		return err
	}
	defer server.Kill()
	p, err := newProxy(server.Address)
	if err != nil {
		return err
	}
	file := filepath.Join(f.dir, "store-url")
	write := func(url string) error { return os.WriteFile(file, []byte(url), 0o600) }
	err = write("redis://" + p.address)
	if err != nil {
		return err
	}

	server.Kill() // down at the start
	err = f.start(3, fmt.Sprint("--calls-per-hour ", perHour), "MCP_STORE_URL_FILE="+file)
	if err != nil {
		return err
	}
	passed, longest := f.ask("alice", 36, "1")
	fmt.Printf("%-34s %2d of 36 calls passed, longest %v\n", "down at the start:", passed, rounded(longest))
	if passed != 3*perHour || longest > most {
		return fmt.Errorf("%d calls passed, the longest took %v", passed, longest)
	}
	err = errors.Join(server.Run(), f.until("works again", 1))
	if err != nil {
		return err
	}

	do := func(command string, args ...any) func() error {
		return func() error {
			_, err := server.Do(command, args...)
			return err
		}
	}
	signal := func(sig syscall.Signal) func() error {
		return func() error { return syscall.Kill(server.Pid(), sig) }
	}
	delay := func(d time.Duration) func() error {
		return func() error { p.delay.Store(int64(d)); return nil }
	}
	silent := func(is bool) func() error {
		return func() error { p.silent.Store(is); return nil }
	}
	kill := func() error { server.Kill(); return nil }
	nothing := func() error { return nil }
	for i, fault := range []fault{
		{name: "killed", begin: kill, end: server.Run},
		{name: "stopped", begin: signal(syscall.SIGSTOP), end: signal(syscall.SIGCONT)},
		{name: "1 s away", begin: delay(time.Second), end: delay(0)},
		{name: "100 ms away", begin: delay(100 * time.Millisecond), end: delay(0), works: true},
		{name: "silent connections", begin: silent(true), end: silent(false)},
		{name: "full", begin: do("CONFIG", "SET", "maxmemory", "1"),
			end: do("CONFIG", "SET", "maxmemory", "0")},
		{name: "too few replicas to write", begin: do("CONFIG", "SET", "min-replicas-to-write", "1"),
			end: do("CONFIG", "SET", "min-replicas-to-write", "0")},
		{name: "failover: a read-only replica", begin: do("REPLICAOF", "127.0.0.1", "1"),
			end: do("REPLICAOF", "NO", "ONE")},
		{name: "the user may not write", begin: do("ACL", "SETUSER", "default", "-set"),
			end: do("ACL", "SETUSER", "default", "+set")},
		{name: "the user may not run scripts", begin: do("ACL", "SETUSER", "default", "-evalsha"),
			end: do("ACL", "SETUSER", "default", "+evalsha")},
		{name: "flushed, scripts too", begin: func() error {
			return errors.Join(do("FLUSHALL")(), do("SCRIPT", "FLUSH")())
		}, end: nothing, works: true, forgets: true},
		{name: "a password, which the file has", begin: func() error {
			return errors.Join(do("CLIENT", "KILL", "TYPE", "normal")(),
				do("CONFIG", "SET", "requirepass", "secret-of-the-store")(),
				write("redis://:secret-of-the-store@"+p.address))
		}, end: nothing},
	} {
		err := f.fault(i, fault)
		if err != nil {
			return fmt.Errorf("%s: %w", fault.name, err)
		}
	}
	for _, r := range f.replicas {
		if r.count("secret-of-the-store") > 0 {
			return errors.New("the log has the password")
		}
	}

	p.silent.Store(true)
	go f.replicas[0].call("alice", "1")
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	err = f.replicas[0].cmd.Process.Signal(syscall.SIGTERM)
	if err == nil {
		err = f.replicas[0].cmd.Wait()
	}
	fmt.Printf("SIGTERM while it is silent: ended after %v, %v\n", rounded(time.Since(began)), err)
	return err
}

// fault runs the fault with a number.
func (f *fleet) fault(i int, x fault) error {
	alice := fmt.Sprint("alice", i)
	bob := fmt.Sprint("bob", i)
	carol := fmt.Sprint("carol", i)
	warnings := f.replicas[0].count("level=WARN")
	ends := f.replicas[0].count("works again")
	before, _ := f.ask(alice, 2*perHour, "1")
	if before != perHour {
		return fmt.Errorf("%d calls passed before, want %d", before, perHour)
	}

	err := x.begin()
	if err != nil {
		return err
	}
	other, longest := f.ask(bob, 3, "1") // one at each replica
	passed, again := f.ask(alice, 36, "1")
	_, last := f.ask(alice, 3, "1")
	fmt.Printf("%-34s %2d of 36 calls passed beyond %d, 3 of 3 of another person; longest %v, then %v, %v\n",
		x.name+":", passed, perHour, rounded(longest), rounded(again), rounded(last))

	mayPass := 2 * perHour // at the replicas that have not seen the first ones
	if x.works {
		mayPass = 0
	}
	if x.forgets {
		mayPass = perHour
	}
	switch {
	case other != 3:
		return fmt.Errorf("%d calls of the other person were answered, want 3", other)
	case passed > mayPass+perHour/2:
		return fmt.Errorf("%d calls passed, want at most %d", passed, mayPass)
	case longest > most, again > most, last > most/4 && !x.works:
		return errors.New("calls waited too long")
	}

	err = x.end()
	if err == nil && !x.works {
		began := time.Now()
		err = f.until("works again", ends+1)
		fmt.Printf("%-34s used again after %v\n", "", rounded(time.Since(began)))
	}
	if err != nil {
		return err
	}
	passed, _ = f.ask(alice, 6, "1")
	others, _ := f.ask(carol, 3*perHour, "1")
	if passed != 0 || others != perHour {
		return fmt.Errorf("afterwards %d and %d calls passed, want 0 and %d", passed, others, perHour)
	}
	warnings = f.replicas[0].count("level=WARN") - warnings
	if warnings > 1 || x.works && warnings > 0 {
		return fmt.Errorf("%d warnings", warnings)
	}
	return nil
}

// until waits until all replicas have logged a text n times.
func (f *fleet) until(text string, n int) error {
	for began := time.Now(); time.Since(began) < 15*time.Second; time.Sleep(20 * time.Millisecond) {
		have := 0
		for _, r := range f.replicas {
			if r.count(text) >= n {
				have++
			}
		}
		if have == len(f.replicas) {
			return nil
		}
	}
	return fmt.Errorf("a replica has not logged %q %d times", text, n)
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
