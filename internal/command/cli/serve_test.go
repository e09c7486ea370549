package cli

import (
	"bufio"
	"context"
	"crypto/ed25519"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/spf13/pflag"
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
	checkStart(t, nil, "serve", "serve needs --http ADDRESS")
	for _, row := range compare.Table(t, "serve-flags", 2) {
		t.Run(row[0], func(t *testing.T) {
			checkStart(t, nil, serve+row[0], row[1])
		})
	}
}

// A flag has one host, as clients send it: each client would get 403 otherwise.
func TestAllowedHost(t *testing.T) {
	for _, row := range compare.Table(t, "allowed-hosts", 2) {
		host, want := row[0], row[1]
		t.Run(host, func(t *testing.T) {
			f := new(serveFlags)
			if want == "" {
				args := append(strings.Fields(serve), "--allowed-host", host)
				code, _, stderr := run(ended(t), nil, nil, args...)
				checkExit(t, code, exitUsage)
				compare.Contains(t, "stderr", stderr,
					" for --allowed-host: must be one host a flag, such as mcp.example.com\n")
			} else if err := f.allowHost(host); err != nil {
				t.Error(err)
			}
			compare.Equal(t, "hosts", strings.Join(f.hosts, " "), want)
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
	const configured = " max_calls=256 calls_per_hour=3 tokens_per_day=4\n"
	prices := writeFile(t, "prices: {gpt-5: {input: 1, output: 10}}")
	for args, want := range map[string]string{
		"":                     configured,
		"--max-calls 0100":     " max_calls=100 calls_per_hour=3 tokens_per_day=4\n",
		"--calls-per-hour 020": " max_calls=256 calls_per_hour=20 tokens_per_day=4\n",
		"--tokens-per-day 7 --tokens-per-day-of-all 9": " max_calls=256 calls_per_hour=3 " +
			"tokens_per_day=7 tokens_per_day_of_all=9\n",
		"--calls-per-hour 0": " max_calls=256 tokens_per_day=4\n", // no limit
		"--tokens-per-day 0": " max_calls=256 calls_per_hour=3\n",
		"--tokens-per-day-of-all 0 --max-calls-per-user 0": configured,
		"--usd-per-day 2.50 --usd-per-day-of-all 100 --config " + prices: " max_calls=256 " +
			"calls_per_hour=3 tokens_per_day=4 usd_per_day=2.5 usd_per_day_of_all=100\n",
	} {
		t.Run(args, func(t *testing.T) {
			all := strings.Fields(serve + "--notice 0s --drain 0s " + args)
			env := []string{"CALLS_PER_HOUR=3", "TOKENS_PER_DAY=4"}
			_, _, stderr := run(ended(t), env, nil, all...)

			compare.Contains(t, "stderr", stderr, " drain=0s"+want)
		})
	}
}

// The start says which token reads /metrics, unless there is one, and if no token is for calls.
func TestMetricsWarning(t *testing.T) {
	const (
		alice     = "alice:0123456789abcdef"
		bob       = " bob:0123456789abcdeF"
		reader    = " metrics:0123456789abcDEF"
		elsewhere = "; --metrics ADDRESS serves it without one on an address of its own"
		signIn    = "--public-url https://mcp.example.com/mcp --oauth-scope mcp --oauth-issuer http://127.0.0.1:9 "
	)
	for _, tt := range []struct{ name, flags, tokens, want string }{
		{"no token", "", "", ""},
		{"two names", "", alice + bob,
			"/metrics needs a token of MCP_HTTP_TOKENS named metrics" + elsewhere},
		{"one name", "", alice,
			"/metrics needs a token of MCP_HTTP_TOKENS named metrics or alice" + elsewhere},
		{"one name, sign-in", signIn, alice,
			"/metrics needs a token of MCP_HTTP_TOKENS named metrics" + elsewhere},
		{"sign-in", signIn, "",
			"/metrics needs a token of MCP_HTTP_TOKENS named metrics" + elsewhere},
		{"an address of its own", "--metrics 127.0.0.1:0", alice, ""},
		{"its token", "", alice + reader, ""},
		{"its token, sign-in", signIn, reader, ""},
		{"its token alone", "", reader,
			"all calls get 403: a token named metrics opens /metrics only, and there is no other"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			args := strings.Fields(serve + "--notice 0s --drain 0s --offline " + tt.flags)
			_, _, stderr := run(ended(t), []string{"MCP_HTTP_TOKENS=" + tt.tokens}, nil, args...)

			got := ""
			for line := range strings.Lines(stderr) {
				_, text, ok := strings.Cut(line, " WRN ")
				if ok && !strings.HasPrefix(text, "the keys cannot be read") {
					got += text
				}
			}
			compare.Equal(t, "warnings", strings.TrimSuffix(got, "\n"), tt.want)
		})
	}
}

// The flags in the files for Compose, Kubernetes and systemd start a server.
func TestRecipes(t *testing.T) {
	for file, pattern := range map[string]string{
		"compose.yaml":                         `(?m)^    - (serve|--\S+)`,
		"kubernetes/deployment.yaml":           `args: \[(.+)\]`,
		"systemd/openai-responses-mcp.service": `ExecStart=\S+ (.+)`,
	} {
		t.Run(file, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("../../../config", file))
			if err != nil {
				t.Fatal(err)
			}
			line := ""
			for _, match := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
				line += match[1] + " "
			}
			line = regexp.MustCompile(`[\d.]*:(8080|9090)`).ReplaceAllString(line, "127.0.0.1:0")
			line = strings.NewReplacer(",", " ", `"`, "", "${DOMAIN:?set", "mcp.example.com").Replace(line)

			env := []string{"MCP_HTTP_TOKENS=alice:0123456789abcdef"}
			code, _, stderr := run(ended(t), env, nil, strings.Fields(line+"--notice=0s")...)
			checkExit(t, code, 0)
			compare.Contains(t, "stderr of "+line, stderr, "stopped")
		})
	}
}

