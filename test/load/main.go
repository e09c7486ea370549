// Load measures serve --http with many calls at once, sends it requests that could take much
// memory, and ends and restarts servers under load. Everything runs on loopback against the fake
// API:
//
//	go run ./test/load
//
// It prints figures and exits with 1 when an answer is lost, a limit of memory
// is exceeded, or a client delays another one.
//
//	main.go     many calls at once
//	attack.go   requests that are large or half-sent, or small with many elements
//	faults.go   five people, and faults of their requests
//	drain.go    the end of a server that is in use
//	restart.go  restarts behind Caddy with config/Caddyfile, if its binary is given
//	server.go   a server, and calls of it
package main

import (
	"flag"
	"fmt"
	"os"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// maxMemory is the limit of the server's resident set with streaming calls, in MiB.
const maxMemory = 400

func main() {
	calls := flag.Int("calls", maxCalls, "calls at once")
	faulty := flag.Duration("faults", 2*time.Minute, "time of the calls with faults")
	caddy := flag.String("caddy", "", "Caddy's binary: also restart servers behind it")
	flag.Parse()

	if err := run(*calls, *faulty, *caddy); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(calls int, faulty time.Duration, caddy string) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	built, err := serving.Build(dir)
	if err != nil {
		return err
	}
	built.People = people
	server := program{built}
	if err := faults(server, dir, faulty); err != nil {
		return fmt.Errorf("faults: %w", err)
	}

	api, err := apitest.Start()
	if err != nil {
		return err
	}
	defer api.Close()

	server.Base = api.URL
	if err := attack(server); err != nil {
		return err
	}
	if err := loaded(server, api, calls); err != nil {
		return err
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
	return restart(server, caddy)
}

// loaded sends a server all calls at once. Each answer streams for about 5 s.
func loaded(server program, api *apitest.Server, calls int) error {
	s, err := server.start(serving.AnyPort, "")
	if err != nil {
		return err
	}
	defer s.Kill()

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
