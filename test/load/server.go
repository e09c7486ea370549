package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
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
	c, response, err := post(nil, s.Address, user, query)
	if c != nil {
		c.Close()
	}
	if err == nil && !isAnswer(response) {
		err = errors.New(response)
	}

	took := time.Since(began)
	if within > 0 && took > within {
		return fmt.Errorf("a call took %v, want %v: %v", took, within, err)
	}
	return err
}

func isAnswer(response string) bool { return strings.Contains(response, `"content":[`) }

// post calls the tool answer on c, or on a new connection if c is nil. It returns the connection if
// it can be used again, and status and body of the response.
func post(c net.Conn, address, user, query string) (kept net.Conn, response string, err error) {
	if c == nil {
		c, err = net.Dial("tcp", address)
		if err != nil {
			return nil, "", err
		}
	}
	defer func() {
		if kept == nil {
			c.Close()
		}
	}()

	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer",`+
		`"arguments":{"query":"%s"},"_meta":{"progressToken":1}}}`, query)
	if _, err := fmt.Fprintf(c, header, serving.Token(user), len(body), body); err != nil {
		return nil, "", err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		return nil, "", err
	}
	text, err := io.ReadAll(res.Body)
	if err == nil && !res.Close {
		kept = c
	}
	return kept, res.Status + ": " + string(text), err
}

// header is that of a call, with its token, its length and its body.
const header = "POST /mcp HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %s\r\n" +
	"Content-Type: application/json\r\nAccept: application/json, text/event-stream\r\n" +
	"Mcp-Protocol-Version: 2025-06-18\r\nContent-Length: %d\r\n\r\n%s"
