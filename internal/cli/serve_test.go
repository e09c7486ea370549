package cli

import (
	"context"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
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

// ended returns a context with which a server ends as soon as it has started.
func ended(t *testing.T) context.Context {
	ctx, end := context.WithCancel(t.Context())
	end()

	return ctx
}

// checkStart wants that a start ends with one error, and returns stderr.
func checkStart(t *testing.T, env []string, args, want string) (stderr string) {
	t.Helper()
	code, _, stderr := run(ended(t), env, strings.NewReader(""), strings.Fields(args)...)

	checkExit(t, code, exitUsage)

	compare.Contains(t, "stderr", stderr, want)

	if n := strings.Count(stderr, "error: "); n != 1 {
		t.Errorf("%d errors, want 1: %s", n, stderr)
	}
	return stderr
}

const serve = "serve --http 127.0.0.1:0 "

// Wrong flags end the start.
func TestServeFlags(t *testing.T) {
	const needIssuer = "--public-url and the flags of OAuth need --oauth-issuer"
	const (
		whole    = ": must be a whole number of at least 0, with at most 18 digits"
		duration = ": must be a duration of at least 0, such as 90s or 5m"
		address  = ": must be an IP address, such as 192.0.2.1"
	)
	const signIn = "--public-url https://mcp.example.com/mcp --oauth-issuer https://id.example.com "

	checkStart(t, nil, "serve", "serve needs --http ADDRESS")
	for _, tt := range []struct{ args, want string }{
		{"now", `unexpected argument "now"`},
		{"--path mcp", "--path mcp is not a path"},
		{"--path /a?b", "--path /a?b is not a path"},
		{"--path /mcp/", "--path /mcp/ is not a path"},
		{"--path /a/../b", "--path /a/../b is not a path"},
		{"--path /metrics", "--path /metrics is taken"},
		{"--path /.well-known", "--path /.well-known is not a path"},
		{"--log-format xml", `"xml" for --log-format: not one of text, json`},
		{"--drain -1s", `"-1s" for --drain` + duration},
		{"--drain -1ns", `"-1ns" for --drain` + duration},
		{"--notice 90", `"90" for --notice` + duration},
		{"--notice=", `"" for --notice` + duration},
		{"--http=", "serve needs --http ADDRESS, such as 127.0.0.1:8080"},
		{"--http 8080", `--http "8080" is not an address: write 127.0.0.1:8080 or :8080`},

		{"--max-calls 0", "--max-calls 0 is not in 1..10000"},
		{"--max-calls 10001", "--max-calls 10001 is not in 1..10000"},
		{"--max-calls 16 --max-calls-per-user 17", "--max-calls-per-user 17 is more than --max-calls 16"},
		{"--max-calls-per-user 4", "--max-calls-per-user needs bearer tokens"},
		{"--max-calls-per-user -1", `"-1" for --max-calls-per-user` + whole},
		{"--calls-per-hour -1", `"-1" for --calls-per-hour` + whole},
		{"--calls-per-hour=", `"" for --calls-per-hour` + whole},
		{"--max-calls lots", `"lots" for --max-calls` + whole},
		{"--max-calls 0x10", `"0x10" for --max-calls` + whole},
		{"--max-calls 010001", "--max-calls 10001 is not in 1..10000"},
		{"--trusted-proxy proxy", `"proxy" for --trusted-proxy` + address},
		{"--trusted-proxy=", `"" for --trusted-proxy` + address},
		{"--http 0.0.0.0:0", "needs bearer tokens in MCP_HTTP_TOKENS or MCP_HTTP_TOKENS_FILE"},
		{"--public-url https://mcp.example.com/mcp", needIssuer},
		{"--oauth-user email", needIssuer},
		{"--oauth-issuer https://id.example.com", "--oauth-issuer needs --public-url"},
		{signIn + "--oauth-issuer https://a.example,https://a.example", "is given twice"},
		{signIn + "--oauth-audience a,", `--oauth-audience "" is empty`},
		{signIn + "--oauth-scope mcp,", `--oauth-scope "" is not a scope`},
		{signIn + "--allow-anonymous", "--allow-anonymous contradicts bearer tokens"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			checkStart(t, nil, serve+tt.args, tt.want)
		})
	}
}

