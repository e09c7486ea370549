package main_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
)

// process is a running program and the far end of its pipes.
type process struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stderr *buffer

	mu      sync.Mutex
	all     []message     // in the order of their arrival
	unread  []message     // those that nobody has asked for
	bad     error         // what stdout held that is no message
	deaf    chan struct{} // nobody reads, but for one more message, until it is closed; nil: everything is read
	changed chan struct{} // closed and replaced when one of the above changes

	ended chan struct{} // closed when the program has gone and all is read
	exit  error         // of the program; read after ended
}

// start runs the program. It is killed when ctx ends.
func start(ctx context.Context, dir string, env []string, args ...string) (*process, error) {
	return launch(exec.CommandContext(ctx, binary, args...), dir, env)
}

// launch starts a command that is the program or runs it.
func launch(cmd *exec.Cmd, dir string, env []string) (*process, error) {
	p := &process{
		cmd:     cmd,
		stderr:  &buffer{},
		changed: make(chan struct{}),
		ended:   make(chan struct{}),
	}
	cmd.Dir, cmd.Env = dir, env
	if cmd.Stderr == nil {
		cmd.Stderr = p.stderr
	}
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p.stdin = in
	go func() {
		p.read(out)
		p.exit = cmd.Wait()
		close(p.ended)
	}()
	return p, nil
}

// runWith runs the program to its end, with these files for its streams.
func runWith(stdin, stdout *os.File, home string, args ...string) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env, cmd.Stdin, cmd.Stdout = environment(home), stdin, stdout
	stderr := &buffer{}
	cmd.Stderr = stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w\n%s", err, stderr)
	}
	return nil
}

// read collects what the program writes until it ends.
func (p *process) read(out io.Reader) {
	r := bufio.NewReader(out)
	for {
		p.mu.Lock()
		deaf := p.deaf
		p.mu.Unlock()
		if deaf != nil {
			<-deaf
		}
		m, err := readMessage(r)
		p.mu.Lock()
		switch {
		case err == nil:
			p.all = append(p.all, m)
			p.unread = append(p.unread, m)
		case !errors.Is(err, io.EOF) || m.raw != "":
			p.bad = err
		}
		close(p.changed)
		p.changed = make(chan struct{})
		p.mu.Unlock()
		if err != nil {
			_, _ = io.Copy(io.Discard, r) // a full pipe would keep it from ending
			return
		}
	}
}

// send writes bytes as they are.
func (p *process) send(s string) error {
	_, err := io.WriteString(p.stdin, s)
	return err
}

// answer waits for the next message with that id, which is JSON text: 1, "a",
// null. Each message is returned once.
func (p *process) answer(ctx context.Context, id string) (message, error) {
	for {
		p.mu.Lock()
		changed, bad := p.changed, p.bad
		i := slices.IndexFunc(p.unread, func(m message) bool { return m.id == id })
		if i >= 0 {
			m := p.unread[i]
			p.unread = slices.Delete(p.unread, i, i+1)
			p.mu.Unlock()
			return m, nil
		}
		p.mu.Unlock()
		if bad != nil {
			return message{}, bad
		}
		select {
		case <-changed:
		case <-p.ended:
			if p.has(id) {
				continue
			}
			return message{}, fmt.Errorf("the program has ended (%v) without an answer to %s", p.exit, id)
		case <-ctx.Done():
			return message{}, fmt.Errorf("waiting for the answer to %s: %w", id, ctx.Err())
		}
	}
}

func (p *process) has(id string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.ContainsFunc(p.unread, func(m message) bool { return m.id == id })
}

// rest returns the messages that nobody has asked for.
func (p *process) rest() []message {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.unread)
}

// messages returns all messages so far, a line each.
func (p *process) messages() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	var b strings.Builder
	for _, m := range p.all {
		b.WriteString(m.String() + "\n")
	}
	return b.String()
}

// wait returns the exit code once the program has ended by itself, or an error
// when a signal or ctx was its end, or when stdout held what is no message.
func (p *process) wait(ctx context.Context) (int, error) {
	select {
	case <-p.ended:
	case <-ctx.Done():
		return -1, fmt.Errorf("waiting for the end of the program: %w", ctx.Err())
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.bad != nil {
		return -1, p.bad
	}
	var e *exec.ExitError
	if errors.As(p.exit, &e) && e.Exited() {
		return e.ExitCode(), nil
	}
	return 0, p.exit
}

// buffer is a bytes.Buffer for a writer and readers side by side.
type buffer struct {
	mu      sync.Mutex
	b       bytes.Buffer
	changed chan struct{} // closed by the next Write; nil when nobody waits
}

func (b *buffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
	return b.b.Write(p)
}

// wait returns when the buffer holds text.
func (b *buffer) wait(ctx context.Context, text string) error {
	for {
		b.mu.Lock()
		found := strings.Contains(b.b.String(), text)
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if found {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("waiting for %q: %w", text, ctx.Err())
		}
	}
}

func (b *buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.b.String()
}
