package main

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// restart restarts the servers behind a proxy in turn, while calls arrive on connections that are
// kept. No answer may be lost.
func restart(server program, restarts int, proxy string, backends []string) error {
	var err error
	replicas := make([]*process, len(backends))
	for i, address := range backends {
		replicas[i], err = server.start(address)
		if err != nil {
			return err
		}
		defer func() { replicas[i].kill() }()
	}

	time.Sleep(time.Second) // until Caddy knows that they are ready
	var load traffic
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() { load.user(proxy, i) })
	}

	var failed error
	for n := range restarts {
		i := n % len(backends)
		failed = errors.Join(failed, replicas[i].stop()) // drains, while the other one serves
		next, err := server.start(backends[i])
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		replicas[i] = next
		time.Sleep(time.Second) // until Caddy knows that it is ready
	}

	load.over.Store(true)
	users.Wait()

	fmt.Printf("%d restarts under load: %d calls, %d lost\n", restarts, load.sent.Load(), load.lost.Load())
	if lost := load.lost.Load(); lost > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d answers lost", lost))
	}
	return failed
}

// traffic is what the users of the servers send.
type traffic struct {
	over atomic.Bool // the users stop
	sent atomic.Int64
	lost atomic.Int64
}

// user makes one call after the other until the traffic is over, on a connection that is kept.
func (l *traffic) user(address string, i int) {
	var c net.Conn
	for n := 0; !l.over.Load(); n++ {
		l.sent.Add(1)
		var err error
		c, err = ask(c, address, "alice", "load")
		if err != nil {
			l.lost.Add(1)
			fmt.Fprintln(os.Stderr, "load:", err)
		}
		time.Sleep(time.Duration((7*i+13*n)%30) * 20 * time.Millisecond)
	}
	if c != nil {
		c.Close()
	}
}

// balance copies bytes between each connection and a server whose /readyz answers, in turn.
func balance(ln net.Listener, backends []string) {
	for turn := 0; ; turn++ {
		client, err := ln.Accept()
		if err != nil {
			return
		}
		go forward(client, backends, turn)
	}
}

// forward connects a client with the next server that is ready.
func forward(client net.Conn, backends []string, turn int) {
	defer client.Close()
	for !ready(backends[turn%len(backends)]) {
		turn++
	}

	server, err := net.Dial("tcp", backends[turn%len(backends)])
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

func ready(address string) bool {
	res, err := http.Get("http://" + address + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// startCaddy starts Caddy at an address, with the shipped Caddyfile.
func startCaddy(caddy, address string, backends []string) (*process, error) {
	_, port, _ := net.SplitHostPort(address)
	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", "config/Caddyfile")
	cmd.Env = append(os.Environ(),
		"DOMAIN=http://localhost:"+port,
		"SERVERS="+strings.Join(backends, " "),
	)
	return &process{cmd, address}, cmd.Start()
}

// freeAddresses returns addresses on loopback that nothing listens on.
func freeAddresses(n int) ([]string, error) {
	var all []string
	for range n {
		ln, err := net.Listen("tcp", anyPort)
		if err != nil {
			return nil, err
		}
		defer ln.Close()
		all = append(all, ln.Addr().String())
	}
	return all, nil
}