// A flag has one host, as clients send it: each client would get 403 otherwise.
func TestAllowedHost(t *testing.T) {
	for _, host := range []string{
		"", ":443", "a.example,b.example", "a.example b.example", "a example", "*.example.com",
		"https:a.example", "https://a.example", "a.example/mcp", "a.example:https", "u@a.example",
		"a.example.", ".a.example", "a..example", "[a.example]", "10.0.0.0/8", "::1,::2",
	} {
		t.Run(host, func(t *testing.T) {
			args := append(strings.Fields(serve), "--allowed-host", host)
			code, _, stderr := run(ended(t), nil, nil, args...)

			checkExit(t, code, exitUsage)
			want := " for --allowed-host: must be one host a flag, such as mcp.example.com\n"
			compare.Contains(t, "stderr", stderr, want)
		})
	}

	for host, want := range map[string]string{
		"MCP.example":      "mcp.example",
		"mcp.example:8443": "mcp.example",
		"my_mcp":           "my_mcp",
		"192.0.2.1":        "192.0.2.1",
		"::1":              "::1",
		"[::1]:8080":       "::1",
	} {
		t.Run(host, func(t *testing.T) {
			f := new(serveFlags)
			if err := f.allowHost(host); err != nil {
				t.Fatal(err)
			}
			compare.Equal(t, "hosts", f.hosts, []string{want})
		})
	}
}

// An address that cannot be listened on ends with what to do.
func TestAddressInUse(t *testing.T) {
	ln, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()
	taken := ln.Addr().String()

	for address, want := range map[string]string{
		taken:             "hint: another program uses " + taken + "; choose another port\n",
		"127.0.0.1:99999": "the port must be 0 to 65535\n",
	} {
		t.Run(want, func(t *testing.T) {
			code, _, stderr := run(ended(t), nil, nil, "serve", "--http", address)

			checkExit(t, code, exitFailed)
			compare.Contains(t, "stderr", stderr, want)
		})
	}
}

// The hint about an address is for wrong addresses.
func TestListenHint(t *testing.T) {
	for number, want := range map[syscall.Errno]string{
		syscall.EACCES: "the system refuses this port; choose another, such as 8080",
		syscall.EMFILE: "",
		syscall.EADDRNOTAVAIL: "write an address of this machine, such as 127.0.0.1:8080 or :8080; " +
			"the port must be 0 to 65535",
	} {
		t.Run(number.Error(), func(t *testing.T) {
			err := &net.OpError{Op: "listen", Err: os.NewSyscallError("bind", number)}
			compare.Equal(t, "hint", listenHint(":80", err), want)
		})
	}
}

// The line of the start has the limits that there are, in decimal.
func TestLoggedLimits(t *testing.T) {
	for args, want := range map[string]string{
		"":                     " max_calls=256\n",
		"--max-calls 0100":     " max_calls=100\n",
		"--calls-per-hour 020": " max_calls=256 calls_per_hour=20\n",
		"--tokens-per-day 7 --tokens-per-day-of-all 9": " max_calls=256 tokens_per_day=7 " +
			"tokens_per_day_of_all=9\n",
	} {
		t.Run(args, func(t *testing.T) {
			all := strings.Fields(serve + "--notice 0s --drain 0s " + args)
			_, _, stderr := run(ended(t), nil, nil, all...)

			compare.Contains(t, "stderr", stderr, want)
		})
	}
}

