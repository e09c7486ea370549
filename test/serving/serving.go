// Package serving builds the program, runs processes of serve --http on loopback that bear load or
// faults, and makes requests to them.
package serving

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"syscall"
)

// AnyPort is a free port of loopback.
const AnyPort = "127.0.0.1:0"

// Program is what starts servers.
type Program struct {
	Base   string   // of the API
	People []string // who may call the servers

	binary string
}

// Build builds the program into a directory.
func Build(dir string) (*Program, error) {
	p := &Program{binary: filepath.Join(dir, "openai-responses-mcp")}
	build := exec.Command("go", "build", "-o", p.binary, "./cmd/openai-responses-mcp")
	out, err := build.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("building: %w\n%s", err, out)
	}
	return p, nil
}

// Token is that of a person.
func Token(person string) string { return person + "-0123456789abcdef" }

// Request is a request with a token and a message, as clients send it.
func Request(ctx context.Context, method, url, token, message string) *http.Request {
	r, err := http.NewRequestWithContext(ctx, method, url, strings.NewReader(message))
	if err != nil {
		panic(err) // it is an error of the test
	}
	r.Header.Set("Authorization", "Bearer "+token)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Accept", "application/json, text/event-stream")
	return r
}

// Call calls a tool of a server for a person, and returns the status and the body of the response.
func Call(
	ctx context.Context, client *http.Client, address, person, tool, arguments string,
) (response string, err error) {
	r := Request(ctx, http.MethodPost, "http://"+address+"/mcp", Token(person), fmt.Sprintf(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, tool, arguments))
	r.Host = "localhost"
	r.Header.Set("Mcp-Protocol-Version", "2025-06-18")
	resp, err := client.Do(r)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return resp.Status + ": " + string(body), err
}

// IsAnswer reports whether a response of Call has an answer.
func IsAnswer(response string) bool { return strings.Contains(response, `"content":[`) }

// Process is a running server.
type Process struct {
	*exec.Cmd
	Address string

	mu  sync.Mutex // guards log
	log strings.Builder
}

var listening = regexp.MustCompile(`serving MCP on http://(\S+)/mcp`)

// Start starts a server at an address, with flags and variables.
func (p *Program) Start(address, flags string, env ...string) (*Process, error) {
	var tokens []string
	for _, person := range p.People {
		tokens = append(tokens, person+":"+Token(person))
	}
	s := &Process{Cmd: exec.Command(p.binary, strings.Fields("serve --http "+address+" "+flags)...)}
	s.Env = append(env, "OPENAI_API_KEY=any-key-of-tests", "OPENAI_BASE_URL="+p.Base,
		"MCP_HTTP_TOKENS="+strings.Join(tokens, " "))
	stderr, err := s.StderrPipe()
	if err != nil {
		return nil, err
	}
	err = s.Cmd.Start()
	if err != nil {
		return nil, err
	}

	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		if m := listening.FindStringSubmatch(lines.Text()); m != nil {
			s.Address = m[1]
			go s.read(lines) // ends with the process
			return s, nil
		}
	}
	return nil, fmt.Errorf("starting a server: %w", s.Wait())
}

// read keeps the log.
func (s *Process) read(lines *bufio.Scanner) {
	for lines.Scan() {
		s.mu.Lock()
		fmt.Fprintln(&s.log, lines.Text())
		s.mu.Unlock()
	}
}

// Logged returns how often the log has a text.
func (s *Process) Logged(text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Count(s.log.String(), text)
}

// Stop ends the server as Kubernetes does.
func (s *Process) Stop() error {
	err := s.Process.Signal(syscall.SIGTERM)
	if err != nil {
		return err
	}
	return s.Wait()
}

// Kill ends the server at once.
func (s *Process) Kill() {
	_ = s.Process.Kill()
	_ = s.Wait()
}
