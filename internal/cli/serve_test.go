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

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
	"github.com/uchimanajet7/openai-responses-mcp/internal/llm"
	"github.com/uchimanajet7/openai-responses-mcp/internal/oauth"
	"github.com/uchimanajet7/openai-responses-mcp/internal/server"
)

// writeFile returns the path of a new file.
func writeFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Wrong flags end the start.
func TestServeFlags(t *testing.T) {
	const needIssuer = "--public-url and the flags of OAuth need --oauth-issuer"
	for _, tt := range []struct{ args, want string }{
		{"", "serve needs --http ADDRESS"},
		{"--path mcp", "--path mcp is not a path"},
		{"--path /a?b", "--path /a?b is not a path"},
		{"--path /mcp/", "--path /mcp/ is not a path"},
		{"--path /a/../b", "--path /a/../b is not a path"},
		{"--path /metrics", "--path /metrics is taken"},
		{"--path " + oauth.MetadataPath + "/mcp", "is taken"},
		{"--drain -1s", "--drain -1s is negative"},
		{"--notice -1s", "--notice -1s is negative"},
		{"--log-format xml", "--log-format xml is not text or json"},
		{"--max-calls 0", "--max-calls 0 is not in 1..10000"},
		{"--max-calls 10001", "--max-calls 10001 is not in 1..10000"},
		{"--max-calls-per-user many", `invalid value "many" for --max-calls-per-user`},
		{"--max-calls 16 --max-calls-per-user 17", "--max-calls-per-user 17 is not in 1..16"},
		{"--max-calls-per-user 0", "--max-calls-per-user 0 is not in 1..256"},
		{"--max-calls-per-user 4", "--max-calls-per-user needs bearer tokens"},
		{"--allowed-host=:443", "--allowed-host: not a host"},
		{"--http 0.0.0.0:0", "needs bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE"},
		{"--public-url https://mcp.example.com/mcp", needIssuer},
		{"--oauth-user email", needIssuer},
		{"--oauth-issuer https://id.example.com", "--oauth-issuer needs --public-url"},
		{"--oauth-issuer id.example.com", `--oauth-issuer "id.example.com" is not a URL`},
		{"--oauth-issuer x --allow-anonymous", "--allow-anonymous contradicts --oauth-issuer"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			args := []string{"serve"}
			if tt.args != "" {
				args = append(args, "--http", "127.0.0.1:0")
			}
			args = append(args, strings.Fields(tt.args)...)

			code, _, stderr := run(t.Context(), nil, nil, args...)
			if code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if !strings.Contains(stderr, tt.want) {
				t.Errorf("stderr: %s, want %s", stderr, tt.want)
			}
			if n := strings.Count(stderr, "error: "); n != 1 {
				t.Errorf("%d errors, want 1: %s", n, stderr)
			}
		})
	}
}

// Wrong tokens end the start, and appear in no error.
func TestServeTokens(t *testing.T) {
	const token = "0123456789abcdef"
	const list = "MCP_HTTP_TOKENS="
	const file = "MCP_HTTP_TOKENS_FILE="
	for _, tt := range []struct {
		name string
		env  []string
		want string
	}{
		{
			"name and token swapped", []string{list + token + ":alice"},
			"the token of entry 1 of MCP_HTTP_TOKENS has fewer than 16 characters",
		},
		{
			"empty name", []string{list + "a:" + token + "X :fedcba9876543"},
			"entry 2 of MCP_HTTP_TOKENS is not name:token",
		},
		{
			"no entries", []string{list + ","},
			"MCP_HTTP_TOKENS has no tokens",
		},
		{
			"no file", []string{file + "no/such/file"},
			"reading tokens: stat ",
		},
		{
			"not a file", []string{file + os.DevNull},
			"not a regular file of at most 1 MiB",
		},
		{
			"list and file", []string{list + "alice:" + token, file + "file"},
			"MCP_HTTP_TOKENS and MCP_HTTP_TOKENS_FILE are both set",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			code, _, stderr := run(t.Context(), tt.env, nil, "serve", "--http", "127.0.0.1:0")
			if code != exitUsage {
				t.Errorf("exit code %d, want %d", code, exitUsage)
			}
			if !strings.Contains(stderr, tt.want) {
				t.Errorf("stderr: %s, want %s", stderr, tt.want)
			}
			if strings.Contains(stderr, token) {
				t.Errorf("stderr has the token: %s", stderr)
			}
		})
	}
}

