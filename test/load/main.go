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
//	people.go  one person's refused requests, and another person
//	caddy.go   restarts behind Caddy with config/Caddyfile
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
	limits := flag.Bool("limits", true, "send waves to APIs with a rate limit, and refuse one person, two minutes")
	earlier := flag.Duration("earlier", 10*time.Second, "how long one person is refused before another asks")
	caddy := flag.String("caddy", "", "Caddy's binary: restart servers behind it, too")
	flag.Parse()
	if err := run(*calls, *lasts, *restarts, *limits, *earlier, *caddy); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

// scenarios makes the servers of the scenarios, which use one API.
type scenarios struct {
	binary   string
	api      *fakeapi.Server
	maxCalls int
}

func run(calls int, lasts time.Duration, restarts int, limits bool, earlier time.Duration, caddy string) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	binary, err := build(dir)
	if err != nil {
		return err
	}
	if limits {
		if err := errors.Join(limited(binary), people(binary, earlier)); err != nil {
			return err
		}
	}

	api, err := fakeapi.Start()
	if err != nil {
		return err
	}
	defer api.Close()
	all := &scenarios{binary: binary, api: api, maxCalls: max(calls, 256)}

	crowd := func(s *process, alone time.Duration) error { return many(s, alone, calls) }
	err = errors.Join(
		all.afterOneCall(lasts, crowd),
		all.afterOneCall(400*time.Millisecond, attack),
		all.restart(restarts),
	)
	if caddy != "" {
		err = errors.Join(err, all.behindCaddy(caddy, restarts))
	}
	return err
}

// build returns the path of the server's binary.
func build(dir string) (string, error) {
	path := filepath.Join(dir, "openai-responses-mcp")
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, "./cmd/openai-responses-mcp")
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building: %w\n%s", err, out)
	}
	return path, nil
}

func (a *scenarios) launch() (*process, error) { return start(a.binary, a.api.URL, a.maxCalls) }

// afterOneCall starts a server, makes one call alone, and then does the rest. Each answer streams for
// the time lasts.
func (a *scenarios) afterOneCall(lasts time.Duration, do func(s *process, alone time.Duration) error) error {
	const events = 20 // of an answer without a search, roughly
	if err := a.api.Script("always", fmt.Sprintf("ok+slow=%s", lasts/events)); err != nil {
		return err
	}

	s, err := a.launch()
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

// many sends all calls at once and reports memory and the latency that the number of calls adds to
// one.
func many(s *process, alone time.Duration, calls int) error {
	took := make([]time.Duration, calls)
	lost := sideBySide(calls, func(i int) error {
		var err error
		took[i], err = s.call("load")
		return err
	})
	memory, err := s.peak()
	if err != nil {
		return err
	}

	slices.Sort(took)
	added := func(percent int) time.Duration {
		return (took[(calls-1)*percent/100] - alone).Round(time.Millisecond)
	}
	fmt.Printf("%d streaming calls at once: %d lost, peak memory %d MiB, ", calls, lost, memory)
	fmt.Printf("one call alone %v, added latency %v (median), %v (99 %%)\n",
		alone.Round(time.Millisecond), added(50), added(99))

	if lost > 0 {
		return fmt.Errorf("%d answers lost", lost)
	}
	if memory > maxMemory {
		return fmt.Errorf("%d MiB of %d", memory, maxMemory)
	}
	return nil
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
	halves := []string{header, header + "Content-Length: 1000\r\n\r\n"}
	for i := range 150 {
		c, err := net.Dial("tcp", s.address)
		if err != nil {
			return err
		}
		defer c.Close()
		if _, err := io.WriteString(c, halves[i%2]); err != nil {
			return err
		}
	}

	took, err := s.call("load")
	if err != nil {
		return fmt.Errorf("a call during half-sent requests: %w", err)
	}
	memory, err := s.peak()
	if err != nil {
		return err
	}

	delay := max(0, took-alone).Round(time.Millisecond)
	fmt.Printf("30 requests of 4 MB and 150 half-sent requests: peak memory %d MiB, they delay a call by %v\n",
		memory, delay)
	if delay > time.Second {
		return fmt.Errorf("a call is delayed by %v", delay)
	}
	if memory > maxLarge {
		return fmt.Errorf("%d MiB of %d", memory, maxLarge)
	}
	return nil
}

// traffic is what the users of the replicas send.
type traffic struct {
	address string
	over    atomic.Bool // the users stop
	sent    atomic.Int64
	dialed  atomic.Int64
	lost    atomic.Int64
}

// restart replaces two replicas behind a proxy, one after the other, while calls arrive on connections
// that are kept. No answer may be lost.
func (a *scenarios) restart(restarts int) error {
	replicas := make([]atomic.Pointer[process], 2)
	for i := range replicas {
		s, err := a.launch()
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

	load := &traffic{address: proxy.Addr().String()}
	var users sync.WaitGroup
	users.Go(func() { sideBySide(20, load.user) })

	var failed error
	for n := range restarts {
		replica := &replicas[n%len(replicas)]
		failed = errors.Join(failed, replica.Load().stop()) // drains, while the other one serves
		next, err := a.launch()
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		replica.Store(next)
	}
	load.over.Store(true)
	users.Wait()

	return errors.Join(failed, load.report(fmt.Sprintf("%d restarts under load", restarts)))
}

// report prints what the users got. A lost answer is an error.
func (l *traffic) report(scenario string) error {
	sent := l.sent.Load()
	lost := l.lost.Load()
	fmt.Printf("%s: %d calls on %d connections, %d lost\n", scenario, sent, l.dialed.Load(), lost)
	if lost > 0 {
		return fmt.Errorf("%d of %d answers lost", lost, sent)
	}
	return nil
}

// user makes one call after the other until the traffic is over. It returns the first error.
func (l *traffic) user(i int) error {
	var first error
	var c net.Conn
	for n := 0; !l.over.Load(); n++ {
		if c == nil {
			l.dialed.Add(1)
		}
		l.sent.Add(1)
		var err error
		c, err = ask(c, l.address, "load", "load")
		if err != nil {
			l.lost.Add(1)
			first = cmp.Or(first, err)
		}
		time.Sleep(time.Duration((7*i+13*n)%30) * 20 * time.Millisecond)
	}
	if c != nil {
		c.Close()
	}
	return first
}

// balance is a proxy for connections. It copies bytes between each one and a replica whose /readyz
// answers, in turn.
func balance(replicas []atomic.Pointer[process]) (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}

	go func() {
		for turn := 0; ; turn++ {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			go forward(client, replicas, turn)
		}
	}()
	return ln, nil
}

// forward connects a client with the next replica that is ready.
func forward(client net.Conn, replicas []atomic.Pointer[process], turn int) {
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
