package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"time"
)

const (
	settled = 1 * time.Second // from the last answer until a program is idle
	limit   = 1 * time.Minute // for one process
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	list = `{"jsonrpc":"2.0","id":0,"method":"tools/list"}` + "\n"
	call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"answer",` +
		`"arguments":{"query":"What is the weather in Sapporo?"}}}` + "\n"
)

// process is a running program that has answered initialize.
type process struct {
	cmd     *exec.Cmd
	in      io.Writer
	out     *bufio.Reader
	started time.Duration // from the spawn to the answer
}

// once starts a program, measures it and closes stdin, which ends the program.
func (r row) once(path string, env []string) (v float64, err error) {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()

	cmd := exec.CommandContext(ctx, path, "--stdio")
	cmd.Env = env

	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()

	begin := time.Now()
	err = errors.Join(inErr, outErr, cmd.Start())
	if err != nil {
		return 0, err
	}

	p := &process{cmd: cmd, in: in, out: bufio.NewReader(out)}
	err = p.ask(initialize)
	p.started = time.Since(begin)
	if err == nil {
		v, err = r.measure(p)
	}

	err = errors.Join(err, in.Close(), cmd.Wait())
	if r.calls > 0 {
		cpu := cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime()
		v = float64(cpu.Microseconds()) / float64(r.calls)
	}
	return v, err
}

// ask sends a message and waits for its answer.
func (p *process) ask(message string) error {
	if _, err := io.WriteString(p.in, message); err != nil {
		return err
	}
	return p.answer()
}

// answer reads the next answer.
func (p *process) answer() error {
	line, err := p.out.ReadString('\n')
	if err != nil {
		return err
	}
	if !strings.Contains(line, `"result":`) {
		return fmt.Errorf("unexpected answer %.200q", line)
	}
	return nil
}

// start returns the milliseconds until the program answered.
func (p *process) start() (float64, error) {
	return float64(p.started) / float64(time.Millisecond), nil
}

// idle returns the memory after tools/list, in MiB.
func (p *process) idle() (float64, error) {
	if err := p.ask(list); err != nil {
		return 0, err
	}
	time.Sleep(settled)
	return p.memory("VmRSS:")
}

// peak returns the largest memory during calls side by side, in MiB.
func (p *process) peak() (float64, error) {
	if err := p.many(side); err != nil {
		return 0, err
	}
	return p.memory("VmHWM:")
}

// rate returns the calls per second.
func (p *process) rate() (float64, error) {
	if err := p.many(side); err != nil { // opens the connections
		return 0, err
	}
	begin := time.Now()
	err := p.many(calls)
	return calls / time.Since(begin).Seconds(), err
}

// many makes n calls, at most side at the same time.
func (p *process) many(n int) error {
	sent := 0
	for done := range n {
		for sent < min(n, done+side) {
			if _, err := fmt.Fprintf(p.in, call, sent); err != nil {
				return err
			}
			sent++
		}
		if err := p.answer(); err != nil {
			return err
		}
	}
	return nil
}

// memory returns a field of /proc/PID/status in MiB, or 0 where there is no such file.
func (p *process) memory(field string) (float64, error) {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	_, rest, _ := strings.Cut(string(text), field)
	var kb float64
	fmt.Sscan(rest, &kb)
	return kb / 1024, nil
}
