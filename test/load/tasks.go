package main

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
)

// withTasks is the _meta of a client that takes tasks.
const withTasks = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28",` +
	`"io.modelcontextprotocol/clientInfo":{"name":"load","version":"1"},` +
	`"io.modelcontextprotocol/clientCapabilities":{` +
	`"extensions":{"io.modelcontextprotocol/tasks":{}}}}`

// outlive begins 260 tasks with one server, of which 64 run at a time, and asks another one about
// them. Afterwards the first server has places for calls.
func outlive(server program, api *apitest.Server, dir string) error {
	config := filepath.Join(dir, "tasks.yaml")
	const inBackground = "model_profiles: {answer: {background: true}}\n"
	err := os.WriteFile(config, []byte(inBackground), 0o600)
	if err != nil {
		return err
	}
	err = api.Script("always", "search+slow=100ms")
	if err != nil {
		return err
	}

	secret := "MCP_TASK_SECRETS=" + strings.Repeat("load", 8)
	var replicas []*process
	for range 2 {
		s, err := server.start(anyPort, "--config", config, "--max-calls-per-user", "64", secret)
		if err != nil {
			return err
		}
		defer s.kill()
		replicas = append(replicas, s)
	}

	began := time.Now()
	err = sideBySide(260, func(int) error { return research(replicas[0], replicas[1]) })
	took := time.Since(began).Round(time.Second)
	fmt.Printf("260 tasks, 64 at a time: %v, error: %v\n", took, err)
	if err != nil {
		return err
	}
	return sideBySide(6, func(int) error {
		return replicas[0].call("alice", "load", 10*time.Second)
	})
}

// research begins a task with a server, and asks another one until the task is completed. A server
// takes a limited number of requests at a time.
func research(first, other *process) error {
	const question = `"name":"answer_detailed","arguments":{"query":"why"}`
	id := ""
	for id == "" {
		r, err := first.request("tools/call", "answer_detailed", question)
		if err != nil {
			return err
		}
		id = r.Get("result.taskId").Str
		time.Sleep(time.Second)
	}

	for {
		r, err := other.request("tasks/get", id, fmt.Sprintf(`"taskId":%q`, id))
		switch status := r.Get("result.status").Str; {
		case err != nil:
			return err
		case status == "completed":
			return nil
		case status != "working" && r.Exists():
			return fmt.Errorf("a task is %s", r)
		}
		time.Sleep(time.Second)
	}
}

// request sends a request of alice. The response is empty if it has been refused.
func (s *process) request(method, name, params string) (gjson.Result, error) {
	body := fmt.Sprintf(`{"jsonrpc":"2.0","id":1,"method":%q,"params":{%s,"_meta":%s}}`,
		method, params, withTasks)
	req, err := http.NewRequest(http.MethodPost, "http://"+s.address+"/mcp", strings.NewReader(body))
	if err != nil {
		return gjson.Result{}, err
	}
	for key, value := range map[string]string{
		"Authorization":        "Bearer " + token("alice"),
		"Content-Type":         "application/json",
		"Accept":               "application/json, text/event-stream",
		"Mcp-Protocol-Version": "2026-07-28",
		"Mcp-Method":           method,
		"Mcp-Name":             name,
	} {
		req.Header.Set(key, value)
	}

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return gjson.Result{}, err
	}
	defer res.Body.Close()
	answer, err := io.ReadAll(res.Body)
	_, event, _ := bytes.Cut(answer, []byte("data: "))
	return gjson.ParseBytes(event), err
}
