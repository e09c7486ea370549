package cli

import (
	"bufio"
	"context"
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

	"github.com/spf13/pflag"
	"github.com/tidwall/gjson"

	"github.com/uchimanajet7/openai-responses-mcp/internal/share/budget"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
	"github.com/uchimanajet7/openai-responses-mcp/test/serving"
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
	free, err := listen("127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	same := free.Addr().String()
	free.Close()

	const hint = "hint: another program or flag uses "
	for flags, want := range map[string]string{
		taken:                       hint + taken + "; choose another port\n",
		same + " --metrics " + same: hint + same + "; choose another port\n",
		"127.0.0.1:99999":           "the port must be 0 to 65535\n",
	} {
		t.Run(want, func(t *testing.T) {
			code, _, stderr := run(ended(t), nil, nil, strings.Fields("serve --http "+flags)...)

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
		wsaInUse:       "another program or flag uses :80; choose another port",
		wsaReserved:    "the system refuses this port; choose another, such as 8080",
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
	prices := writeFile(t, "prices: {gpt-5: {input: 1, output: 10}}")
	for _, row := range compare.Table(t, "logged-limits", 2) {
		t.Run(row[0], func(t *testing.T) {
			args := strings.Fields("serve " + quick + " " + strings.Replace(row[0], "PRICES", prices, 1))
			env := []string{"CALLS_PER_HOUR=3", "TOKENS_PER_DAY=4"}
			_, _, stderr := run(ended(t), env, nil, args...)

			compare.Contains(t, "stderr", stderr, " drain=0s "+row[1]+"\n")
		})
	}
}

// The start says which token reads /metrics, unless there is one, and if no token is for calls.
func TestMetricsWarning(t *testing.T) {
	for _, row := range compare.Table(t, "metrics-warnings", 4) {
		t.Run(row[0], func(t *testing.T) {
			args := strings.Fields("serve " + quick + " " + row[1])
			_, _, stderr := run(ended(t), []string{"MCP_HTTP_TOKENS=" + row[2]}, nil, args...)

			got := ""
			for line := range strings.Lines(stderr) {
				_, text, ok := strings.Cut(line, " WRN ")
				if ok && !strings.HasPrefix(text, "the keys cannot be read") {
					got += text
				}
			}
			compare.Equal(t, "warnings", strings.TrimSuffix(got, "\n"), row[3])
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
	const tokens = "MCP_HTTP_TOKENS=alice:0123456789abcdef metrics:0123456789abcDEF"
	page := ""
	served(t, []string{tokens}, quick, func(server string) {
		ask(t, "POST", server+"/mcp", "", "0123456789abcdef")
		page = ask(t, "GET", server+"/metrics", "", "0123456789abcDEF")
	})

	const calls = `openai_responses_mcp_calls_total{tool="answer",client="alice",outcome=`
	compare.Contains(t, "the page", page, calls+"\"ok\"} 1\n")
	compare.Contains(t, "the page", page, calls+"\"cancelled\"} 0\n")
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

// Wrong flags and secrets end the start. The last secret of a row appears in no error.
func TestServeErrors(t *testing.T) {
	const short = "0123456789abcdef"
	for _, row := range compare.Table(t, "serve-errors", 5) {
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

// Each flag of serve changes what the server does: a session with the value in effects.table
// differs from one without it.
func TestEveryFlagHasAnEffect(t *testing.T) {
	issuer := httptest.NewServer(http.HandlerFunc(serveIssuer))
	defer issuer.Close()
	token, err := signed(map[string]any{
		"iss": issuer.URL, "sub": "alice", "email": "alice@example.com", "aud": "api",
	})
	if err != nil {
		t.Fatal(err)
	}
	values := strings.NewReplacer(
		"QUICK", quick,
		"ISSUER", issuer.URL,
		"FILE", writeFile(t, "request: {timeout_ms: 1000}"),
		"PRICES", writeFile(t, "prices: {gpt-5: {input: 1, output: 10}}"),
		"LIMITS", writeFile(t, "alice calls_per_hour=1"),
	)
	effects := map[string][]string{}
	for _, row := range compare.Table(t, "effects", 4) {
		effects[row[0]] = row
	}
	for _, q := range (budget.Limits{}).Quotas() {
		effects[strings.ReplaceAll(q.Setting, "_", "-")] = []string{"", "1", "QUICK --config PRICES", ""}
	}
	c, _, _ := Command().Find([]string{"serve"})
	c.InitDefaultHelpFlag()
	without := map[string]string{} // sessions, by the other flags and variables

	c.Flags().VisitAll(func(f *pflag.Flag) {
		t.Run(f.Name, func(t *testing.T) {
			row := effects[f.Name]
			if row == nil {
				t.Fatal("effects.table has no value of it that changes what the server does")
			}
			typ := f.Value.Type()
			isWords := slices.Contains([]string{"string", "func", "boolfunc"}, typ)
			if expected[typ] == "" && !isWords {
				t.Errorf("the values of the type %s are not checked", typ)
			}
			if _, number := f.Value.(checkedValue); number && f.NoOptDefVal == "" {
				checkStart(t, nil, "serve --"+f.Name+"=-1", `"-1" for --`+f.Name+": must be ")
			}
			others, env := values.Replace(row[2]), row[3]
			base := others + env
			if without[base] == "" {
				without[base] = session(t, token, env, others)
				again := session(t, token, env, others)
				compare.Equal(t, "session with the same flags", again, without[base])
			}

			flag := values.Replace("--" + f.Name + "=" + row[1])
			if session(t, token, env, others+" "+flag) == without[base] {
				t.Errorf("%s changes nothing in:\n%s", flag, without[base])
			}
		})
	})
}

// quick are the flags of a server that ends at once.
const quick = "--http 127.0.0.1:0 --offline --notice 0s --drain 0s"

var (
	at = regexp.MustCompile(`serving MCP on http://[^:]*(:\d+)`)
	// varies matches what varies between sessions with the same flags.
	varies = regexp.MustCompile(`:\d{4,5}\b|\d{4}-\d\d-\d\dT[^ "]*|_0ff11e[0-9a-f]{10}|` +
		`elapsed_ms\D+\d+|(call_id|seconds)\W+[^ ,}]+`)
)

// session runs serve, with a few requests if it starts, also with a token of the issuer. It returns
// what can be seen of them and of the log, in a fixed order.
func session(t *testing.T, token, env, flags string) string {
	t.Helper()
	environ := []string{"MCP_HTTP_TOKENS=bob:0123456789abcdef", "OPENAI_BASE_URL=http://127.0.0.1:9",
		"OPENAI_MAX_RETRIES=0", env}
	var seen []string
	log := served(t, environ, flags, func(server string) {
		for _, r := range [][4]string{ // method, path, Host and token
			{"POST", "/mcp", "", "0123456789abcdef"},
			{"POST", "/mcp", "", token},
			{"GET", "/mcp", "mcp.example.com", "0123456789abcdef"},
			{"GET", "/.well-known/oauth-protected-resource", "", "0123456789abcdef"},
		} {
			seen = append(seen, ask(t, r[0], server+r[1], r[2], r[3]))
		}
	})
	for line := range strings.Lines(log) {
		seen = append(seen, strings.TrimSpace(line))
	}
	for n, line := range seen {
		seen[n] = varies.ReplaceAllString(line, "…")
	}
	slices.Sort(seen)
	return strings.Join(seen, "\n")
}

// served runs serve until use, which is called if it starts, and with an issuer when its keys were
// read, has returned. It returns the log.
func served(t *testing.T, env []string, flags string, use func(server string)) (log string) {
	t.Helper()
	ctx, end := context.WithTimeout(t.Context(), time.Minute)
	defer end()
	out, stderr := io.Pipe()
	go func() {
		code := Run(ctx, strings.Fields("serve "+flags), append(env, "OPENAI_API_KEY=sk-one"), nil,
			stderr, stderr)
		fmt.Fprintln(stderr, "exit code", code)
		stderr.Close()
	}()

	ready := "serving MCP on"
	if strings.Contains(flags, "--oauth-issuer") {
		ready = "the keys were read"
	}
	for lines := bufio.NewScanner(out); lines.Scan(); {
		log += lines.Text() + "\n"
		isReady := strings.Contains(lines.Text(), ready)
		if m := at.FindStringSubmatch(log); m != nil && isReady {
			use("http://127.0.0.1" + m[1])
			end()
		}
	}
	return log
}

// ask sends a request with a call of a tool to a server, and returns the response.
func ask(t *testing.T, method, url, host, token string) (seen string) {
	t.Helper()
	req := serving.Request(t.Context(), method, url, token, `{"jsonrpc":"2.0","id":1,"method":"tools/call",`+
		`"params":{"name":"answer","arguments":{"query":"x"}}}`)
	req.Host = host
	req.Header.Set("X-Forwarded-For", "192.0.2.1")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Error(err)
		return ""
	}
	defer res.Body.Close()
	body, _ := io.ReadAll(res.Body)
	return fmt.Sprint(method, url, host, res.Status, res.Header["Www-Authenticate"], string(body))
}
