package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"
)

const (
	module   = "github.com/uchimanajet7/openai-responses-mcp"
	patience = time.Minute // for one answer, on a machine that has other things to do as well
)

// The lines that a client sends before it asks anything.
const (
	initialize  = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}` + "\n"
	list        = `{"jsonrpc":"2.0","id":1,"method":"tools/list"}` + "\n"
)

// program is something that can be run and speaks lines of JSON-RPC.
type program struct {
	name string
	path string
	args []string
	env  []string
	file string // what a download of it weighs; "" when that is not one file
}

// build compiles the programs into dir with the flags of a release.
func (b *bench) build(ctx context.Context, dir string) error {
	// Nothing of a developer's settings, and a home without a configuration.
	env := []string{"HOME=" + dir, "USERPROFILE=" + dir, "OPENAI_API_KEY=bench", "OPENAI_BASE_URL=" + b.api.url}
	for _, name := range []string{"PATH", "TMPDIR", "SYSTEMROOT", "TEMP", "TMP"} {
		if v, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+v)
		}
	}
	for _, t := range []struct {
		program **program
		name    string
		pkg     string
		args    []string
	}{
		{&b.ours, "server", "/cmd/openai-responses-mcp", []string{"--stdio"}},
		{&b.hello, "hello", "/test/bench/testdata/hello", nil},
		{&b.bare, "bare", "/test/bench/testdata/bare", []string{b.api.url, dir}},
	} {
		path := filepath.Join(dir, t.name)
		if runtime.GOOS == "windows" {
			path += ".exe"
		}
		cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, module+t.pkg)
		cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("building %s: %w\n%s", t.pkg, err, text)
		}
		*t.program = &program{name: t.name, path: path, args: t.args, env: env, file: path}
	}
	if js := os.Getenv("ORIGINAL"); js != "" {
		node, err := exec.LookPath("node")
		if err != nil {
			return fmt.Errorf("looking for node, which runs ORIGINAL: %w", err)
		}
		b.original = &program{name: "original", path: node, args: []string{js, "--stdio"}, env: env}
	}
	b.api.folder = dir
	return nil
}

// process is a running program.
type process struct {
	name string
	in   io.WriteCloser
	out  *bufio.Reader
	cmd  *exec.Cmd
	stop context.CancelFunc
	// answered is the time from before the spawn to the initialize answer.
	answered time.Duration
}

// spawn starts p and initializes it, one line to it and one line back.
func (p *program) spawn(ctx context.Context) (*process, error) {
	ctx, stop := context.WithTimeout(ctx, patience)
	cmd := exec.CommandContext(ctx, p.path, p.args...)
	cmd.Env = p.env
	run := &process{name: p.name, cmd: cmd, stop: stop}
	var err error
	if run.in, err = cmd.StdinPipe(); err != nil {
		stop()
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		stop()
		return nil, err
	}
	run.out = bufio.NewReaderSize(out, 64<<10)
	begin := time.Now()
	if err := cmd.Start(); err != nil {
		stop()
		return nil, fmt.Errorf("starting %s: %w", p.name, err)
	}
	line, err := run.ask(initialize)
	run.answered = time.Since(begin)
	if err == nil && !strings.Contains(line, `"protocolVersion"`) {
		err = fmt.Errorf("wrong answer %.200q", line)
	}
	if err != nil {
		stop()
		return nil, errors.Join(fmt.Errorf("initializing %s: %w", p.name, err), cmd.Wait())
	}
	return run, nil
}

// ask sends one line and reads one.
func (r *process) ask(line string) (string, error) {
	if _, err := io.WriteString(r.in, line); err != nil {
		return "", err
	}
	return r.out.ReadString('\n')
}

// end closes the input, as a client does that goes away, waits, and returns the
// processor time of the whole life in milliseconds.
func (r *process) end() (float64, error) {
	defer r.stop()
	if err := r.in.Close(); err != nil {
		return 0, err
	}
	if err := r.cmd.Wait(); err != nil {
		return 0, fmt.Errorf("ending %s: %w", r.name, err)
	}
	s := r.cmd.ProcessState
	return milliseconds(s.UserTime() + s.SystemTime()), nil
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }
