// Load measures serve --http with many calls at once, and restarts a replica
// under load. Everything runs on loopback against the fake API:
//
//	go run ./test/load
//
// It prints figures and exits with 1 when an answer is lost or the memory
// exceeds its limit.
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
)

// maxMemory is the limit of the server's resident set, in MiB.
const maxMemory = 400

func main() {
	calls := flag.Int("calls", 1000, "calls at once")
	lasts := flag.Duration("lasts", 10*time.Second, "how long each answer streams")
	flag.Parse()
	if err := run(*calls, *lasts); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(calls int, lasts time.Duration) error {
	dir, err := os.MkdirTemp("", "load")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	binary := filepath.Join(dir, "openai-responses-mcp")
	build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w", "-o", binary, "./cmd/openai-responses-mcp")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building: %w\n%s", err, out)
	}
	api := fakeapi.New(fakeapi.Options{Keep: 1})
	base, stopAPI, err := api.Listen()
	if err != nil {
		return err
	}
	defer stopAPI()
	return errors.Join(
		many(api, binary, base, calls, lasts),
		restart(api, binary, base),
	)
}

// many sends all calls at once and reports memory and the latency that the
// number of calls adds to one.
func many(api *fakeapi.Server, binary, base string, calls int, lasts time.Duration) error {
	s, err := start(binary, base, calls)
	if err != nil {
		return err
	}
	defer s.kill()
	if err := pace(api, lasts); err != nil {
		return err
	}
	alone, err := ask(s.url)
	if err != nil {
		return fmt.Errorf("one call alone: %w", err)
	}
	var lost atomic.Int64
	took := make([]time.Duration, calls)
	var all sync.WaitGroup
	for i := range calls {
		all.Go(func() {
			var err error
			if took[i], err = ask(s.url); err != nil && lost.Add(1) == 1 {
				fmt.Fprintln(os.Stderr, "load:", err)
			}
		})
	}
	all.Wait()
	memory, err := s.peak()
	if err != nil {
		return err
	}
	slices.Sort(took)
	added := func(q int) time.Duration { return (took[(calls-1)*q/100] - alone).Round(time.Millisecond) }
	fmt.Printf("%d streaming calls at once: %d lost, peak memory %d MiB, one call alone %v, added latency %v (median), %v (99 %%)\n",
		calls, lost.Load(), memory, alone.Round(time.Millisecond), added(50), added(99))
	if lost.Load() > 0 || memory > maxMemory {
		return fmt.Errorf("%d answers lost, %d MiB of %d", lost.Load(), memory, maxMemory)
	}
	return nil
}

// restart replaces two replicas behind a proxy, one after the other, while
// calls arrive. No answer may be lost.
func restart(api *fakeapi.Server, binary, base string) error {
	if err := pace(api, 3*time.Second); err != nil {
		return err
	}
	replicas := make([]atomic.Pointer[process], 2)
	for i := range replicas {
		s, err := start(binary, base, 256)
		if err != nil {
			return err
		}
		replicas[i].Store(s)
		defer func() { replicas[i].Load().kill() }()
	}
	proxy := httptest.NewServer(balance(replicas))
	defer proxy.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var sent, lost atomic.Int64
	var all sync.WaitGroup
	all.Go(func() {
		for tick := time.NewTicker(20 * time.Millisecond); ctx.Err() == nil; <-tick.C {
			sent.Add(1)
			all.Go(func() {
				if _, err := ask(proxy.URL + "/mcp"); err != nil && lost.Add(1) == 1 {
					fmt.Fprintln(os.Stderr, "load:", err)
				}
			})
		}
	})
	var failed error
	for i := range replicas {
		old := replicas[i].Load()
		failed = errors.Join(failed, old.stop()) // drains, while the other one serves
		next, err := start(binary, base, 256)
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		replicas[i].Store(next)
	}
	cancel()
	all.Wait()
	fmt.Printf("two replicas restarted under load: %d calls, %d lost\n", sent.Load(), lost.Load())
	if lost.Load() > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d of %d answers lost", lost.Load(), sent.Load()))
	}
	return failed
}

// balance is a round-robin proxy over the replicas whose /readyz answers.
func balance(replicas []atomic.Pointer[process]) http.Handler {
	var turn atomic.Int64
	proxy := &httputil.ReverseProxy{
		FlushInterval: -1,
		Rewrite: func(r *httputil.ProxyRequest) {
			for end := time.Now().Add(10 * time.Second); time.Now().Before(end); {
				s := replicas[turn.Add(1)%int64(len(replicas))].Load()
				if s.ready() {
					u, _ := url.Parse(s.url)
					u.Path = ""
					r.SetURL(u)
					return
				}
			}
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) {
			http.Error(w, err.Error(), http.StatusBadGateway)
		},
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A response that begins before the proxy has seen the end of the body
		// would break the connection (https://go.dev/issue/40747).
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		proxy.ServeHTTP(w, r)
	})
}

// pace makes the fake API stream each answer for about this long.
func pace(api *fakeapi.Server, lasts time.Duration) error {
	const events = 20 // of an answer without a search, roughly
	step, err := fakeapi.ParseStep(fmt.Sprintf("ok+slow=%s", lasts/events))
	if err == nil {
		api.Always(step)
	}
	return err
}

// process is a running server.
type process struct {
	cmd *exec.Cmd
	url string
}

var listening = regexp.MustCompile(`serving MCP on (http://\S+)`)

func start(binary, base string, maxCalls int) (*process, error) {
	cmd := exec.Command(binary, "serve", "--http", "127.0.0.1:0", "--max-calls", fmt.Sprint(maxCalls))
	cmd.Env = []string{"OPENAI_API_KEY=load", "OPENAI_BASE_URL=" + base}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	lines := bufio.NewReader(stderr)
	for {
		line, err := lines.ReadString('\n')
		if m := listening.FindStringSubmatch(line); m != nil {
			go io.Copy(io.Discard, lines) // ends with the process
			return &process{cmd, m[1]}, nil
		}
		if err != nil {
			cmd.Wait()
			return nil, fmt.Errorf("starting the server: %w", err)
		}
	}
}

func (s *process) ready() bool {
	res, err := http.Get(strings.TrimSuffix(s.url, "/mcp") + "/readyz")
	if err != nil {
		return false
	}
	defer res.Body.Close()
	return res.StatusCode == http.StatusOK
}

// stop ends the server as Kubernetes does.
func (s *process) stop() error {
	if err := s.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	return s.cmd.Wait()
}

func (s *process) kill() {
	s.cmd.Process.Kill()
	s.cmd.Wait()
}

// peak is the largest resident set so far, in MiB.
func (s *process) peak() (int, error) {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	_, after, _ := strings.Cut(string(status), "VmHWM:")
	var kib int
	_, err = fmt.Sscan(after, &kib)
	return kib >> 10, err
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 2000}}

// ask calls the tool answer and waits for its result.
func ask(endpoint string) (time.Duration, error) {
	const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"load"},"_meta":{"progressToken":1}}}`
	begin := time.Now()
	r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return 0, err
	}
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && !bytes.Contains(b, []byte(`"content":[`)) {
		err = fmt.Errorf("status %d: %s", res.StatusCode, b)
	}
	return time.Since(begin), err
}
