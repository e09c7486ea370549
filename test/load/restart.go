package main

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// restarts is how often a server is restarted under load.
const restarts = 6

// restart restarts two servers behind Caddy in turn, while calls arrive on connections that are
// kept. No answer may be lost.
func restart(server program, caddy string) error {
	var replicas []*process
	var backends []string
	for i := range 2 {
		s, err := server.start(serving.AnyPort, "")
		if err != nil {
			return err
		}
		replicas = append(replicas, s)
		backends = append(backends, s.Address)
		defer func() { replicas[i].Kill() }()
	}

	proxy, err := startCaddy(caddy, backends)
	if err != nil {
		return fmt.Errorf("starting Caddy: %w", err)
	}
	defer proxy.Kill()
	time.Sleep(time.Second) // until Caddy knows that they are ready

	loses := func(response string, err error) bool { return err != nil || !serving.IsAnswer(response) }
	return inUse(fmt.Sprint(restarts, " restarts"), proxy.Address, loses, func() error {
		for n := range restarts {
			i := n % len(replicas)
			err := replicas[i].Stop() // drains, while the other one serves
			if err != nil {
				return err
			}
			next, err := server.start(backends[i], "")
			if err != nil {
				return err
			}
			replicas[i] = next
			time.Sleep(time.Second) // until Caddy knows that it is ready
		}
		return nil
	})
}

// startCaddy starts Caddy with the shipped Caddyfile, on a free port.
func startCaddy(caddy string, backends []string) (*serving.Process, error) {
	ln, err := net.Listen("tcp", serving.AnyPort)
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
	return &serving.Process{Cmd: cmd, Address: front}, cmd.Start()
}
