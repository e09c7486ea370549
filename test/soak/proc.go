package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// figures are what a server takes of its machine.
type figures struct {
	descriptors, threads int
	resident, peak       int // MiB
}

func measure(pid int) (figures, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return figures{}, err
	}
	var f figures
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(strings.TrimSuffix(strings.TrimSpace(line), " kB"), ":")
		n, _ := strconv.Atoi(strings.TrimSpace(value)) // the fields below are numbers
		switch name {
		case "Threads":
			f.threads = n
		case "VmRSS":
			f.resident = n / 1024
		case "VmHWM":
			f.peak = n / 1024
		}
	}
	open, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", pid))
	f.descriptors = len(open)
	return f, err
}

// sockets counts the connections of a process.
func sockets(pid int) int {
	n := 0
	links, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", pid))
	for _, link := range links {
		if to, err := os.Readlink(link); err == nil && strings.HasPrefix(to, "socket:") {
			n++
		}
	}
	return n
}
