package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"time"
)

const token = "0123456789abcdef"

// process is a running server.
type process struct {
	cmd     *exec.Cmd
	address string
}

var listening = regexp.MustCompile(`serving MCP on http://(\S+)/mcp`)

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

func (s *process) ready() bool {
	res, err := http.Get("http://" + s.address + "/readyz")
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

// timed makes one call and measures it.
func timed(s *process) (time.Duration, error) {
	began := time.Now()
	c, err := ask(nil, s.address, "load")
	if c != nil {
		c.Close()
	}
	return time.Since(began), err
}

// ask calls the tool answer on c, or on a new connection if c is nil. It
// returns the connection if it can be used again.
func ask(c net.Conn, address, query string) (net.Conn, error) {
	if c == nil {
		var err error
		c, err = net.Dial("tcp", address)
		if err != nil {
			return nil, err
		}
	}
	keep, err := exchange(c, query)
	if !keep {
		c.Close()
		return nil, err
	}
	return c, nil
}

// exchange sends a call and reads its response, which must be a result. keep
// reports whether the connection can be used again.
func exchange(c net.Conn, query string) (keep bool, err error) {
	body := `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"` + query + `"},"_meta":{"progressToken":1}}}`
	r, err := http.NewRequest(http.MethodPost, "http://localhost/mcp", strings.NewReader(body))
	if err != nil {
		return false, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	if err := r.Write(c); err != nil {
		return false, err
	}
	res, err := http.ReadResponse(bufio.NewReader(c), r)
	if err != nil {
		return false, err
	}
	b, err := io.ReadAll(res.Body)
	if err == nil && !bytes.Contains(b, []byte(`"content":[`)) {
		err = fmt.Errorf("status %d: %s", res.StatusCode, b)
	}
	return err == nil && !res.Close, err
}
