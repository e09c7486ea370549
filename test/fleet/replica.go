//go:build unix

package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// waits is how long the API takes for a question with the word wait.
const waits = 2 * time.Second

// startAPI starts an API whose answers use as many tokens as the question says.
func startAPI() *httptest.Server {
	number := regexp.MustCompile(`"text":\s*"(\d+)( wait)?|"content":\s*"(\d+)( wait)?`)
	return httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		m := number.FindSubmatch(body)
		if m == nil {
			http.Error(w, `{"error":{"message":"no number"}}`, http.StatusBadRequest)
			return
		}
		if len(m[2])+len(m[4]) > 0 {
			select {
			case <-time.After(waits):
			case <-r.Context().Done():
				return
			}
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"resp_1","object":"response","status":"completed","output":[{"id":"m",`+
			`"type":"message","status":"completed","role":"assistant","content":[{"type":"output_text",`+
			`"text":"One.","annotations":[]}]}],"usage":{"input_tokens":%s,"output_tokens":0,`+
			`"total_tokens":%[1]s}}`, append(m[1], m[3]...))
	}))
}

// replica is a process of serve --http.
type replica struct {
	cmd     *exec.Cmd
	address string

	mu  sync.Mutex
	log bytes.Buffer
}

var listening = regexp.MustCompile(`serving MCP on (http://\S+/mcp)`)

// person is the name and token of a person.
func person(name string) string { return name + ":" + token(name) }

func token(name string) string { return name + "-0123456789abcdef" }

// newReplica starts a replica.
func (f *fleet) newReplica(flags string, env ...string) (*replica, error) {
	var people []string
	for _, name := range []string{"alice", "bob", "carol", "dave"} {
		people = append(people, person(name))
		for i := range 40 { // of the faults
			people = append(people, person(fmt.Sprint(name, i)))
		}
	}
	r := &replica{}
	r.cmd = exec.Command(f.binary, append([]string{"serve", "--http", "127.0.0.1:0",
		"--notice", "0s", "--drain", "0s"}, strings.Fields(flags)...)...)
	r.cmd.Env = append([]string{
		"OPENAI_API_KEY=fleet",
		"OPENAI_BASE_URL=" + f.api + "/v1",
		"MCP_HTTP_TOKENS=" + strings.Join(people, " "),
	}, env...)
	stderr, err := r.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	err = r.cmd.Start()
	if err != nil {
		return nil, err
	}

	lines := bufio.NewScanner(stderr)
	for lines.Scan() {
		m := listening.FindStringSubmatch(lines.Text())
		if m != nil {
			r.address = m[1]
			go r.read(lines)
			return r, nil
		}
	}
	return nil, fmt.Errorf("starting a replica: %w", r.cmd.Wait())
}

// read keeps the log.
func (r *replica) read(lines *bufio.Scanner) {
	for lines.Scan() {
		r.mu.Lock()
		fmt.Fprintln(&r.log, lines.Text())
		r.mu.Unlock()
	}
}

// count returns how many lines of the log have a text.
func (r *replica) count(text string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return strings.Count(r.log.String(), text)
}

func (r *replica) kill() {
	_ = r.cmd.Process.Kill()
	_ = r.cmd.Wait()
}

var client = &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}

// call makes a call, and reports whether it was answered.
func (r *replica) call(name, question string) bool {
	body, err := r.send(context.Background(), name, question)
	return err == nil && strings.Contains(body, `"content":[`)
}

// leave makes a call whose client leaves before the answer.
func (r *replica) leave(name, question string) {
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, _ = r.send(ctx, name, question)
}

func (r *replica) send(ctx context.Context, name, question string) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, r.address, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer","arguments":{"query":"`+
			question+`"}}}`))
	if err != nil {
		return "", err
	}
	for key, value := range map[string]string{
		"Authorization":        "Bearer " + token(name),
		"Content-Type":         "application/json",
		"Accept":               "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2025-06-18",
	} {
		req.Header.Set(key, value)
	}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	return string(body), err
}

// ask makes n calls of a person at once, at all replicas in turn. It returns how many were answered,
// and how long the longest took.
func (f *fleet) ask(name string, n int, question string) (answered int, longest time.Duration) {
	var all sync.WaitGroup
	var count, most atomic.Int64
	for i := range n {
		all.Go(func() {
			began := time.Now()
			if f.replicas[i%len(f.replicas)].call(name, question) {
				count.Add(1)
			}
			took := int64(time.Since(began))
			for old := most.Load(); took > old && !most.CompareAndSwap(old, took); {
				old = most.Load()
			}
		})
	}
	all.Wait()
	return int(count.Load()), time.Duration(most.Load())
}
