//go:build unix

// Fleet runs three replicas of serve --http with a redis-server on loopback, and shows that the
// limits of people hold for all of them, also when replicas and the server fail:
//
//	go run ./test/fleet
//
// It prints figures, and exits with 1 when a limit does not hold, a person notices the limit or the
// fault of another one, or the server delays calls for too long.
//
//	main.go        the limits without faults, latency and memory
//	restarts.go    a rolling restart under load
//	background.go  responses in the background that another replica finishes
//	faults.go      faults of the server
//	recipes.go     the lines of the page for operators
//	replica.go     calls of a replica
//	proxy.go       a network between the replicas and the server
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/gomodule/redigo/redis"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/redistest"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

func main() {
	err := run()
	if err != nil {
		fmt.Fprintln(os.Stderr, "fleet:", err)
		os.Exit(1)
	}
}

func run() error {
	dir, err := os.MkdirTemp("", "fleet")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	program, err := serving.Build(dir)
	if err != nil {
		return err
	}
	for _, name := range []string{"alice", "bob", "carol", "dave"} {
		program.People = append(program.People, name)
		for i := range 40 { // of the faults
			program.People = append(program.People, fmt.Sprint(name, i))
		}
	}

	api, err := apitest.Start("always", "asked")
	if err != nil {
		return err
	}
	defer api.Close()
	program.Base = api.URL
	f := &fleet{program: program, api: api, dir: dir}
	return errors.Join(
		f.run(f.calls),
		f.run(f.tokens),
		f.run(f.money),
		f.run(f.restarts),
		f.run(f.background),
		f.run(f.latency),
		f.run(f.faults, "appendonly", "yes", "appendfsync", "always"),
		f.run(f.refusals, "appendonly", "yes", "appendfsync", "always"),
		f.recipes(),
	)
}

// fleet is three replicas and what they need.
type fleet struct {
	program  *serving.Program
	api      *apitest.Server
	dir      string
	replicas []replica
}

// run runs a step with a store of its own.
func (f *fleet) run(step func(*redistest.Server) error, settings ...string) error {
	server, err := redistest.Start(f.dir, settings...)
	if err != nil {
		return err
	}
	defer server.Kill()
	defer f.stop()
	return step(server)
}

// start starts replicas with an environment.
func (f *fleet) start(n int, flags string, env ...string) error {
	env = append(env, "MCP_TASK_SECRETS="+strings.Repeat("secret", 8))
	for range n {
		p, err := f.program.Start(serving.AnyPort, "--notice 0s --drain 0s "+flags, env...)
		if err != nil {
			return err
		}
		f.replicas = append(f.replicas, replica{p})
	}
	return nil
}

// stop kills the replicas.
func (f *fleet) stop() {
	for _, r := range f.replicas {
		r.Kill()
	}
	f.replicas = nil
}

// wait waits until something holds, for a minute at most.
func wait(holds func() bool) error {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			return errors.New("waiting for a minute")
		}
	}
	return nil
}

