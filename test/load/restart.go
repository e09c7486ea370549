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

// restart restarts two servers behind a proxy in turn, while calls arrive on connections that are
// kept. No answer may be lost.
func restart(server program, restarts int, caddy string) error {
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

	front, stop, err := startProxy(caddy, backends)
	if err != nil {
		return fmt.Errorf("starting the proxy: %w", err)
	}
	defer stop()
	time.Sleep(second) // until Caddy knows that they are ready

	var over atomic.Bool
	var sent, lost atomic.Int64
	var users sync.WaitGroup
	for i := range 20 {
		users.Go(func() {
			var c net.Conn
			for n := 0; !over.Load(); n++ {
				sent.Add(1)
				var err error
				c, err = ask(c, front, "alice", "load")
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
		time.Sleep(second) // until Caddy knows that it is ready
	}

	over.Store(true)
	users.Wait()
	fmt.Printf("%d restarts under load: %d calls, %d lost\n", restarts, sent.Load(), lost.Load())
	if lost.Load() > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d answers lost", lost.Load()))
	}
	return failed
}

// startProxy starts Caddy with the shipped Caddyfile or, without Caddy's binary, a proxy of bytes. It
// returns its address, and how it is stopped.
func startProxy(caddy string, backends []string) (front string, stop func(), err error) {
	ln, err := net.Listen("tcp", anyPort)
	if err != nil {
		return "", nil, err
	}
	front = ln.Addr().String()
	if caddy == "" {
		go balance(ln, backends)
		return front, func() { ln.Close() }, nil
	}

	ln.Close() // Caddy listens there.
	_, port, _ := net.SplitHostPort(front)
	cmd := exec.Command(caddy, "run", "--adapter", "caddyfile", "--config", "config/Caddyfile")
	cmd.Env = append(os.Environ(),
		"DOMAIN=http://localhost:"+port,
		"SERVERS="+strings.Join(backends, " "),
	)
	proxy := &process{cmd, front}
	return front, proxy.kill, cmd.Start()
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