// A call begins the series of its person: those of calls that are cancelled are 0.
func TestServedMetrics(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	log, stderr := io.Pipe()
	go func() {
		args := strings.Fields(serve + "--offline --notice 0s --drain 0s")
		environ := []string{"MCP_HTTP_TOKENS=alice:0123456789abcdef metrics:0123456789abcDEF"}
		Run(ctx, args, environ, nil, io.Discard, stderr)
		stderr.Close()
	}()

	for lines := bufio.NewScanner(log); lines.Scan(); {
		m := at.FindStringSubmatch(lines.Text())
		if m == nil {
			continue
		}
		go io.Copy(io.Discard, log)
		server := "http://127.0.0.1" + m[1]
		issuer{Token: "none"}.ask(t, server) // alice calls

		req, err := http.NewRequestWithContext(ctx, http.MethodGet, server+"/metrics", nil)
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", "Bearer 0123456789abcDEF")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		page, _ := io.ReadAll(res.Body)
		res.Body.Close()
		const calls = `openai_responses_mcp_calls_total{tool="answer",client="alice",outcome=`
		compare.Contains(t, "the page", string(page), calls+"\"ok\"} 1\n")
		compare.Contains(t, "the page", string(page), calls+"\"cancelled\"} 0\n")
		return
	}
	t.Error("the server did not start")
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
	for _, row := range compare.Table(t, "serve-secrets", 5) {
		t.Run(row[0], func(t *testing.T) {
			values := strings.NewReplacer("SHORT", short, "DEVICE", os.DevNull)
			file := writeFile(t, values.Replace(row[2]))
			env := strings.Replace(values.Replace(row[3]), "PATH", file, 1)
			args := strings.NewReplacer("serve", serve, "PATH", file).Replace(row[1])
			stderr := checkStart(t, strings.Fields(env), args, row[4])

			if strings.Contains(stderr, short) {
				t.Errorf("stderr has the secret: %s", stderr)
			}
		})
	}
}

