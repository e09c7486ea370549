package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/answer"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/logging"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

func TestServeUsage(t *testing.T) {
	for args, want := range map[string]string{
		"":                                                   "serve needs --http ADDRESS",
		"--http 127.0.0.1:0 --path mcp":                      "--path mcp is not a path",
		"--http 127.0.0.1:0 --path /a?b":                     "--path /a?b is not a path",
		"--http 127.0.0.1:0 --path /a%20":                    "--path /a%20 is not a path",
		"--http 127.0.0.1:0 --path /mcp/":                    "--path /mcp/ is not a path",
		"--http 127.0.0.1:0 --path /a/../b":                  "--path /a/../b is not a path",
		"--http 127.0.0.1:0 --path /metrics":                 "--path /metrics is taken",
		"--http 127.0.0.1:0 --drain -1s":                     "--drain -1s is negative",
		"--http 127.0.0.1:0 --notice -1s":                    "--notice -1s is negative",
		"--http 127.0.0.1:0 --log-format xml":                "--log-format xml is not text or json",
		"--http 127.0.0.1:0 --max-calls 0":                   "--max-calls 0 is not in 1..10000",
		"--http 127.0.0.1:0 --max-calls 9223372036854775807": "--max-calls 9223372036854775807 is not in 1..10000",
		"--http 127.0.0.1:0 --allowed-host=":                 "--allowed-host: not a host",
		"--http 127.0.0.1:0 --allowed-host=:443":             "--allowed-host: not a host",
		"--http 0.0.0.0:0":                                   "needs bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE",
	} {
		var stderr strings.Builder
		code := Run(t.Context(), append([]string{"serve"}, strings.Fields(args)...), nil, nil, io.Discard, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), want) {
			t.Errorf("serve %s exits with %d, %s; want %s", args, code, &stderr, want)
		}
	}
}

// Wrong tokens end the start, and appear in no error.
func TestServeTokens(t *testing.T) {
	empty := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(empty, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct{ list, file, want string }{
		{"0123456789abcdef:alice", "", "the token of entry 1 of MCP_HTTP_TOKENS has fewer than 16 characters"},
		{"0123456789abcdef", "", "entry 1 of MCP_HTTP_TOKENS is not name:token"},
		{"a:0123456789abcdeX :fedcba9876543", "", "entry 2 of MCP_HTTP_TOKENS is not name:token"},
		{",", "", "MCP_HTTP_TOKENS has no tokens"},
		{"", empty, "tokens has no tokens"},
		{"", empty + ".none", "reading tokens: stat "},
		{"", os.DevNull, "not a regular file of at most 1 MiB"},
		{"alice:0123456789abcdef", empty, "MCP_HTTP_TOKENS and MCP_HTTP_TOKENS_FILE are both set"},
	} {
		var stderr strings.Builder
		env := []string{"MCP_HTTP_TOKENS=" + tt.list, "MCP_HTTP_TOKENS_FILE=" + tt.file}
		code := Run(t.Context(), []string{"serve", "--http", "127.0.0.1:0"}, env, nil, io.Discard, &stderr)
		if code != exitUsage || !strings.Contains(stderr.String(), tt.want) || strings.Contains(stderr.String(), "0123456789abcdef") {
			t.Errorf("tokens %q exit with %d, %s; want %s", tt.list, code, &stderr, tt.want)
		}
	}
}

// Tokens that are read after the start are redacted as well.
func TestTokensAreRedacted(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens")
	if err := os.WriteFile(file, []byte("alice:0123456789abcdef\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	a := &app{env: []string{"MCP_HTTP_TOKENS_FILE=" + file}, redactor: logging.NewRedactor()}
	if _, err := a.tokens(); err != nil {
		t.Fatal(err)
	}
	if got := a.redactor.Redact("is 0123456789abcdef a token?"); got != "is [redacted] a token?" {
		t.Errorf("redacted to %q", got)
	}
}

// A failed call is logged with its reason, but the API's message only in debug.
func TestLogCall(t *testing.T) {
	failed := &llm.Error{Kind: llm.KindRateLimit, Status: 429, Code: "rate_limit_exceeded", Message: "slow down, Alice", RequestID: "req_1"}
	for _, tt := range []struct {
		call server.Call
		want string
	}{
		{server.Call{Tool: "answer", Client: "alice", Outcome: "error", Duration: 1500 * time.Millisecond, Err: failed},
			"msg=call tool=answer client=alice outcome=error kind=rate_limit status=429 code=rate_limit_exceeded request_id=req_1 seconds=1.5 tokens=0 searches=0\n"},
		{server.Call{Tool: "answer", Client: "alice", Outcome: "ok", Meta: answer.Meta{RequestID: "req_2", Searches: 2, Usage: llm.Usage{Total: 7}}},
			"msg=call tool=answer client=alice outcome=ok request_id=req_2 seconds=0 tokens=7 searches=2\n"},
	} {
		for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
			var out strings.Builder
			logCall(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: level})), tt.call)
			quoted := level == slog.LevelDebug && tt.call.Err != nil
			if got := out.String(); !strings.HasSuffix(got, tt.want) || strings.Contains(got, "Alice") != quoted {
				t.Errorf("%v: logged %q, want %q", level, got, tt.want)
			}
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
		args := []string{"serve", "--http", "127.0.0.1:0", "--offline", "--debug", "--drain", "0s", "--notice", "0s", "--allowed-host", "MCP.example:443"}
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
	for _, want := range []string{"is [redacted] a token?", "traceparent=" + trace + " tool=answer_detailed client=alice outcome=ok request_id=req_", "drain=0s"} {
		if !strings.Contains(all, want) {
			t.Errorf("the log lacks %q:\n%s", want, all)
		}
	}
	if strings.Contains(all, token) {
		t.Errorf("the log contains the token:\n%s", all)
	}
}
