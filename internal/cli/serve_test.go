package cli

import (
	"bufio"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// Wrong flags and tokens end the start. Tokens appear in no error.
func TestServeUsage(t *testing.T) {
	const local = "--http 127.0.0.1:0"
	for _, tt := range []struct{ args, list, file, want string }{
		{"", "", "", "serve needs --http ADDRESS"},
		{local + " --path mcp", "", "", "--path mcp is not a path"},
		{local + " --path /a?b", "", "", "--path /a?b is not a path"},
		{local + " --path /a%20", "", "", "--path /a%20 is not a path"},
		{local + " --path /mcp/", "", "", "--path /mcp/ is not a path"},
		{local + " --path /a/../b", "", "", "--path /a/../b is not a path"},
		{local + " --path /metrics", "", "", "--path /metrics is taken"},
		{local + " --drain -1s", "", "", "--drain -1s is negative"},
		{local + " --notice -1s", "", "", "--notice -1s is negative"},
		{local + " --log-format xml", "", "", "--log-format xml is not text or json"},
		{local + " --max-calls 0", "", "", "--max-calls 0 is not in 1..10000"},
		{local + " --max-calls 9223372036854775807", "", "", "--max-calls 9223372036854775807 is not in 1..10000"},
		{local + " --allowed-host=", "", "", "--allowed-host: not a host"},
		{local + " --allowed-host=:443", "", "", "--allowed-host: not a host"},
		{"--http 0.0.0.0:0", "", "", "needs bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE"},
		{local, "0123456789abcdef:alice", "", "the token of entry 1 of MCP_HTTP_TOKENS has fewer than 16 characters"},
		{local, "alice:0123456789abcde", "", "the token of entry 1 of MCP_HTTP_TOKENS has fewer than 16 characters"},
		{local, "0123456789abcdef", "", "entry 1 of MCP_HTTP_TOKENS is not name:token"},
		{local, "a:0123456789abcdeX :fedcba9876543", "", "entry 2 of MCP_HTTP_TOKENS is not name:token"},
		{local, ",", "", "MCP_HTTP_TOKENS has no tokens"},
		{local, "", "no/such/file", "reading tokens: stat "},
		{local, "", os.DevNull, "not a regular file of at most 1 MiB"},
		{local, "alice:0123456789abcdef", "file", "MCP_HTTP_TOKENS and MCP_HTTP_TOKENS_FILE are both set"},
	} {
		env := []string{"MCP_HTTP_TOKENS=" + tt.list, "MCP_HTTP_TOKENS_FILE=" + tt.file}
		code, _, stderr := run(t.Context(), env, nil, append([]string{"serve"}, strings.Fields(tt.args)...)...)
		if code != exitUsage || !strings.Contains(stderr, tt.want) || strings.Contains(stderr, "0123456789abcdef") {
			t.Errorf("serve %s with the tokens %q exits with %d, %s; want %s", tt.args, tt.list, code, stderr, tt.want)
		}
	}
}

// A failed call is logged with its reason, but the API's message only in debug.
func TestLogCall(t *testing.T) {
	failed := &llm.Error{Kind: llm.KindRateLimit, Status: 429, Code: "rate_limit_exceeded", Message: "slow down, Alice", RequestID: "req_1"}
	call := server.Call{Tool: "answer", Client: "alice", Outcome: "error", Duration: 1500 * time.Millisecond, Err: failed}
	const want = "msg=call tool=answer client=alice outcome=error kind=rate_limit status=429 code=rate_limit_exceeded request_id=req_1 seconds=1.5 tokens=0 searches=0\n"
	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		var out strings.Builder
		logCall(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})), call)
		if got := out.String(); !strings.HasSuffix(got, want) || strings.Contains(got, "Alice") != (level == slog.LevelDebug) {
			t.Errorf("%v: logged %q, want %q", level, got, want)
		}
	}
}

// A call is logged with its trace, and a token of the file that a question contains is not.
// Over HTTP a call is no task, even for a client that takes tasks.
func TestServe(t *testing.T) {
	const token = "0123456789abcdef"
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("alice:"+token+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	pipe, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		args := "serve --http 127.0.0.1:0 --offline --debug --drain 0s --notice 0s --allowed-host MCP.example:443"
		ended <- Run(ctx, strings.Fields(args), []string{"MCP_HTTP_TOKENS_FILE=" + file}, nil, io.Discard, stderr)
		stderr.Close()
	}()
	log, url := bufio.NewReader(pipe), ""
	for url == "" {
		line, err := log.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		_, url, _ = strings.Cut(strings.TrimSpace(line), "serving MCP on ")
	}
	rest := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(log)
		rest <- string(all)
	}()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"answer_detailed","arguments":{"query":"is `+token+` a token?"},`+
			`"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Host = "mcp.example"
	req.Header = http.Header{
		"Authorization": {"Bearer " + token}, "Content-Type": {"application/json"},
		"Accept": {"application/json, text/event-stream"}, "Traceparent": {trace},
		"Mcp-Protocol-Version": {"2026-07-28"}, "Mcp-Method": {"tools/call"}, "Mcp-Name": {"answer_detailed"},
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
	all := <-rest
	if code := <-ended; code != exitOK {
		t.Errorf("exit code %d", code)
	}
	for _, want := range []string{"is [redacted] a token?", "traceparent=" + trace + " tool=answer_detailed client=alice outcome=ok request_id=req_", "tokens=1500 searches=0", "drain=0s"} {
		if !strings.Contains(all, want) {
			t.Errorf("the log lacks %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, token) {
		t.Errorf("the log contains the token:\n%s", all)
	}
}