// With --log-format json every line of the start is JSON.
func TestServeJSON(t *testing.T) {
	for _, row := range compare.Table(t, "serve-json", 5) {
		t.Run(row[0], func(t *testing.T) {
			path := strings.NewReplacer("PATH", writeFile(t, row[2]))
			flags := path.Replace("--notice 0s --drain 0s --log-format json " + row[1])
			args := strings.Fields(serve + flags)
			var stderr strings.Builder
			Run(ended(t), args, strings.Fields(path.Replace(row[3])), nil, io.Discard, &stderr)

			for line := range strings.Lines(stderr.String()) {
				if !gjson.Valid(line) {
					t.Errorf("not JSON: %s", line)
				}
			}

			compare.Contains(t, "stderr", stderr.String(), row[4])
		})
	}
}

// effects has for each flag of serve a value that changes what the server does, the other flags,
// with and without it, and variables.
var effects = map[string][3]string{
	"http":                  {"127.0.0.1:0", "--offline"},
	"metrics":               {"127.0.0.1:0", serving},
	"path":                  {"/team", serving},
	"max-calls":             {"7", serving},
	"max-calls-per-user":    {"7", serving},
	"calls-per-hour":        {"1", serving},
	"tokens-per-day":        {"1", serving},
	"tokens-per-day-of-all": {"1", serving},
	"limits":                {"LIMITS", serving},
	"usd-per-day":           {"1", priced},
	"usd-per-day-of-all":    {"1", priced},
	"without-store":         {"refuse", serving, "MCP_STORE_URL=redis://127.0.0.1:1"},
	"notice":                {"1ms", "--http 127.0.0.1:0 --offline --drain 0s --notice 0s"},
	"drain":                 {"1m", "--http 127.0.0.1:0 --offline --notice 0s"},
	"log-format":            {"json", serving},
	"allowed-host":          {"mcp.example.com", serving},
	"trusted-proxy":         {"127.0.0.1", serving},
	"allow-anonymous":       {"true", "--http 0.0.0.0:0 --offline --notice 0s", "MCP_HTTP_TOKENS="},
	"public-url":            {publicURL, serving + " --oauth-issuer ISSUER"},
	"oauth-issuer":          {"ISSUER", serving + " --public-url " + publicURL},
	"oauth-audience":        {"api", signingIn},
	"oauth-scope":           {"mcp", signingIn},
	"oauth-user":            {"email", signingIn + " --oauth-audience api"},
	"config":                {"FILE", serving},
	"model":                 {"gpt-6", strings.Replace(serving, " --offline", "", 1)},
	"offline":               {"true", strings.Replace(serving, " --offline", "", 1)},
	"debug":                 {"true", serving},
	"help":                  {"true", serving},
}

const (
	publicURL = "https://mcp.example.com/mcp"
	serving   = "--http 127.0.0.1:0 --offline --notice 0s --drain 0s"
	priced    = serving + " --config PRICES"
	signingIn = serving + " --oauth-issuer ISSUER --public-url " + publicURL
)

// Each flag of serve changes what the server does: a session with a value differs from one without
// it.
func TestEveryFlagHasAnEffect(t *testing.T) {
	issuer := newIssuer(t)
	file := writeFile(t, "request: {timeout_ms: 1000}")
	prices := writeFile(t, "prices: {gpt-5: {input: 1, output: 10}}")
	values := strings.NewReplacer("ISSUER", issuer.URL, "FILE", file, "PRICES", prices,
		"LIMITS", writeFile(t, "alice calls_per_hour=1"))
	c, _, _ := Command().Find([]string{"serve"})
	c.InitDefaultHelpFlag()
	without := map[[2]string]string{} // sessions, by the other flags and variables

	c.Flags().VisitAll(func(f *pflag.Flag) {
		t.Run(f.Name, func(t *testing.T) {
			row, listed := effects[f.Name]
			if !listed {
				t.Fatal("effects has no value of it that changes what the server does")
			}
			if _, number := f.Value.(checkedValue); number && f.NoOptDefVal == "" {
				checkStart(t, nil, "serve --"+f.Name+"=-1", `"-1" for --`+f.Name+": must be ")
			}
			others, env := values.Replace(row[1]), row[2]
			base := [2]string{others, env}
			if without[base] == "" {
				without[base] = session(t, issuer, env, others)
				again := session(t, issuer, env, others)
				compare.Equal(t, "session with the same flags", again, without[base])
			}

			flag := values.Replace("--" + f.Name + "=" + row[0])
			if session(t, issuer, env, others+" "+flag) == without[base] {
				t.Errorf("%s changes nothing in:\n%s", flag, without[base])
			}
		})
	})
}

