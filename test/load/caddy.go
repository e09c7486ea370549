package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"sync"
	"time"
)

const caddyfile = "config/Caddyfile"

// behindCaddy restarts two servers in turn behind Caddy with the shipped Caddyfile, while calls arrive.
// No answer may be lost.
func (a *scenarios) behindCaddy(caddy string, restarts int) error {
	addresses, err := freeAddresses(3)
	if err != nil {
		return err
	}
	front := addresses[0]
	_, port, _ := net.SplitHostPort(front)
	backends := addresses[1:]

	servers := make([]*process, len(backends))
	for i, address := range backends {
		servers[i], err = startAt(address, a.binary, a.api.URL, a.maxCalls, "load")
		if err != nil {
			return err
		}
		defer func() { servers[i].kill() }()
	}

	proxy := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", caddyfile)
	proxy.Env = append(os.Environ(),
		"DOMAIN=http://localhost:"+port,
		"SERVERS="+backends[0]+" "+backends[1],
	)
	if err := proxy.Start(); err != nil {
		return fmt.Errorf("starting Caddy: %w", err)
	}
	defer func() {
		proxy.Process.Kill()
		proxy.Wait()
	}()
	if err := listens(front); err != nil {
		return err
	}

	load := &traffic{address: front}
	var users sync.WaitGroup
	users.Go(func() { sideBySide(20, load.user) })

	var failed error
	for n := range restarts {
		i := n % len(servers)
		failed = errors.Join(failed, servers[i].stop()) // drains, while the other one serves
		next, err := startAt(backends[i], a.binary, a.api.URL, a.maxCalls, "load")
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		servers[i] = next
		time.Sleep(2 * time.Second) // until Caddy knows that it is ready
	}
	load.over.Store(true)
	users.Wait()

	return errors.Join(failed, load.report(fmt.Sprintf("%d restarts behind Caddy", restarts)))
}

// freeAddresses returns addresses on loopback that nothing listens on.
func freeAddresses(n int) ([]string, error) {
	var all []string
	for range n {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		all = append(all, ln.Addr().String())
	}
	return all, nil
}

// listens waits until a connection to address is accepted, at most 10 s.
func listens(address string) error {
	var err error
	for range 100 {
		var c net.Conn
		c, err = net.Dial("tcp", address)
		if err == nil {
			return c.Close()
		}
		time.Sleep(100 * time.Millisecond)
	}
	return err
}
