// Load measures serve --http with many calls at once, sends it large and half-sent requests, and
// restarts replicas under load. Everything runs on loopback against the fake API:
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
	"cmp"
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

// Limits of the server's resident set, in MiB: with streaming calls, and with large requests.
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
	if limits {
		if err := limited(binary); err != nil {
			return err
		}
	}
	api, err := fakeapi.Start()
	if err != nil {
		return err
	}
	defer api.Close()
	launch := func() (*process, error) { return start(binary, api.URL, max(calls, 256)) }
	// scenario starts a server and makes one call alone.
	scenario := func(lasts time.Duration, do func(s *process, alone time.Duration) error) error {
		const events = 20 // of an answer without a search, roughly
		if err := api.Script("always", fmt.Sprintf("ok+slow=%s", lasts/events)); err != nil {
			return err
		}
		s, err := launch()
		if err != nil {
			return err
		}
		defer s.kill()
		alone, err := s.call("load")
		if err != nil {
			return fmt.Errorf("one call alone: %w", err)
		}
		return do(s, alone)
	}
	return errors.Join(
		scenario(lasts, func(s *process, alone time.Duration) error { return many(s, alone, calls) }),
		scenario(400*time.Millisecond, attack),
		restart(launch, restarts),
	)
}

// many sends all calls at once and reports memory and the latency that the number of calls adds to
// one.
func many(s *process, alone time.Duration, calls int) error {
	took := make([]time.Duration, calls)
	lost := sideBySide(calls, func(i int) (err error) {
		took[i], err = s.call("load")
		return err
	})
	memory, err := s.peak()
	slices.Sort(took)
	added := func(q int) time.Duration { return (took[(calls-1)*q/100] - alone).Round(time.Millisecond) }
	fmt.Printf("%d streaming calls at once: %d lost, peak memory %d MiB, one call alone %v, added latency %v (median), %v (99 %%)\n",
		calls, lost, memory, alone.Round(time.Millisecond), added(50), added(99))
	if lost > 0 || memory > maxMemory {
		err = fmt.Errorf("%d answers lost, %d MiB of %d", lost, memory, maxMemory)
	}
	return err
}

// attack sends 30 requests of 4 MB, which are refused, and 150 requests without a token and with half
// a body or half a header. They must neither take much memory nor delay a call.
func attack(s *process, alone time.Duration) error {
	query := strings.Repeat("x", 4_000_000)
	sideBySide(30, func(int) error {
		_, _ = s.call(query) // refused
		return nil
	})
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
	took, err := s.call("load")
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

// restart replaces two replicas behind a proxy, one after the other, while calls arrive on connections
// that are kept. No answer may be lost.
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

	var sent, dialed, lost atomic.Int64
	var stop atomic.Bool
	user := func(i int) (first error) {
		var c net.Conn
		for n := 0; !stop.Load(); n++ {
			if c == nil {
				dialed.Add(1)
			}
			sent.Add(1)
			var err error
			c, err = ask(c, proxy.Addr().String(), "load")
			if err != nil {
				lost.Add(1)
				first = cmp.Or(first, err)
			}
			time.Sleep(time.Duration((7*i+13*n)%30) * 20 * time.Millisecond)
		}
		if c != nil {
			c.Close()
		}
		return first
	}
	var users sync.WaitGroup
	users.Go(func() { sideBySide(20, user) })
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
	users.Wait()
	fmt.Printf("%d restarts under load: %d calls on %d connections, %d lost\n", restarts, sent.Load(), dialed.Load(), lost.Load())
	if lost.Load() > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d of %d answers lost", lost.Load(), sent.Load()))
	}
	return failed
}

// balance is a proxy for connections. It copies bytes between each one and a replica whose /readyz
// answers, in turn.
func balance(replicas []atomic.Pointer[process]) (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	forward := func(client net.Conn, turn int) {
		defer client.Close()
		for !replicas[turn%len(replicas)].Load().ready() {
			turn++
		}
		server, err := net.Dial("tcp", replicas[turn%len(replicas)].Load().address)
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
