// Command bench builds the server as a release does and compares its start, memory, calls per
// second and CPU time with those of a hello-world Go program over stdio (testdata/hello):
//
//	go run ./test/bench
//
// In the row with a stream, the other side is the server with calls that are watched. With -rows
// start it makes only the rows whose names contain that word. With -old BINARY, an older server
// takes part, and the last column is the ratio to it.
//
// The programs take turns in one run, and medians are printed, so that the ratios can be compared
// between machines. The API is a canned response in this process. Memory is read from Linux's /proc
// and is 0 elsewhere. CPU time is user and system time of a process from its start to its end.
//
//	main.go      the rows
//	process.go   a program, and what is measured of it
//	response.go  the API
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
	calls    = 2000 // in a round
	streams  = 500  // calls in a round whose answers are streams
	parallel = 64   // calls at the same time
	crowd    = 256  // calls at the same time with long streams
	sessions = 8    // processes at the same time, of which the memory is measured
)

// row is a measurement of the server and of what it is compared with.
type row struct {
	name    string
	unit    string
	rounds  int           // 0: 5
	hold    time.Duration // how long the API takes
	events  int           // of the stream that the API answers with; 0: it is none
	gather  int           // so many streams have all their text before one of them ends
	calls   int           // of each process, to divide its CPU time by; 0: the row is what measure returns
	measure func(*process) (float64, error)
	other   func(*process) (float64, error) // measured of the server too; nil: measure of hello
}

var rows = []row{
	{name: "start to the answer to initialize", unit: "ms", rounds: 20, measure: (*process).start},
	{name: "CPU time of a start", unit: "µs", rounds: 20, calls: 1, measure: (*process).start},
	{name: "memory of each of eight idle sessions", unit: "MiB", measure: (*process).idle},
	{
		name:    "peak memory of 64 calls side by side",
		unit:    "MiB",
		hold:    200 * time.Millisecond,
		measure: (*process).peak,
	},
	{
		name:    "peak memory of 256 calls with 20,000 events each",
		unit:    "MiB",
		rounds:  1,
		events:  20_000,
		gather:  crowd,
		measure: (*process).crowd,
	},
	{name: "calls per second, 64 side by side", measure: (*process).rate},
	{
		name:    "CPU time of a call, 64 side by side",
		unit:    "µs",
		calls:   parallel + calls,
		measure: (*process).rate,
	},
	{
		name:    "CPU time of a call with 400 events, to a watched one",
		unit:    "µs",
		events:  400,
		calls:   streams,
		measure: (*process).unwatched,
		other:   (*process).watched,
	},
}

func main() {
	only := flag.String("rows", "", "measure only the rows whose names contain this")
	old := flag.String("old", "", "compare with this older server too")
	flag.Parse()
	if err := run(os.Stdout, *only, *old); err != nil {
		fmt.Fprintln(os.Stderr, "bench: error:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, only, old string) error {
	dir, err := os.MkdirTemp("", "bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)

	var now atomic.Pointer[api]
	backend := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		now.Load().answer(w, r)
	}))
	defer backend.Close()
	env := []string{
		"HOME=" + dir,
		"USERPROFILE=" + dir,
		"SYSTEMROOT=" + os.Getenv("SYSTEMROOT"),
		"OPENAI_API_KEY=bench",
		"OPENAI_BASE_URL=" + backend.URL + "/v1",
	}

	err = build(dir)
	if err != nil {
		return err
	}
	server := filepath.Join(dir, "openai-responses-mcp")
	hello := filepath.Join(dir, "hello")

	tw := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprint(tw, "\tserver\thello\tratio\t")
	if old != "" {
		fmt.Fprint(tw, "old\tratio\t")
	}
	fmt.Fprintln(tw)

	for _, r := range rows {
		if !strings.Contains(r.name, only) {
			continue
		}

		now.Store(newAPI(r))
		medians, err := r.compare(env, r.sides(server, hello, old))
		if err != nil {
			return fmt.Errorf("measuring %s: %w", r.name, err)
		}

		fmt.Fprintf(tw, "%s\t%.1f %s\t", r.name, medians[0], r.unit)
		for _, m := range medians[1:] {
			fmt.Fprintf(tw, "%.1f %s\t%.2f\t", m, r.unit, medians[0]/m)
		}
		fmt.Fprintln(tw)
	}
	return tw.Flush()
}

// sides returns the programs that a row compares. old is "" if there is no old server.
func (r row) sides(server, hello, old string) []side {
	sides := []side{{server, r.measure}, {hello, r.measure}}
	if r.other != nil {
		sides[1] = side{server, r.other}
	}
	if old != "" {
		sides = append(sides, side{old, r.measure})
	}
	return sides
}

// build builds both programs into a directory, as a release does.
func build(dir string) error {
	c := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", dir,
		"./cmd/openai-responses-mcp", "./test/bench/testdata/hello")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	out, err := c.CombinedOutput()
	if err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	return nil
}

// side is a program and what is measured of it.
type side struct {
	path    string
	measure func(*process) (float64, error)
}

// compare measures the sides in turn and returns the median of each.
func (r row) compare(env []string, sides []side) (medians []float64, err error) {
	values := make([][]float64, len(sides))
	for range cmp.Or(r.rounds, 5) {
		for i, s := range sides {
			v, err := r.once(s, env)
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
