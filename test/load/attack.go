package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
)

// maxGrowth is the MiB by which an attack may raise the peak.
const maxGrowth = 64

// attack attacks servers with requests that are large or half-sent, or small with many elements.
func attack(server program) error {
	large := strings.Repeat("x", 4_000_000)
	dense := `q"},"_meta":{"a":[` + strings.Repeat("[],", 340_000) + `0]},"b":{"c":"`
	attacks := map[string]func(*process) error{
		"30 requests of 4 MB":                       requests(30, large),
		"16 requests of 1 MiB with empty lists":     requests(16, dense),
		"600 connections with 16 KiB of tiny lines": lines(4000),
		"600 connections with 490 lines in 16 KiB":  lines(490),
	}
	for name, attack := range attacks {
		if err := server.grows(name, attack); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

// grows attacks a server of its own. Then bob makes a call.
func (p program) grows(name string, attack func(*process) error) error {
	s, err := p.start(serving.AnyPort, "")
	if err != nil {
		return err
	}
	defer s.Kill()
	before, err := s.peak()
	if err != nil {
		return err
	}

	if err := attack(s); err != nil {
		return err
	}
	if err := s.call("bob", "load", 20*time.Second); err != nil {
		return err
	}
	fmt.Print(name, ": ")
	return s.checkMemory(before + maxGrowth)
}

// requests sends n requests of alice, which are refused.
func requests(n int, query string) func(*process) error {
	return func(s *process) error {
		return sideBySide(n, func(int) error {
			s.call("alice", query, 0)
			return nil
		})
	}
}

// lines sends headers without an end, of so many lines, and leaves the connections open.
func lines(n int) func(*process) error {
	var header strings.Builder
	header.WriteString("POST /mcp HTTP/1.1\r\nHost: localhost\r\n")
	for i := 0; i < n && header.Len() < 16_000; i++ {
		fmt.Fprintf(&header, "%0*x:\n", 16_000/n-2, i)
	}

	return func(s *process) error {
		for range 600 {
			c, err := net.Dial("tcp", s.Address)
			if err != nil {
				return err
			}
			_, _ = io.WriteString(c, header.String()) // may be closed
		}
		return nil
	}
}
