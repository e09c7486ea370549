// Command bench builds the server as a release does and compares its start, memory, calls per
// second, CPU time and size with those of a hello-world Go program over stdio (testdata/hello):
//
//	go run ./test/bench
//
// With -rows start it makes only the rows whose names contain that word.
//
// Both programs take turns in one run, and medians are printed, so that the ratios can be compared
// between machines. The API is a canned response in this process. Memory is read from Linux's /proc
// and is 0 elsewhere. CPU time is user and system time of a process from its start to its end.
package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"text/tabwriter"
	"time"
)

const (
	starts  = 20
	rounds  = 5
	calls   = 2000            // in a round
	side    = 64              // calls at the same time
	settled = 1 * time.Second // from the last answer until a program is idle
	limit   = 1 * time.Minute // for one process
)

const (
	initialize = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}` + "\n"
	list       = `{"jsonrpc":"2.0","id":0,"method":"tools/list"}` + "\n"
	call       = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"name":"answer","arguments":{"query":"What is the weather in Sapporo?"}}}` + "\n"
)

// response is an answer of usual size: 20 paragraphs that cite a page each, and three searches.
func response() string {
	var text, annotations, sources []string
	for i := range 20 {
		page := fmt.Sprintf("https://example.org/weather/%d?utm_source=openai", i)
		text = append(text, fmt.Sprintf("Snow falls in district %d until the evening, and the wind turns to the north ([weather](%s)).", i, page))
		annotations = append(annotations, fmt.Sprintf(`{"type":"url_citation","url":"%s","title":"Weather of district %d","start_index":0,"end_index":9}`, page, i))
		sources = append(sources, fmt.Sprintf(`{"type":"url","url":"https://example.org/found/%d"}`, i))
	}
	search := `{"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"weather in Sapporo","sources":[` +
		strings.Join(sources, ",") + `]}},`
	return `{"id":"resp_1","object":"response","status":"completed","model":"gpt-5.2","output":[` + strings.Repeat(search, 3) +
		`{"type":"message","id":"msg_1","role":"assistant","status":"completed","content":[{"type":"output_text","text":"` + strings.Join(text, `\n\n`) +
		`","annotations":[` + strings.Join(annotations, ",") + `]}]}],"usage":{"input_tokens":10,"output_tokens":10,"total_tokens":20}}`
}

func main() {
	rows := flag.String("rows", "", "measure only the rows whose names contain this")
	flag.Parse()
	if err := run(os.Stdout, *rows); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, rows string) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	body := response()
	var hold atomic.Int64 // how long the API takes
	api := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Duration(hold.Load()))
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
	}))
	defer api.Close()
	env := []string{"HOME=" + dir, "USERPROFILE=" + dir, "SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"OPENAI_API_KEY=bench", "OPENAI_BASE_URL=" + api.URL + "/v1"}
	server, serverErr := build(dir, "./cmd/openai-responses-mcp")
	hello, helloErr := build(dir, "./test/bench/testdata/hello")
	if err := cmp.Or(serverErr, helloErr); err != nil {
		return err
	}

	start := func(p *process) (float64, error) { return p.started, nil }
	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tserver\thello\tratio\t")
	for _, m := range []struct {
		name, unit string
		rounds     int
		hold       time.Duration
		calls      int // that CPU time is divided by; 0: the row is what measure returns
		measure    func(*process) (float64, error)
	}{
		{"start to the answer to initialize", "ms", starts, 0, 0, start},
		{"CPU time of a start", "µs", starts, 0, 1, start},
		{"idle memory", "MiB", 3, 0, 0, (*process).idle},
		{"peak memory of 64 calls side by side", "MiB", rounds, 200 * time.Millisecond, 0, (*process).peak},
		{"calls per second, 64 side by side", "", rounds, 0, 0, (*process).rate},
		{"CPU time of a call, 64 side by side", "µs", rounds, 0, side + calls, (*process).rate},
		{"binary", "MB", 1, 0, 0, (*process).size},
	} {
		if !strings.Contains(m.name, rows) {
			continue
		}
		hold.Store(int64(m.hold))
		var values [2][]float64
		for range m.rounds {
			for i, path := range []string{server, hello} {
				v, cpu, err := with(path, env, m.measure)
				if err != nil {
					return fmt.Errorf("measuring %s of %s: %w", m.name, path, err)
				}
				if m.calls > 0 {
					v = float64(cpu.Microseconds()) / float64(m.calls)
				}
				values[i] = append(values[i], v)
			}
		}
		a, b := median(values[0]), median(values[1])
		fmt.Fprintf(tw, "%s\t%.1f %s\t%.1f %s\t%.2f\t\n", m.name, a, m.unit, b, m.unit, a/b)
	}
	return tw.Flush()
}