// An address of IPv4 is listened on alone.
func TestListen(t *testing.T) {
	ln, err := listen("0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	defer ln.Close()

	if got := ln.Addr().String(); !strings.HasPrefix(got, "0.0.0.0:") {
		t.Errorf("it listens on %s, want 0.0.0.0", got)
	}
}

// Wrong secrets end the start. The last one of a row appears in no error.
func TestServeSecrets(t *testing.T) {
	const short = "0123456789abcdef"
	const tasks = "MCP_TASK_SECRETS=" + short + short
	for _, tt := range []struct{ name, args, env, want string }{
		{
			"name and token swapped", serve, "MCP_HTTP_TOKENS=" + short + ":alice",
			"the token of entry 1 of MCP_HTTP_TOKENS has fewer than 16 characters",
		},
		{
			"tokens in list and file", serve,
			"MCP_HTTP_TOKENS_FILE=file MCP_HTTP_TOKENS=alice:" + short,
			"MCP_HTTP_TOKENS and MCP_HTTP_TOKENS_FILE are both set",
		},
		{
			"no file of tokens", serve, "MCP_HTTP_TOKENS_FILE=no/such/file",
			"reading MCP_HTTP_TOKENS_FILE: open ",
		},
		{
			"no file of denied people", serve, "MCP_HTTP_DENY_FILE=no/such/file",
			"MCP_HTTP_DENY_FILE: open ",
		},
		{
			"denied people without tokens", serve, "MCP_HTTP_DENY_FILE=" + writeFile(t, "bob"),
			"MCP_HTTP_DENY_FILE needs bearer tokens",
		},
		{
			"a device", serve, "MCP_HTTP_TOKENS_FILE=" + os.DevNull,
			": not a regular file",
		},
		{
			"tokens and anonymous", serve + "--allow-anonymous", "MCP_HTTP_TOKENS=alice:" + short,
			"--allow-anonymous contradicts bearer tokens",
		},
		{
			"short secret of tasks", "--stdio", tasks + "," + short,
			"secret 2 of MCP_TASK_SECRETS has fewer than 32 characters",
		},
		{
			"secrets of tasks in list and file", serve, "MCP_TASK_SECRETS_FILE=file " + tasks,
			"MCP_TASK_SECRETS and MCP_TASK_SECRETS_FILE are both set",
		},
		{
			"a store whose user may be the password", serve, "MCP_STORE_URL=redis://" + short + "@store",
			"MCP_STORE_URL is not valkey://",
		},
		{
			"no URL of a store", "--stdio", "MCP_STORE_URL_FILE=" + writeFile(t, short),
			"MCP_STORE_URL is not valkey://",
		},
		{
			"no secrets of tasks", serve, "MCP_TASK_SECRETS_FILE=" + writeFile(t, " ,\n"),
			"file has no secrets",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			stderr := checkStart(t, strings.Fields(tt.env), tt.args, tt.want)

			if strings.Contains(stderr, short) {
				t.Errorf("stderr has the secret: %s", stderr)
			}
		})
	}
}

// With --log-format json every line of the start is JSON.
func TestServeJSON(t *testing.T) {
	empty := "OPENAI_API_KEY_FILE=" + writeFile(t, "")
	shows := "--config " + writeFile(t, "server: {show_config_on_start: true}")
	for _, tt := range []struct{ name, args, env, want string }{
		{"wrong flag", "--bogus", "", `"level":"ERROR","msg":"unknown flag --bogus"`},
		{"hint", "--bogus", "", `"level":"INFO","msg":"see openai-responses-mcp serve --help"`},
		{"no tokens", "--http :0", "", `"level":"ERROR","msg":"an address other than`},
		{"warning", "", "OPENAI_BASE_URL=http://api.example", `"level":"WARN","msg":"openai.base_url`},
		{"configuration", shows, "", `"server.show_config_on_start":"`},
		{"note", "--offline", "", `"level":"INFO","msg":"offline: answers are samples`},
		{
			"no key", "", "",
			`"level":"WARN","msg":"all calls fail: Missing API key: set OPENAI_API_KEY"`,
		},
		{"no key in the file", "", empty, `"level":"WARN","msg":"reading the key: `},
		{
			"calls without it", "", empty,
			`"msg":"all calls fail: Missing API key: write it to the file of OPENAI_API_KEY_FILE"`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := strings.Fields(serve + "--notice 0s --drain 0s " + tt.args + " --log-format json")
			var stderr strings.Builder
			Run(ended(t), args, strings.Fields(tt.env), nil, io.Discard, &stderr)

			for line := range strings.Lines(stderr.String()) {
				if !gjson.Valid(line) {
					t.Errorf("not JSON: %s", line)
				}
			}

			compare.Contains(t, "stderr", stderr.String(), tt.want)
		})
	}
}
