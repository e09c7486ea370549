//go:build unix

package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
)

// perHour is the limit of calls in the faults.
const perHour = 4

// most is the longest that a call may take in a fault: a use of the store takes half a second, and
// a busy machine adds to that. Without a use, the quickest of five rounds takes most/20 at most.
const most = 5 * time.Second

// faultTable has a line for each fault: its name, how it begins and ends, "works" if the common
// limit goes on to hold, and "forgets" if the server forgets what was used.
//
//go:embed faults.txt
var faultTable string

// faults shows, for each fault, what passes and how long calls take, and that another person
// notices nothing. The replicas stay, as do the limits after each fault.
func (f *fleet) faults(server *redistest.Server) error {
	p, err := newProxy(server.Address)
	if err != nil {
		return err
	}
	file, err := f.file("store-url", "redis://"+p.address)
	if err != nil {
		return err
	}

	server.Kill() // down at the start
	err = f.start(3, fmt.Sprint("--calls-per-hour ", perHour), "MCP_STORE_URL_FILE="+file)
	if err != nil {
		return err
	}
	passed, longest := f.ask("alice", 36, one)
	fmt.Printf("%-34s %2d of 36 calls passed, longest %v\n", "down at the start:", passed, rounded(longest))
	if passed != 3*perHour || longest > most {
		return fmt.Errorf("%d calls passed, the longest took %v", passed, longest)
	}
	worked := f.worksAgain()
	err = errors.Join(server.Run(), f.untilWorks(worked))
	if err != nil {
		return err
	}

	n := &network{server, p, file}
	i := 0
	for line := range strings.Lines(faultTable) {
		err := f.fault(n, i, strings.Split(strings.TrimSpace(line), " | "))
		if err != nil {
			return fmt.Errorf("%s: %w", line, err)
		}
		i++
	}
	for _, r := range f.replicas {
		if r.Logged("secret-of-the-store") > 0 {
			return errors.New("the log has the password")
		}
	}

	p.silent.Store(true)
	go f.replicas[0].call("alice", one)
	time.Sleep(50 * time.Millisecond)
	began := time.Now()
	err = f.replicas[0].Stop()
	fmt.Printf("SIGTERM while it is silent: ended after %v, %v\n", rounded(time.Since(began)), err)
	return err
}

// refusals shows that no call passes while the store fails, where the replicas are to refuse them,
// and that none of these is counted.
func (f *fleet) refusals(server *redistest.Server) error {
	err := f.start(3, fmt.Sprint("--without-store refuse --calls-per-hour ", perHour), storeAt(server.Address))
	if err != nil {
		return err
	}
	err = f.check("refuse: 2 calls", "alice30", 2, one, 2)
	server.Kill()
	worked := f.worksAgain()
	err = errors.Join(err,
		f.check("36 calls at once while the store is down", "alice30", 36, one, 0),
		f.check("3 calls of another person", "bob30", 3, one, 0),
		server.Run(),
		f.untilWorks(worked),
		f.check("30 calls at once afterwards", "alice30", 30, one, perHour-2),
		f.check("30 calls of the other person", "bob30", 30, one, perHour),
	)

	worked = f.worksAgain()
	_ = syscall.Kill(server.Pid(), syscall.SIGSTOP)
	refused := f.check("36 calls at once while it is stopped", "carol30", 36, one, 0)
	_ = syscall.Kill(server.Pid(), syscall.SIGCONT)
	return errors.Join(err, refused, f.untilWorks(worked))
}

// network is what faults change.
type network struct {
	server  *redistest.Server
	proxy   *proxy
	urlFile string
}

// do executes commands, each after "; ".
func (n *network) do(commands string) error {
	for command := range strings.SplitSeq(commands, "; ") {
		word, rest, _ := strings.Cut(command, " ")
		var err error
		switch word {
		case "kill":
			n.server.Kill()
		case "run":
			err = n.server.Run()
		case "stop":
			err = syscall.Kill(n.server.Pid(), syscall.SIGSTOP)
		case "continue":
			err = syscall.Kill(n.server.Pid(), syscall.SIGCONT)
		case "silent":
			n.proxy.silent.Store(rest == "on")
		case "delay":
			var d time.Duration
			d, err = time.ParseDuration(rest)
			n.proxy.delay.Store(int64(d))
		case "login":
			err = os.WriteFile(n.urlFile, []byte("redis://:"+rest+"@"+n.proxy.address), 0o600)
		default:
			var args []any
			for arg := range strings.FieldsSeq(rest) {
				args = append(args, arg)
			}
			_, err = n.server.Do(word, args...)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fault runs the fault with a number.
func (f *fleet) fault(n *network, i int, x []string) error {
	works := strings.HasPrefix(x[3], "works")
	alice := fmt.Sprint("alice", i)
	bob := fmt.Sprint("bob", i)
	carol := fmt.Sprint("carol", i)
	warnings := f.replicas[0].Logged(" WRN ")
	before, _ := f.ask(alice, 2*perHour, one)
	if before != perHour {
		return fmt.Errorf("%d calls passed before, want %d", before, perHour)
	}

	worked := f.worksAgain()
	err := n.do(x[1])
	if err != nil {
		return err
	}
	other, longest := f.ask(bob, 3, one) // one at each replica
	passed, again := f.ask(alice, 36, one)
	last := most
	for range 5 {
		_, took := f.ask(alice, 3, one)
		last = min(last, took)
	}
	fmt.Printf("%-34s %2d of 36 calls passed beyond %d, 3 of 3 of another person; longest %v, then %v, %v\n",
		x[0]+":", passed, perHour, rounded(longest), rounded(again), rounded(last))

	mayPass := 2 * perHour // at the replicas that have not seen the first ones
	if works {
		mayPass = 0
	}
	if x[3] == "works, forgets" {
		mayPass = perHour
	}
	switch {
	case other != 3:
		return fmt.Errorf("%d calls of the other person were answered, want 3", other)
	case passed > mayPass+perHour/2:
		return fmt.Errorf("%d calls passed, want at most %d", passed, mayPass)
	case longest > most, again > most, last > most/20 && !works:
		return errors.New("calls waited too long")
	}

	err = n.do(x[2])
	if err == nil && !works {
		began := time.Now()
		err = f.untilWorks(worked)
		fmt.Printf("%-34s used again after %v\n", "", rounded(time.Since(began)))
	}
	if err != nil {
		return err
	}
	passed, _ = f.ask(alice, 6, one)
	others, _ := f.ask(carol, 3*perHour, one)
	if passed != 0 || others != perHour {
		return fmt.Errorf("afterwards %d and %d calls passed, want 0 and %d", passed, others, perHour)
	}
	warnings = f.replicas[0].Logged(" WRN ") - warnings
	if warnings > 2 || works && warnings > 0 {
		return fmt.Errorf("%d warnings", warnings)
	}
	return nil
}

// worksAgain returns how often each replica has logged that the store works again. On a busy
// machine the store may have failed for some of them alone.
func (f *fleet) worksAgain() (times []int) {
	for _, r := range f.replicas {
		times = append(times, r.Logged("works again"))
	}
	return times
}

// untilWorks waits until the store works again for all replicas. before is what worksAgain returned
// before it failed.
func (f *fleet) untilWorks(before []int) error {
	return wait(func() bool {
		for i, times := range f.worksAgain() {
			if times == before[i] {
				return false
			}
		}
		return true
	})
}

func rounded(d time.Duration) time.Duration { return d.Round(10 * time.Millisecond) }