// file writes a file, and returns its path.
func (f *fleet) file(name, text string) (path string, err error) {
	path = filepath.Join(f.dir, name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// prices writes a configuration with prices.
func (f *fleet) prices() (path string, err error) {
	return f.file("prices.yaml", "prices: {gpt-5: {input: 1, output: 10}}")
}

// Questions whose answers use one token, and ten.
const (
	one = "tokens=1"
	few = "tokens=10"
)

func storeAt(address string) string { return "MCP_STORE_URL=redis://" + address }

// check makes n calls of a person at once, and returns an error unless so many are answered.
func (f *fleet) check(what, person string, n int, question string, want int) error {
	answered, _ := f.ask(person, n, question)
	fmt.Printf("%s: answered: %d\n", what, answered)
	if answered != want {
		return fmt.Errorf("%s: %d answered, want %d", what, answered, want)
	}
	return nil
}

// calls shows that N calls of a person pass at all replicas, also at once, after restarts and at a
// fourth replica, and that another person notices nothing.
func (f *fleet) calls(server *redistest.Server) error {
	const flags = "--calls-per-hour 6"
	err := f.start(3, flags, storeAt(server.Address))
	if err != nil {
		return err
	}
	err = errors.Join(
		f.check("30 calls at once at three replicas, 6 an hour", "alice", 30, one, 6),
		f.check("6 calls of another person beside them", "bob", 6, one, 6),
	)
	f.stop()
	if err == nil {
		err = f.start(4, flags, storeAt(server.Address))
	}
	if err != nil {
		return err
	}
	return f.check("8 more calls after restarts, two of them at a fourth replica", "alice", 8, one, 0)
}

// tokens shows that neither many calls at once nor calls whose client leaves go beyond the tokens
// of a day, and that the calls of a replica that is killed count.
func (f *fleet) tokens(server *redistest.Server) error {
	err := f.start(3, "--tokens-per-day 200000 --tokens-per-day-of-all 1000000", storeAt(server.Address))
	if err != nil {
		return err
	}

	f.ask("alice", 1, "tokens=100000")
	passed, _ := f.ask("alice", 30, "tokens=50000+delay=2s")
	fmt.Printf("30 calls of 50,000 tokens at once, 100,000 left: %d answered\n", passed)
	if passed > 6 {
		return fmt.Errorf("%d calls passed", passed)
	}
	err = f.check("3 calls of another person beside them", "bob", 3, few, 3)

	before := f.api.Arrived()
	_ = wait(func() bool { // each counts 10,000, as nothing of it has come
		f.leave("carol", "tokens=10000+delay=2s", 1)
		return f.api.Arrived() >= before+21
	})
	err = errors.Join(err, f.check("3 calls after 21 whose client left", "carol", 3, few, 0))

	before = f.api.Arrived()
	for range 10 {
		go f.replicas[0].call("dave", "tokens=10000+delay=2s")
	}
	_ = wait(func() bool { return f.api.Arrived() >= before+4 }) // each reserves 60,000
	f.replicas[0].Kill()
	f.replicas = f.replicas[1:]
	return errors.Join(err, f.check("4 calls after 10 of a replica that was killed", "dave", 4, few, 0))
}

// money shows that many calls at once do not go beyond the USD of a day. A call of answer reserves
// 0.114 USD, and costs 0.2.
func (f *fleet) money(server *redistest.Server) error {
	config, err := f.prices()
	if err == nil {
		err = f.start(3, "--usd-per-day 1 --usd-per-day-of-all 10 --config "+config, storeAt(server.Address))
	}
	if err != nil {
		return err
	}
	return errors.Join(
		f.check("30 calls of 0.2 USD at once, 1 a day", "alice", 30, "tokens=200000+delay=2s", 9),
		f.check("3 calls afterwards", "alice", 3, few, 0),
		f.check("3 calls of another person beside them", "bob", 3, few, 3),
	)
}

// latency prints what the store adds to a call, and what it keeps.
func (f *fleet) latency(server *redistest.Server) error {
	const flags = "--calls-per-hour 2000 --tokens-per-day 1000000000"
	err := errors.Join(f.start(1, flags), f.start(1, flags, storeAt(server.Address)))
	if err != nil {
		return err
	}

	const n = 1000
	times := [2][]time.Duration{}
	for range n {
		for i, r := range f.replicas { // in turns: both see the same machine
			began := time.Now()
			if !r.call("alice", "tokens=10000") {
				return fmt.Errorf("a call was refused")
			}
			times[i] = append(times[i], time.Since(began))
		}
	}
	for i, name := range []string{"without the store", "with it"} {
		slices.Sort(times[i])
		fmt.Printf("a call %s: median %v, 95 %% %v\n", name,
			times[i][n/2].Round(10*time.Microsecond), times[i][n*95/100].Round(10*time.Microsecond))
	}

	stats, err := redis.String(server.Do("INFO", "commandstats"))
	if err != nil {
		return err
	}
	uses := 0
	for line := range strings.Lines(stats) {
		_, _ = fmt.Sscanf(line, "cmdstat_evalsha:calls=%d,", &uses)
	}
	fmt.Printf("uses of the store: %.2f a call\n", float64(uses)/n)
	keys, err := redis.Strings(server.Do("KEYS", "*:*:*:?*"))
	if err != nil {
		return err
	}
	bytes := 0
	for _, key := range keys {
		size, _ := redis.Int(server.Do("MEMORY", "USAGE", key))
		bytes += size
	}
	fmt.Printf("bytes after these calls: %d, in %d keys\n", bytes, len(keys))
	return nil
}
