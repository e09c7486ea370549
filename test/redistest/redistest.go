// Package redistest runs a redis-server for tests, or a valkey-server, on loopback.
package redistest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/gomodule/redigo/redis"
)

// Server is a server. Its settings and its port stay when it starts again.
type Server struct {
	Address string // with its port

	cmd  *exec.Cmd
	args []string
}

// program is the path of the server, or "".
func program() string {
	for _, name := range []string{"redis-server", "valkey-server"} {
		path, err := exec.LookPath(name)
		if err == nil {
			return path
		}
	}
	return ""
}

// New starts a server for a test, which is skipped where none is installed.
func New(t *testing.T, settings ...string) *Server {
	t.Helper()
	if program() == "" {
		t.Skip("needs redis-server or valkey-server")
	}
	s, err := Start(t.TempDir(), settings...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	return s
}

// Start starts a server with further settings, such as "maxmemory", "3mb", in which PORT is its
// port. dir is its directory.
func Start(dir string, settings ...string) (*Server, error) {
	address, port, err := freePort()
	if err != nil {
		return nil, err
	}
	args := []string{"--bind", "127.0.0.1", "--port", port, "--dir", dir, "--save", "",
		"--loglevel", "warning"}
	for i, setting := range settings {
		if i%2 == 0 {
			setting = "--" + setting
		}
		args = append(args, strings.ReplaceAll(setting, "PORT", port))
	}
	s := &Server{
		Address: address,
		args:    args,
	}
	return s, s.Run()
}

// freePort returns an address of loopback that nothing listens on, and its port. Nodes of a cluster
// also use the port 10,000 above.
func freePort() (address, port string, err error) {
	for range 100 {
		ln, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return "", "", err
		}
		address := ln.Addr().(*net.TCPAddr)
		ln.Close()
		if address.Port <= 65535-10_000 {
			return address.String(), strconv.Itoa(address.Port), nil
		}
	}
	return "", "", errors.New("finding a free port below 55,536")
}

// NewSentinel is New for a Sentinel, which watches no server.
func NewSentinel(t *testing.T) *Server {
	t.Helper()
	file := filepath.Join(t.TempDir(), "sentinel.conf")
	err := os.WriteFile(file, nil, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	s := New(t)
	s.Kill()
	s.args = append([]string{file, "--sentinel"}, s.args...)
	err = s.Run()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Run starts the server, which is not running, and waits until it answers.
func (s *Server) Run() error {
	s.cmd = exec.Command(program(), s.args...)
	err := s.cmd.Start()
	if err != nil {
		return err
	}
	for began := time.Now(); time.Since(began) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		_, err = s.Do("PING")
		failure, ofNetwork := errors.AsType[*net.OpError](err)
		unreached := ofNetwork && failure.Op == "dial"
		up := err == nil || !unreached && !strings.HasPrefix(err.Error(), "LOADING")
		if up { // with TLS or a password the answer is another error
			return nil
		}
	}
	s.Kill()
	return fmt.Errorf("starting %s: %w", s.cmd.Path, err)
}

// Do sends a command of the default user.
func (s *Server) Do(command string, args ...any) (any, error) {
	c, err := redis.Dial("tcp", s.Address)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	return c.Do(command, args...)
}

// Kill ends the server at once.
func (s *Server) Kill() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
}

// Pid is that of the running server.
func (s *Server) Pid() int { return s.cmd.Process.Pid }
