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
//
//	main.go      the rows
//	process.go   a program, and what is measured of it
//	response.go  the response of the API
package main

import (
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
	starts = 20
	rounds = 5
	calls  = 2000 // in a round
	side   = 64   // calls at the same time
)

// row is a measurement of both programs.
type row struct {
	name    string
	unit    string
	rounds  int
	hold    time.Duration // how long the API takes
	calls   int           // of each process, to divide its CPU time by; 0: the row is what measure returns
	measure func(*process) (float64, error)
}

var rows = []row{
	{name: "start to the answer to initialize", unit: "ms", rounds: starts, measure: (*process).start},
	{name: "CPU time of a start", unit: "µs", rounds: starts, calls: 1, measure: (*process).start},
	{name: "idle memory", unit: "MiB", rounds: 3, measure: (*process).idle},
	{
		name:    "peak memory of 64 calls side by side",
		unit:    "MiB",
		rounds:  rounds,
		hold:    200 * time.Millisecond,
		measure: (*process).peak,
	},
	{name: "calls per second, 64 side by side", rounds: rounds, measure: (*process).rate},
	{
		name:    "CPU time of a call, 64 side by side",
		unit:    "µs",
		rounds:  rounds,
		calls:   side + calls,
		measure: (*process).rate,
	},
	{name: "binary", unit: "MB", rounds: 1, measure: (*process).size},
}

func main() {
	only := flag.String("rows", "", "measure only the rows whose names contain this")
	flag.Parse()
	if err := run(os.Stdout, *only); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, only string) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	var hold atomic.Int64 // nanoseconds until the API answers
	body := response()
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		time.Sleep(time.Duration(hold.Load()))
		w.Header().Set("Content-Type", "application/json")
		io.WriteString(w, body)
	}))
	defer backend.Close()
	env := []string{
		"HOME=" + dir,
		"USERPROFILE=" + dir,
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"OPENAI_API_KEY=bench",
		"OPENAI_BASE_URL=" + backend.URL + "/v1",
	}

	server, err := build(dir, "./cmd/openai-responses-mcp")
	if err != nil {
		return err
	}
	hello, err := build(dir, "./test/bench/testdata/hello")
	if err != nil {
		return err
	}

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(tw, "\tserver\thello\tratio\t")
	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}

		hold.Store(int64(r.hold))
		medians, err := r.compare(env, server, hello)
		if err != nil {
			return fmt.Errorf("measuring %s: %w", r.name, err)
		}

		a := medians[0]
		b := medians[1]
		fmt.Fprintf(tw, "%s\t%.1f %s\t%.1f %s\t%.2f\t\n", r.name, a, r.unit, b, r.unit, a/b)
	}
	return tw.Flush()
}

// build returns the path of a binary.
func build(dir, name string) (string, error) {
	path := filepath.Join(dir, filepath.Base(name)+".exe") // as Windows wants it
	cmd := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", path, name)
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	text, err := cmd.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("building %s: %w\n%s", name, err, text)
	}
	return path, nil
}

// compare measures programs in turn and returns the median of each.
func (r row) compare(env []string, paths ...string) (medians []float64, err error) {
	values := make([][]float64, len(paths))
	for range r.rounds {
		for i, path := range paths {
			v, err := r.once(path, env)
			if err != nil {
				return nil, err
			}
			values[i] = append(values[i], v)
		}
	}

	for _, v := range values {
		slices.Sort(v)
		medians = append(medians, v[len(v)/2])
	}
	return medians, nil
}
