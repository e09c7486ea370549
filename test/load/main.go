// Load measures serve --http with many calls at once, attacks it, and restarts
// replicas under load. Everything runs on loopback against the fake API:
//
//	go run ./test/load
//
// It prints figures and exits with 1 when an answer is lost, a limit of memory
// is exceeded, or a client stands in the way of another.
//
//	main.go    calls and restarts
//	attack.go  clients that take the server from the others
//	limit.go   calls that share the rate limit of the API
package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
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

// Limits of the server's resident set, in MiB: with streaming calls, and with
// large requests.
const (
	maxMemory = 400
	maxLarge  = 250
)

const (
	token  = "0123456789abcdef"
	giveUp = 35 * time.Second // for the server's deadlines
)

func main() {
	restarts := flag.Int("restarts", 20, "restarts under load")
	deadlines := flag.Bool("deadlines", true, "wait until the server gives up, 35 s each")
	calls := flag.Int("calls", 1000, "calls at once")
	lasts := flag.Duration("lasts", 10*time.Second, "how long each answer streams")
	limits := flag.Bool("limits", true, "send waves to APIs with a rate limit, a minute")
	flag.Parse()
	if err := run(*calls, *lasts, *restarts, *deadlines, *limits); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(calls int, lasts time.Duration, restarts int, deadlines, limits bool) error {
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
	if limits {
		if err := limited(binary); err != nil {
			return err
		}
	}
	return errors.Join(
		pace(api, lasts),
		many(binary, base, calls),
		pace(api, 400*time.Millisecond),
		large(binary, base),
		half(binary, base, deadlines),
		unread(binary, base, deadlines),
		restart(binary, base, restarts),
	)
}

// many sends all calls at once and reports memory and the latency that the
// number of calls adds to one.
func many(binary, base string, calls int) error {
	s, err := start(binary, base, calls)
	if err != nil {
		return err
	}
	defer s.kill()
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
// calls arrive on connections that are kept. No answer may be lost.
func restart(binary, base string, restarts int) error {
	replicas := make([]atomic.Pointer[process], 2)
	for i := range replicas {
		s, err := start(binary, base, 256)
		if err != nil {
			return err
		}
		replicas[i].Store(s)
		defer func() { replicas[i].Load().kill() }()
	}
	proxy, err := balance(replicas)
	if err != nil {
		return err
	}
	defer proxy.Close()

	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var sent, lost, dialed atomic.Int64
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			var c net.Conn
			for n := 0; ctx.Err() == nil; n++ {
				if c == nil {
					dialed.Add(1)
				}
				sent.Add(1)
				var err error
				c, err = askOn(c, proxy.Addr().String())
				if err != nil && lost.Add(1) == 1 {
					fmt.Fprintln(os.Stderr, "load:", err)
				}
				time.Sleep(time.Duration((7*i+13*n)%30) * 20 * time.Millisecond)
			}
			if c != nil {
				c.Close()
			}
		})
	}
	var failed error
	for n := range restarts {
		replica := &replicas[n%len(replicas)]
		failed = errors.Join(failed, replica.Load().stop()) // drains, while the other one serves
		next, err := start(binary, base, 256)
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		replica.Store(next)
	}
	cancel()
	all.Wait()
	fmt.Printf("%d restarts under load: %d calls on %d connections, %d lost\n", restarts, sent.Load(), dialed.Load(), lost.Load())
	if lost.Load() > 0 {
		failed = errors.Join(failed, fmt.Errorf("%d of %d answers lost", lost.Load(), sent.Load()))
	}
	return failed
}

// balance is a proxy for connections. It copies bytes between each one and a
// replica whose /readyz answers, in turn.
func balance(replicas []atomic.Pointer[process]) (net.Listener, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	forward := func(client net.Conn, turn int) {
		defer client.Close()
		s := replicas[turn%len(replicas)].Load()
		for !s.ready() {
			turn++
			s = replicas[turn%len(replicas)].Load()
		}
		server, err := net.Dial("tcp", s.address())
		if err != nil {
			return // a lost call
		}
		defer server.Close()
		go func() {
			io.Copy(server, client)
			server.(*net.TCPConn).CloseWrite()
		}()
		io.Copy(client, server)
	}
	go func() {
		for turn := 0; ; turn++ {
			client, err := ln.Accept()
			if err != nil {
				return
			}
			go forward(client, turn)
		}
	}()
	return ln, nil
}

// askOn calls the tool answer on c, or on a new connection if c is nil. It
// returns the connection if it can be used again.
func askOn(c net.Conn, address string) (net.Conn, error) {
	if c == nil {
		var err error
		if c, err = net.Dial("tcp", address); err != nil {
			return nil, err
		}
	}
	r, err := toolCall("http://"+address+"/mcp", "load")
	if err == nil {
		err = r.Write(c)
	}
	if err != nil {
		c.Close()
		return nil, err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), r)
	if err == nil {
		err = check(res)
	}
	if err != nil || res.Close {
		c.Close()
		return nil, err
	}
	return c, nil
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
	cmd.Env = []string{"OPENAI_API_KEY=load", "OPENAI_BASE_URL=" + base, "MCP_HTTP_TOKENS=load:" + token}
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

func (s *process) address() string {
	return strings.TrimSuffix(strings.TrimPrefix(s.url, "http://"), "/mcp")
}

func (s *process) ready() bool {
	res, err := http.Get("http://" + s.address() + "/readyz")
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
	begin := time.Now()
	r, err := toolCall(endpoint, "load")
	if err != nil {
		return 0, err
	}
	res, err := client.Do(r)
	if err != nil {
		return 0, err
	}
	err = check(res)
	return time.Since(begin), err
}

// toolCall is a call of the tool answer.
func toolCall(endpoint, query string) (*http.Request, error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"` + query + `"},"_meta":{"progressToken":1}}}`
	r, err := http.NewRequest(http.MethodPost, endpoint, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	return r, nil
}

// check reads a response, which must be a result.
func check(res *http.Response) error {
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err == nil && !bytes.Contains(b, []byte(`"content":[`)) {
		err = fmt.Errorf("status %d: %s", res.StatusCode, b)
	}
	return err
}
