package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// restarts is how often a server is restarted under load.
const restarts = 6

// restart restarts two servers behind Caddy in turn, while calls arrive on connections that are
// kept. No answer may be lost.
func restart(server program, caddy string) error {
	var replicas []*process
	var backends []string
	for i := range 2 {
		s, err := server.start(anyPort)
		if err != nil {
			return err
		}
		replicas = append(replicas, s)
		backends = append(backends, s.address)
		defer func() { replicas[i].kill() }()
	}

	proxy, err := startCaddy(caddy, backends)
	if err != nil {
		return fmt.Errorf("starting Caddy: %w", err)
	}
	defer proxy.kill()
	time.Sleep(time.Second) // until Caddy knows that they are ready

	var over atomic.Bool
	var sent, lost atomic.Int64
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() {
			var c net.Conn
			for n := 0; !over.Load(); n++ {
				sent.Add(1)
				var err error
				c, err = ask(c, proxy.address, "alice", "load")
				if err != nil {
					lost.Add(1)
					fmt.Fprintln(os.Stderr, "load:", err)
				}
				time.Sleep(time.Duration((7*i+13*n)%30) * 20 * time.Millisecond)
			}
		})
	}

	var failed error
	for n := range restarts {
		i := n % len(replicas)
		stopErr := replicas[i].stop() // drains, while the other one serves
		next, err := server.start(backends[i])
		failed = errors.Join(failed, stopErr, err)
		if err != nil {
			break
		}
		replicas[i] = next
		time.Sleep(time.Second) // until Caddy knows that it is ready
	}

	over.Store(true)
	users.Wait()
	fmt.Printf("%d restarts under load: %d calls, %d lost\n", restarts, sent.Load(), lost.Load())
	if lost.Load() > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d answers lost", lost.Load()))
	}
	return failed
}

// startCaddy starts Caddy with the shipped Caddyfile, on a free port.
func startCaddy(caddy string, backends []string) (*process, error) {
	ln, err := net.Listen("tcp", anyPort)
	if err != nil {
		return nil, err
	}
	front := ln.Addr().String()
	ln.Close() // Caddy listens there.
	_, port, _ := net.SplitHostPort(front)

	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", "config/Caddyfile")
	cmd.Env = append(os.Environ(),
		"DOMAIN=http://localhost:"+port,
		"SERVERS="+strings.Join(backends, " "),
	)
	return &process{cmd, front}, cmd.Start()
}