// With --log-format json every line of the start is JSON.
func TestServeJSON(t *testing.T) {
	ended, end := context.WithCancel(t.Context())
	end()
	empty := writeFile(t, "")
	for _, tt := range []struct {
		name string
		args string
		env  []string
		want []string // parts of lines
	}{
		{"wrong flag", "--bogus", nil, []string{
			`"level":"ERROR","msg":"unknown flag --bogus"`,
			`"level":"INFO","msg":"see openai-responses-mcp serve --help"`,
		}},
		{"wrong value", "--max-calls 0", nil, []string{`"level":"ERROR","msg":"--max-calls 0 is`}},
		{"no tokens", "--http :0", nil, []string{`"level":"ERROR","msg":"an address other than`}},
		{"wrong setting", "", []string{"MAX_CITATIONS=0"}, []string{`"level":"ERROR","msg":"MAX_CIT`}},
		{"plain http", "", []string{"OPENAI_BASE_URL=http://api.example"}, []string{
			`"level":"WARN","msg":"openai.base_url is plain http`,
		}},
		{"offline", "--offline", nil, []string{`"level":"INFO","msg":"offline: answers are samples`}},
		{"no key", "", []string{"OPENAI_API_KEY="}, []string{
			`"level":"WARN","msg":"all calls fail: Missing API key: set OPENAI_API_KEY"`,
		}},
		{"no key in the file", "", []string{"OPENAI_API_KEY=", "OPENAI_API_KEY_FILE=" + empty}, []string{
			`"level":"WARN","msg":"reading the key: `,
			`"level":"WARN","msg":"all calls fail: Missing API key: write it to the file of ` +
				`OPENAI_API_KEY_FILE"`,
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := "serve --http 127.0.0.1:0 --notice 0s --drain 0s " + tt.args + " --log-format json"
			var stderr strings.Builder
			env := append([]string{"OPENAI_API_KEY=sk-test"}, tt.env...)
			Run(ended, strings.Fields(args), env, nil, io.Discard, &stderr)

			for line := range strings.Lines(stderr.String()) {
				if !gjson.Valid(line) {
					t.Errorf("not JSON: %s", line)
				}
			}
			for _, want := range tt.want {
				if !strings.Contains(stderr.String(), want) {
					t.Errorf("stderr lacks %s:\n%s", want, &stderr)
				}
			}
		})
	}
}

// A failed call is logged with its reason, but the API's message only in debug.
func TestLogCall(t *testing.T) {
	const message = "slow down, Alice"
	call := server.Call{
		ID:       "c1",
		Tool:     "answer",
		Client:   "alice",
		App:      "codex/1.0",
		Outcome:  "error",
		Duration: 2720 * time.Millisecond,
		Stats:    llm.Call{Attempts: 2, Time: time.Second, RequestID: "req_1"},
		Err: &llm.Error{
			Kind:    llm.KindRateLimit,
			Status:  429,
			Code:    "rate_limit_exceeded",
			Message: message,
		},
	}
	const want = "msg=call call_id=c1 tool=answer client=alice app=codex/1.0 model=gpt-5.2 " +
		"outcome=error kind=rate_limit status=429 code=rate_limit_exceeded request_id=req_1 " +
		"attempts=2 seconds=2.72 api_seconds=1 input_tokens=0 output_tokens=0 searches=0\n"

	for _, level := range []slog.Level{slog.LevelInfo, slog.LevelDebug} {
		t.Run(level.String(), func(t *testing.T) {
			var out strings.Builder
			options := &slog.HandlerOptions{Level: level}
			logCall(slog.New(slog.NewTextHandler(&out, options)), call, "gpt-5.2")
			if got := out.String(); !strings.HasSuffix(got, want) {
				t.Errorf("logged %q, want %q", got, want)
			}
			has := strings.Contains(out.String(), message)
			if want := level == slog.LevelDebug; has != want {
				t.Errorf("the message is logged: %v, want %v", has, want)
			}
		})
	}
}

// serveInBackground runs serve until stop and returns the URL of MCP. end returns the exit code and
// the log.
func serveInBackground(t *testing.T, args string, env ...string) (url string, end func() (int, string)) {
	t.Helper()
	ctx, stop := context.WithCancel(t.Context())
	t.Cleanup(stop)
	pipe, stderr := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		words := strings.Fields("serve --http 127.0.0.1:0 --drain 0s --notice 0s " + args)
		ended <- Run(ctx, words, env, nil, io.Discard, stderr)
		stderr.Close()
	}()

	start := ""
	log := bufio.NewReader(pipe)
	for url == "" {
		line, err := log.ReadString('\n')
		if err != nil {
			t.Fatal(err)
		}
		start += line
		_, url, _ = strings.Cut(strings.TrimSpace(line), "serving MCP on ")
	}

	rest := make(chan string, 1)
	go func() {
		all, _ := io.ReadAll(log)
		rest <- start + string(all)
	}()
	return url, func() (int, string) {
		stop()
		return <-ended, <-rest
	}
}

