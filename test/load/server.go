package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// maxCalls is how many calls a server takes at once, also of one user.
const maxCalls = 1000

// people may call the servers.
var people = []string{"alice", "bob", "carol", "dave", "erin"}

// process is a running server.
type process struct{ *serving.Process }

// program is what starts servers.
type program struct{ *serving.Program }

// start starts a server at an address, with further flags.
func (p program) start(address, flags string) (*process, error) {
	limits := fmt.Sprintf("--max-calls %d --max-calls-per-user %[1]d ", maxCalls)
	s, err := p.Start(address, limits+flags)
	return &process{s}, err
}

// peak returns the largest resident set so far, in MiB.
func (s *process) peak() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.Process.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	_, err = fmt.Sscan(after, &kib)
	return kib >> 10, err
}

// checkMemory prints the peak, which may be most.
func (s *process) checkMemory(most int) error {
	peak, err := s.peak()
	if err != nil {
		return err
	}
	fmt.Printf("peak memory %d MiB\n", peak)
	if peak > most {
		return fmt.Errorf("%d MiB of %d", peak, most)
	}
	return nil
}

// sideBySide calls do n times at once, and prints the first error. It returns how many failed.
func sideBySide(n int, do func(i int) error) error {
	var all sync.WaitGroup
	var count atomic.Int64
	for i := range n {
		all.Go(func() {
			if err := do(i); err != nil && count.Add(1) == 1 {
				fmt.Fprintln(os.Stderr, "load:", err)
			}
		})
	}
	all.Wait()

	failed := count.Load()
	if failed > 0 {
		return fmt.Errorf("%d of %d failed", failed, n)
	}
	return nil
}

// call makes one call on a new connection. It must be answered within a time; 0: at any time.
func (s *process) call(user, query string, within time.Duration) error {
	began := time.Now()
	response, err := post(&http.Transport{DisableKeepAlives: true}, s.Address, user, query)
	if err == nil && !serving.IsAnswer(response) {
		err = errors.New(response)
	}

	took := time.Since(began)
	if within > 0 && took > within {
		return fmt.Errorf("a call took %v, want %v: %v", took, within, err)
	}
	return err
}

// post calls the tool answer on a connection of c, or on a new one, and returns the response.
func post(c *http.Transport, address, user, query string) (response string, err error) {
	return serving.Call(context.Background(), &http.Client{Transport: c}, address, user, "answer",
		`{"query":"`+query+`"},"_meta":{"progressToken":1}`)
}
