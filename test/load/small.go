package main

import (
	"fmt"
	"io"
	"net"
	"strings"
	"time"
)

// maxGrowth is the MiB by which an attack may raise the peak.
const maxGrowth = 64

// small attacks servers with requests that are small and take much memory.
func small(server program) error {
	attacks := map[string]func(*process) error{
		"16 requests of 1 MiB with empty lists":     emptyLists,
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
	s, err := p.start(anyPort)
	if err != nil {
		return err
	}
	defer s.kill()
	before, err := s.peak()
	if err != nil {
		return err
	}

	if err := attack(s); err != nil {
		return err
	}
	if err := s.call("bob", "load", 5*time.Second); err != nil {
		return err
	}
	fmt.Print(name, ": ")
	return s.checkMemory(before + maxGrowth)
}

// emptyLists sends requests of alice with a second _meta.
func emptyLists(s *process) error {
	lists := strings.Repeat("[],", 340_000)
	query := `q"},"_meta":{"a":[` + lists + `0]},"b":{"c":"`
	sideBySide(16, func(int) error {
		s.call("alice", query, 0) // refused
		return nil
	})
	return nil
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
			c, err := net.Dial("tcp", s.address)
			if err != nil {
				return err
			}
			_, _ = io.WriteString(c, header.String()) // may be closed
		}
		return nil
	}
}
