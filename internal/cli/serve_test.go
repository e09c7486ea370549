package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
)

func TestServeUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                       "serve needs --http ADDRESS",
		"--http 127.0.0.1:0 --path mcp":          "--path mcp is not a path",
		"--http 127.0.0.1:0 --path /a?b":         "--path /a?b is not a path",
		"--http 127.0.0.1:0 --path /a%20":        "--path /a%20 is not a path",
		"--http 127.0.0.1:0 --path /mcp/":        "--path /mcp/ is not a path",
		"--http 127.0.0.1:0 --path /a/../b":      "--path /a/../b is not a path",
		"--http 127.0.0.1:0 --path /metrics":     "--path /metrics is taken",
		"--http 127.0.0.1:0 --drain -1s":         "--drain -1s is negative",
		"--http 127.0.0.1:0 --max-calls 0":       "--max-calls 0 is not at least 1",
		"--http 127.0.0.1:0 --allowed-host=":     "--allowed-host: not a host",
		"--http 127.0.0.1:0 --allowed-host=:443": "--allowed-host: not a host",
		"--http 0.0.0.0:0":                       "needs bearer tokens in MCP_HTTP_TOKENS",
	} {
		var stderr strings.Builder
		code := Run(t.Context(), append([]string{"serve"}, strings.Fields(args)...), nil, nil, io.Discard, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("serve %s exits with %d, %s; want %s", args, code, &stderr, want)
		}
	}
}

// A call is logged with its trace, and a token that a question contains is not.
// Over HTTP a call is no task, even for a client that takes tasks.
func TestServe(t *testing.T) {
	const token = "0123456789abcdef"
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	read, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := []string{"serve", "--http", "127.0.0.1:0", "--offline", "--debug", "--drain", "0s", "--allowed-host", "MCP.example:443"}
		ended <- Run(ctx, args, []string{"MCP_HTTP_TOKENS=alice:" + token}, nil, io.Discard, stderr)
		stderr.Close()
	}()
	lines := bufio.NewScanner(read)
	url := ""
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), "serving MCP on ")
	}
	log := make(chan string, 1)
	go func() {
		var all strings.Builder
		for lines.Scan() {
			fmt.Fprintln(&all, lines.Text())
		}
		log <- all.String()
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer_detailed","arguments":{"query":"is `+token+` a token?"},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "mcp.example"
	for name, value := range map[string]string{
		"Authorization": "Bearer " + token, "Content-Type": "application/json",
		"Accept": "application/json, text/event-stream", "Traceparent": trace,
		"Mcp-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "answer_detailed",
	} {
		req.Header.Set(name, value)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil || !strings.Contains(string(body), "used_search") {
		t.Errorf("the call returned %d %s (%v)", res.StatusCode, body, err)
	}
	stop()
	all := <-log
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"is [redacted] a token?", "traceparent=" + trace + " tool=answer_detailed client=alice outcome=ok ms=", "drain=0s"} {
		if !strings.Contains(all, want) {
			t.Errorf("the log lacks %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, token) {
		t.Errorf("the log contains the token:\n%s", all)
	}
}
