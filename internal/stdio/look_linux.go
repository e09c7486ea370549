package stdio

import (
	"bytes"
	"fmt"
	"os"
)

// look returns the parent and the name of a process (proc_pid_stat(5)).
func look(pid int) (parent int, name string, err error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, "", err
	}
	// The name, in parentheses, may hold anything, parentheses too.
	begin, end := bytes.IndexByte(b, '('), bytes.LastIndexByte(b, ')')
	if begin < 0 || end < begin {
		return 0, "", fmt.Errorf("reading the state of process %d: no name", pid)
	}
	var state string
	if _, err := fmt.Sscan(string(b[end+1:]), &state, &parent); err != nil {
		return 0, "", fmt.Errorf("reading the state of process %d: %w", pid, err)
	}
	return parent, string(b[begin+1 : end]), nil
}