// issuer is where people sign in, with the token of one of them.
type issuer struct{ URL, Token string }

// newIssuer starts an issuer, where alice signs in.
func newIssuer(t *testing.T) (i issuer) {
	key := ed25519.NewKeyFromSeed(make([]byte, ed25519.SeedSize))
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(map[string]any{ // metadata, and keys
			"issuer":   i.URL,
			"jwks_uri": i.URL,
			"keys":     []jose.JSONWebKey{{Key: key.Public()}},
		})
	}))
	t.Cleanup(s.Close)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.EdDSA, Key: key}, nil)
	if err != nil {
		t.Fatal(err)
	}
	i.URL = s.URL
	i.Token, err = jwt.Signed(signer).Claims(map[string]any{
		"iss": i.URL, "sub": "alice", "email": "alice@example.com", "aud": "api",
		"exp": time.Now().Add(time.Hour).Unix(),
	}).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return i
}

var (
	at = regexp.MustCompile(`serving MCP on http://[^:]*(:\d+)`)
	// varies matches what varies between sessions with the same flags.
	varies = regexp.MustCompile(`:\d{4,5}\b|\d{4}-\d\d-\d\dT[^ "]*|_0ff11e[0-9a-f]{10}|` +
		`elapsed_ms\D+\d+|(call_id|seconds)\W+[^ ,}]+`)
)

// session runs serve, with a few requests if it starts. It returns what can be seen of them and of
// the log, in a fixed order.
func session(t *testing.T, i issuer, env, flags string) string {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	defer end()
	log, stderr := io.Pipe()
	go func() {
		environ := []string{"MCP_HTTP_TOKENS=bob:0123456789abcdef", "OPENAI_API_KEY=sk-one",
			"OPENAI_BASE_URL=http://127.0.0.1:9", "OPENAI_MAX_RETRIES=0", env}
		code := Run(ctx, strings.Fields("serve "+flags), environ, nil, stderr, stderr)
		fmt.Fprintln(stderr, "exit code", code)
		stderr.Close()
	}()

	var seen []string
	for lines := bufio.NewScanner(log); lines.Scan(); {
		seen = append(seen, lines.Text())
		m := at.FindStringSubmatch(lines.Text())
		if m != nil {
			seen = append(seen, i.ask(t, "http://127.0.0.1"+m[1])...)
			end()
		}
	}
	for n, line := range seen {
		seen[n] = varies.ReplaceAllString(line, "…")
	}
	slices.Sort(seen)
	return strings.Join(seen, "\n")
}

// ask sends requests to a server, and returns its responses.
func (i issuer) ask(t *testing.T, server string) (seen []string) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"name":"answer","arguments":{"query":"x"}}}`
	for _, r := range [][4]string{ // method, path, Host and token
		{"POST", "/mcp", "", "0123456789abcdef"},
		{"POST", "/mcp", "", i.Token},
		{"GET", "/mcp", "mcp.example.com", "0123456789abcdef"},
		{"GET", "/.well-known/oauth-protected-resource", "", "0123456789abcdef"},
	} {
		req, err := http.NewRequestWithContext(t.Context(), r[0], server+r[1], strings.NewReader(call))
		if err != nil {
			t.Error(err)
			return nil
		}
		req.Host = r[2]
		req.Header.Set("Authorization", "Bearer "+r[3])
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept", "application/json, text/event-stream")
		req.Header.Set("X-Forwarded-For", "192.0.2.1")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Error(err)
			return nil
		}
		body, _ := io.ReadAll(res.Body)
		res.Body.Close()
		seen = append(seen, fmt.Sprint(r[:3], res.Status, res.Header["Www-Authenticate"], string(body)))
	}
	return seen
}
