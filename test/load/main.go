// Load measures serve --http with many calls at once, sends it large and half-sent requests, and ends
// and restarts servers under load. Everything runs on loopback against the fake API:
//
//	go run ./test/load
//
// It prints figures and exits with 1 when an answer is lost, a limit of memory
// is exceeded, or a client delays another one.
//
//	main.go     many calls at once, and large and half-sent requests
//	small.go    requests that are small and take much memory
//	tasks.go    tasks that no client of their server asks about
//	drain.go    the end of a server that is in use
//	restart.go  restarts behind Caddy with config/Caddyfile, if its binary is given
//	server.go   a server, and calls of it
package main

import (
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

// Limits of the server's resident set, in MiB: with streaming calls, and with large requests.
const (
	maxMemory = 400
	maxLarge  = 250
)

func main() {
	calls := flag.Int("calls", maxCalls, "calls at once")
	caddy := flag.String("caddy", "", "Caddy's binary: also restart servers behind it")
	flag.Parse()

	if err := run(*calls, *caddy); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(calls int, caddy string) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	out, err := exec.Command("go", "build", "-o", dir, "./cmd/openai-responses-mcp").CombinedOutput()
	if err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	binary := filepath.Join(dir, "openai-responses-mcp")

	api, err := apitest.Start()
	if err != nil {
		return err
	}
	defer api.Close()

	server := program{binary, api.URL}
	if err := small(server); err != nil {
		return err
	}
	if err := loaded(server, api, calls); err != nil {
		return err
	}
	if err := outlive(server, api, dir); err != nil {
		return fmt.Errorf("tasks: %w", err)
	}

	if err := api.Script("always", "ok+slow=100ms"); err != nil {
		return err
	}
	if err := drain(server); err != nil {
		return err
	}
	if caddy == "" {
		return nil
	}
	if err := api.Script("always", "ok+slow=20ms"); err != nil {
		return err
	}
	return restart(server, caddy)
}

// loaded attacks a server, and then sends it all calls at once. Each answer streams for about 5 s.
func loaded(server program, api *apitest.Server, calls int) error {
	s, err := server.start(anyPort)
	if err != nil {
		return err
	}

	defer s.kill()
	if err := attack(s); err != nil {
		return err
	}
	if err := s.checkMemory(maxLarge); err != nil {
		return err
	}

	if err := api.Script("always", "ok+slow=250ms"); err != nil {
		return err
	}
	began := time.Now()
	err = sideBySide(calls, func(int) error { return s.call("alice", "load", 0) })
	took := time.Since(began).Round(time.Millisecond)
	fmt.Printf("%d streaming calls at once: %v, error: %v\n", calls, took, err)

	if err != nil {
		return err
	}
	return s.checkMemory(maxMemory)
}

// attack sends 30 requests of 4 MB, which are refused, and 150 requests without a token and with half
// a body or half a header. They must not delay a call.
func attack(s *process) error {
	query := strings.Repeat("x", 4_000_000)
	sideBySide(30, func(int) error {
		s.call("alice", query, 0) // refused
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

	err := s.call("alice", "load", time.Second)
	if err != nil {
		return fmt.Errorf("during half-sent requests: %w", err)
	}
	fmt.Println("30 requests of 4 MB and 150 half-sent requests: a call takes less than 1s")
	return nil
}