// post sends a call, and returns the response.
func post(ctx context.Context, url, body string, header http.Header) (string, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, strings.NewReader(body))
	if err != nil {
		return "", err
	}
	req.Host = header.Get("Host") // "": that of the URL
	req.Header = header
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", "application/json, text/event-stream")

	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return "", err
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	return string(text), err
}

// A call is logged with its trace, and a token of the file that a question contains is not.
// Over HTTP a call is no task, even for a client that takes tasks.
func TestServe(t *testing.T) {
	const token = "0123456789abcdef"
	const trace = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	const question = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
		"name":"answer_detailed",
		"arguments":{"query":"is ` + token + ` a token?"},
		"_meta":{
			"io.modelcontextprotocol/protocolVersion":"2026-07-28",
			"io.modelcontextprotocol/clientInfo":{"name":"codex","version":"1.0"},
			"io.modelcontextprotocol/clientCapabilities":{
				"extensions":{"io.modelcontextprotocol/tasks":{}}
			}
		}
	}}`
	file := writeFile(t, "alice:"+token+"\n")
	const args = "--offline --debug --allowed-host MCP.example:443 " +
		"--public-url https://mcp.example --oauth-issuer http://127.0.0.1:1" // which is down
	url, end := serveInBackground(t, args, "MCP_HTTP_TOKENS_FILE="+file)

	answer, err := post(t.Context(), url, question, http.Header{
		"Host":                 {"mcp.example"},
		"Authorization":        {"Bearer " + token},
		"Traceparent":          {trace},
		"X-Request-Id":         {"proxy-7"},
		"Mcp-Protocol-Version": {"2026-07-28"},
		"Mcp-Method":           {"tools/call"},
		"Mcp-Name":             {"answer_detailed"},
	})
	if !strings.Contains(answer, "used_search") {
		t.Errorf("the call returned %s, error %v", answer, err)
	}

	code, log := end()
	if code != exitOK {
		t.Errorf("exit code %d, want %d", code, exitOK)
	}
	for _, want := range []string{
		"is [redacted] a token?",
		"call_id=proxy-7 traceparent=" + trace + " tool=answer_detailed client=alice " +
			"app=codex/1.0 model=offline outcome=ok request_id=req_",
		"input_tokens=1200 output_tokens=300 searches=0",
		"drain=0s",
		"without --oauth-scope, ID tokens and tokens for other purposes may be accepted",
		"the keys cannot be read",
	} {
		if !strings.Contains(log, want) {
			t.Errorf("the log lacks %q:\n%s", want, log)
		}
	}
	if strings.Contains(log, token) {
		t.Errorf("the log contains the token:\n%s", log)
	}
}

// A response in the background is cancelled at the API when its client has left, and when the
// server ends.
func TestServeCancels(t *testing.T) {
	const question = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
		"name":"answer","arguments":{"query":"x"}}}`
	for _, name := range []string{"the client has left", "the server ends"} {
		t.Run(name, func(t *testing.T) {
			api, err := fakeapi.Start("cut-after=1+slow=1m", "hang")
			if err != nil {
				t.Fatal(err)
			}
			defer api.Close()
			file := writeFile(t, "model_profiles: {answer: {background: true}}\n")
			url, end := serveInBackground(t, "--config "+file,
				"OPENAI_BASE_URL="+api.URL, "OPENAI_API_KEY=sk-test-0123456789")

			ctx, leave := context.WithCancel(t.Context())
			defer leave()
			go post(ctx, url, question, http.Header{})

			wait := func(n int) {
				if err := api.WaitRequests(t.Context(), n); err != nil {
					t.Fatal(err)
				}
			}
			wait(2) // the second one is a GET
			if name == "the server ends" {
				end()
			} else {
				leave()
			}
			wait(3)
			last := api.Requests()[2]
			if !strings.HasSuffix(last.Path, "/cancel") {
				t.Errorf("the last request is %s %s, want a cancel", last.Method, last.Path)
			}
		})
	}
}
