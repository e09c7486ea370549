// Command bench builds the server as a release does and compares its start, memory, calls per
// second and CPU time with those of a hello-world Go program over stdio (testdata/hello):
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
	"cmp"
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
	calls = 2000 // in a round
	side  = 64   // calls at the same time
)

// row is a measurement of both programs.
type row struct {
	name    string
	unit    string
	rounds  int           // 0: 5
	hold    time.Duration // how long the API takes
	calls   int           // of each process, to divide its CPU time by; 0: the row is what measure returns
	measure func(*process) (float64, error)
}

var rows = []row{
	{name: "start to the answer to initialize", unit: "ms", rounds: 20, measure: (*process).start},
	{name: "CPU time of a start", unit: "µs", rounds: 20, calls: 1, measure: (*process).start},
	{name: "idle memory", unit: "MiB", measure: (*process).idle},
	{
		name:    "peak memory of 64 calls side by side",
		unit:    "MiB",
		hold:    200 * time.Millisecond,
		measure: (*process).peak,
	},
	{name: "calls per second, 64 side by side", measure: (*process).rate},
	{
		name:    "CPU time of a call, 64 side by side",
		unit:    "µs",
		calls:   side + calls,
		measure: (*process).rate,
	},
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

	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir,
		"./cmd/openai-responses-mcp", "./test/bench/testdata/hello")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := build.CombinedOutput()
	if err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	server := filepath.Join(dir, "openai-responses-mcp")
	hello := filepath.Join(dir, "hello")

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

// compare measures programs in turn and returns the median of each.
func (r row) compare(env []string, paths ...string) (medians []float64, err error) {
	values := make([][]float64, len(paths))
	for range cmp.Or(r.rounds, 5) {
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
