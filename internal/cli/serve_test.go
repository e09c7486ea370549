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
	for _, row := range compare.Table(t, "serve-secrets", 5) {
		t.Run(row[0], func(t *testing.T) {
			values := strings.NewReplacer("SHORT", short, "DEVICE", os.DevNull)
			file := writeFile(t, values.Replace(row[2]))
			env := strings.Replace(values.Replace(row[3]), "PATH", file, 1)
			args := strings.Replace(row[1], "serve", serve, 1)
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