// build returns the path of a binary.
func build(dir, name string) (string, error) {
	path := filepath.Join(dir, filepath.Base(name)+".exe") // as Windows wants it
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, text)
	}
	return path, nil
}

// process is a running program that has answered initialize.
type process struct {
	path    string
	pid     int
	in      io.Writer
	out     *bufio.Reader
	started float64 // ms from the spawn to the answer
}

// with starts a program, calls f and closes stdin, which ends the program. It returns the value of f and
// the CPU time of the process.
func with(path string, env []string, f func(*process) (float64, error)) (v float64, cpu time.Duration, err error) {
	ctx, stop := context.WithTimeout(context.Background(), limit)
	defer stop()
	cmd := exec.CommandContext(ctx, path, "--stdio")
	cmd.Env = env
	in, inErr := cmd.StdinPipe()
	out, outErr := cmd.StdoutPipe()
	begin := time.Now()
	if err = cmp.Or(inErr, outErr, cmd.Start()); err != nil {
		return 0, 0, err
	}
	run := &process{path: path, pid: cmd.Process.Pid, in: in, out: bufio.NewReader(out)}
	err = run.ask(initialize)
	if err == nil {
		run.started = float64(time.Since(begin)) / float64(time.Millisecond)
		v, err = f(run)
	}
	err = errors.Join(err, in.Close(), cmd.Wait())
	return v, cmd.ProcessState.UserTime() + cmd.ProcessState.SystemTime(), err
}

// ask sends a message and waits for its answer.
func (p *process) ask(message string) error {
	_, err := io.WriteString(p.in, message)
	return cmp.Or(err, p.answer())
}

// answer reads the next answer.
func (p *process) answer() error {
	line, err := p.out.ReadString('\n')
	if err == nil && !strings.Contains(line, `"result":`) {
		err = fmt.Errorf("unexpected answer %.200q", line)
	}
	return err
}

func (p *process) size() (float64, error) {
	info, err := os.Stat(p.path)
	if err != nil {
		return 0, err
	}
	return float64(info.Size()) / 1e6, nil
}

func (p *process) idle() (float64, error) {
	err := p.ask(list)
	time.Sleep(settled)
	return p.memory("VmRSS:", err)
}

func (p *process) peak() (float64, error) { return p.memory("VmHWM:", p.many(side)) }

func (p *process) rate() (float64, error) {
	err := p.many(side) // opens the connections
	begin := time.Now()
	err = cmp.Or(err, p.many(calls))
	return calls / time.Since(begin).Seconds(), err
}

// many makes n calls, at most side at the same time.
func (p *process) many(n int) (err error) {
	for sent, done := 0, 0; done < n && err == nil; done++ {
		for ; sent < min(n, done+side) && err == nil; sent++ {
			_, err = fmt.Fprintf(p.in, call, sent)
		}
		err = cmp.Or(err, p.answer())
	}
	return err
}

// memory returns a field of /proc/PID/status, in MiB, or err.
func (p *process) memory(field string, err error) (kb float64, _ error) {
	text, readErr := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.pid))
	if errors.Is(readErr, os.ErrNotExist) {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), field)
	_, scanErr := fmt.Sscan(rest, &kb)
	return kb / 1024, cmp.Or(err, readErr, scanErr)
}

func median(v []float64) float64 {
	slices.Sort(v)
	n := len(v)
	return (v[(n-1)/2] + v[n/2]) / 2
}
