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
	limit   = 5 * time.Minute // for one process
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18",` +
		`"capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	list = `{"jsonrpc":"2.0","id":0,"method":"tools/list"}` + "\n"
	call = `{"jsonrpc":"2.0","id":%[1]d,"method":"tools/call","params":{"name":"answer",` +
		`"arguments":{"query":"What is the weather in Sapporo?"}}}` + "\n"
	progress = `"_meta":{"progressToken":%[1]d},` // of a call that is watched
)

// process is a running program that has answered initialize.
type process struct {
	cmd     *exec.Cmd
	stop    context.CancelFunc
	in      io.WriteCloser
	out     *bufio.Reader
	started time.Duration // from the spawn to the answer
}

// open starts a program, which ends after an error.
func open(path string, env []string) (p *process, err error) {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	cmd := exec.CommandContext(ctx, path, "--stdio")
	cmd.Env = env

	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()

	begin := time.Now()
	err = errors.Join(inErr, outErr, cmd.Start())
	if err != nil {
		stop()
		return nil, err
	}

	p = &process{cmd: cmd, stop: stop, in: in, out: bufio.NewReader(out)}
	err = p.ask(initialize)
	p.started = time.Since(begin)
	if err != nil {
		return nil, errors.Join(err, p.close())
	}
	return p, nil
}

// close closes stdin, which ends the program.
func (p *process) close() error {
	defer p.stop()
	return errors.Join(p.in.Close(), p.cmd.Wait())
}

// once starts a program, measures it and ends it.
func (r row) once(s side, env []string) (v float64, err error) {
	p, err := open(s.path, env)
	if err != nil {
		return 0, err
	}

	v, err = s.measure(p)
	err = errors.Join(err, p.close())
	if r.calls > 0 {
		cpu := p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
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

// answer reads the next answer. Notifications may come before it.
func (p *process) answer() error {
	for {
		line, err := p.out.ReadString('\n')
		switch {
		case err != nil:
			return err
		case strings.Contains(line, `"result":`):
			return nil
		case !strings.Contains(line, `"notifications/progress"`):
			return fmt.Errorf("unexpected answer %.200q", line)
		}
	}
}

// start returns the milliseconds until the program answered.
func (p *process) start() (float64, error) {
	return float64(p.started) / float64(time.Millisecond), nil
}

// idle returns the memory after tools/list, in MiB, of each of eight processes. Pages that they
// share count once.
func (p *process) idle() (total float64, err error) {
	all := []*process{p}
	for range sessions - 1 {
		q, err := open(p.cmd.Path, p.cmd.Env)
		if err != nil {
			return 0, err
		}
		defer q.close()
		all = append(all, q)
	}

	for _, q := range all {
		if err := q.ask(list); err != nil {
			return 0, err
		}
	}
	time.Sleep(settled)
	for _, q := range all {
		total += q.memory("smaps_rollup", "Pss:")
	}
	return total / sessions, nil
}

// peak returns the largest memory during calls side by side, in MiB.
func (p *process) peak() (float64, error) {
	err := p.many(parallel, parallel, call)
	return p.memory("status", "VmHWM:"), err
}

// crowd returns the same of a crowd.
func (p *process) crowd() (float64, error) {
	err := p.many(crowd, crowd, call)
	return p.memory("status", "VmHWM:"), err
}

// rate returns the calls per second.
func (p *process) rate() (float64, error) {
	if err := p.many(parallel, parallel, call); err != nil { // opens the connections
		return 0, err
	}
	begin := time.Now()
	err := p.many(calls, parallel, call)
	return calls / time.Since(begin).Seconds(), err
}

// unwatched makes calls whose CPU time counts.
func (p *process) unwatched() (float64, error) { return 0, p.many(streams, parallel, call) }

// watched makes the same calls with progress.
func (p *process) watched() (float64, error) {
	return 0, p.many(streams, parallel, strings.Replace(call, `"name"`, progress+`"name"`, 1))
}

// many makes n calls, at most so many at the same time.
func (p *process) many(n, together int, message string) error {
	sent := 0
	for done := range n {
		for sent < min(n, done+together) {
			if _, err := fmt.Fprintf(p.in, message, sent); err != nil {
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

// memory returns a field of a file in /proc/PID in MiB, or 0 where there is no such file.
func (p *process) memory(file, field string) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", p.cmd.Process.Pid, file))
	_, rest, _ := strings.Cut(string(text), field)
	var kb float64
	fmt.Sscan(rest, &kb)
	return kb / 1024
}
