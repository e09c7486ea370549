// Load measures serve --http with many calls at once, sends it large and
// half-sent requests, and restarts replicas under load. Everything runs on
// loopback against the fake API:
//
//	go run ./test/load
//
// It prints figures and exits with 1 when an answer is lost, a limit of memory
// is exceeded, or a client delays another one.
//
//	main.go    the scenarios
//	limit.go   calls that share the rate limit of the API
//	server.go  a server, and calls of it
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// Limits of the server's resident set, in MiB: with streaming calls, and with
// large requests.
const (
	maxMemory = 400
	maxLarge  = 250
)

func main() {
	restarts := flag.Int("restarts", 20, "restarts under load")
	calls := flag.Int("calls", 1000, "calls at once")
	lasts := flag.Duration("lasts", 10*time.Second, "how long each answer streams")
	limits := flag.Bool("limits", true, "send waves to APIs with a rate limit, a minute")
	flag.Parse()
	if err := run(*calls, *lasts, *restarts, *limits); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(calls int, lasts time.Duration, restarts int, limits bool) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "openai-responses-mcp")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/openai-responses-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	api := fakeapi.New(fakeapi.Options{Keep: 1})
	base, stopAPI, err := api.Listen()
	if err != nil {
		return err
	}
	defer stopAPI()
	if limits {
		if err := limited(binary); err != nil {
			return err
		}
	}
	launch := func() (*process, error) { return start(binary, base, max(calls, 256)) }
	return errors.Join(
		pace(api, lasts),
		many(launch, calls),
		pace(api, 400*time.Millisecond),
		attack(launch),
		restart(launch, restarts),
	)
}

// pace makes the fake API stream each answer for about this long.
func pace(api *fakeapi.Server, lasts time.Duration) error {
	const events = 20 // of an answer without a search, roughly
	step, err := fakeapi.ParseStep(fmt.Sprintf("ok+slow=%s", lasts/events))
	if err == nil {
		api.Always(step)
	}
	return err
}

// many sends all calls at once and reports memory and the latency that the
// number of calls adds to one.
func many(launch func() (*process, error), calls int) error {
	s, err := launch()
	if err != nil {
		return err
	}
	defer s.kill()
	alone, err := timed(s)
	if err != nil {
		return fmt.Errorf("one call alone: %w", err)
	}
	var lost losses
	took := make([]time.Duration, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			var err error
			took[i], err = timed(s)
			lost.add(err)
		})
	}
	all.Wait()
	memory, err := s.peak()
	if err != nil {
		return err
	}
	slices.Sort(took)
	added := func(q int) time.Duration { return (took[(calls-1)*q/100] - alone).Round(time.Millisecond) }
	fmt.Printf("%d streaming calls at once: %d lost, peak memory %d MiB, one call alone %v, added latency %v (median), %v (99 %%)\n",
		calls, lost.Load(), memory, alone.Round(time.Millisecond), added(50), added(99))
	if lost.Load() > 0 || memory > maxMemory {
		return fmt.Errorf("%d answers lost, %d MiB of %d", lost.Load(), memory, maxMemory)
	}
	return nil
}

// attack sends 30 requests of 4 MB, which are refused, and 150 requests without
// a token and with half a body or half a header. They must neither take much
// memory nor delay a call.
func attack(launch func() (*process, error)) error {
	s, err := launch()
	if err != nil {
		return err
	}
	defer s.kill()
	alone, err := timed(s)
	if err != nil {
		return err
	}
	query := strings.Repeat("x", 4_000_000)
	var all sync.WaitGroup
	for range 30 {
		all.Go(func() { _, _ = ask(nil, s.address, query) })
	}
	all.Wait()
	const header = "POST /mcp HTTP/1.1\r\nHost: localhost\r\n"
	for i := range 150 {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			return err
		}
		defer c.Close()
		texts := []string{header, header + "Content-Length: 1000\r\n\r\n"}
		if _, err := io.WriteString(c, texts[i%2]); err != nil {
			return err
		}
	}
	took, err := timed(s)
	if err != nil {
		return fmt.Errorf("a call during half-sent requests: %w", err)
	}
	delay := max(0, took-alone).Round(time.Millisecond)
	memory, err := s.peak()
	fmt.Printf("30 requests of 4 MB and 150 half-sent requests: peak memory %d MiB, they delay a call by %v\n", memory, delay)
	if delay > time.Second || memory > maxLarge {
		err = fmt.Errorf("a call is delayed by %v, %d MiB of %d", delay, memory, maxLarge)
	}
	return err
}

// restart replaces two replicas behind a proxy, one after the other, while
// calls arrive on connections that are kept. No answer may be lost.
func restart(launch func() (*process, error), restarts int) error {
	replicas := make([]atomic.Pointer[process], 2)
	for i := range replicas {
		s, err := launch()
		if err != nil {
			return err
		}
		replicas[i].Store(s)
		defer func() { replicas[i].Load().kill() }()
	}
	proxy, err := balance(replicas)
	if err != nil {
		return err
	}
	defer proxy.Close()

	var sent, dialed atomic.Int64
	var lost losses
	var stop atomic.Bool
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var c net.Conn
			for n := 0; !stop.Load(); n++ {
				if c == nil {
					dialed.Add(1)
				}
				sent.Add(1)
				var err error
				c, err = ask(c, proxy.Addr().String(), "load")
				lost.add(err)
				time.Sleep(time.Duration((7*i+13*n)%30) * 20 * time.Millisecond)
			}
			if c != nil {
				c.Close()
			}
		})
	}
	var failed error
	for n := range restarts {
		replica := &replicas[n%len(replicas)]
		failed = errors.Join(failed, replica.Load().stop()) // drains, while the other one serves
		next, err := launch()
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		replica.Store(next)
	}
	stop.Store(true)
	all.Wait()
	fmt.Printf("%d restarts under load: %d calls on %d connections, %d lost\n", restarts, sent.Load(), dialed.Load(), lost.Load())
	if lost.Load() > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d of %d answers lost", lost.Load(), sent.Load()))
	}
	return failed
}

// balance is a proxy for connections. It copies bytes between each one and a
// replica whose /readyz answers, in turn.
func balance(replicas []atomic.Pointer[process]) (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	forward := func(client net.Conn, turn int) {
		defer client.Close()
		s := replicas[turn%len(replicas)].Load()
		for !s.ready() {
			turn++
			s = replicas[turn%len(replicas)].Load()
		}
		server, err := net.Dial("tcp", s.address)
		if err != nil {
			return // a lost call
		}
		defer server.Close()
		go func() {
			io.Copy(server, client)
			server.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(client, server)
	}
	go func() {
		for turn := 0; ; turn++ {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			go forward(client, turn)
		}
	}()
	return ln, nil
}

// losses counts errors and prints the first one.
type losses struct{ atomic.Int64 }

func (l *losses) add(err error) {
	if err != nil && l.Add(1) == 1 {
		fmt.Fprintln(os.Stderr, "load:", err)
	}
}
