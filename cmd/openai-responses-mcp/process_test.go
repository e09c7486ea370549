//go:build unix

package main

import (
	"bufio"
	"encoding/pem"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/uchimanajet7/openai-responses-mcp/test/apitest"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// A signal ends a session whose client does not read.
func TestSignalWithFullPipe(t *testing.T) {
	t.Parallel()
	c := prepare(t, program(t.TempDir(), "--stdio")).launch()
	go c.put(strings.Repeat(ping("1")+"\n", 20000)) // ends with the server
	io.ReadFull(c.stdout, make([]byte, 1))          // The server writes.

	c.cmd.Process.Signal(syscall.SIGTERM)
	c.stdout = http.NoBody // exit reads stdout, and the pipe is still full
	c.exit(0)
}

// A full stderr that is not read stops no request, also not the first one of a client for which a
// line says what it gets.
func TestStderrNotRead(t *testing.T) {
	t.Parallel()
	unread, stderr, _ := os.Pipe()
	defer unread.Close()
	stderr.SetWriteDeadline(time.Now().Add(time.Second / 10))
	stderr.Write(make([]byte, 1<<20))

	c := prepare(t, program(t.TempDir(), "--stdio"))
	c.cmd.Stderr = stderr
	go c.launch().read()
	c.line(strings.Replace(initialize, `"test"`, `"codex-mcp-client"`, 1))
	c.want(`"init"`)
}

// A pipe of root certificates that is not written takes no call longer than its time, and the error
// names it. Once it is written, calls work.
func TestRootsPipe(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "darwin" {
		t.Skip("SSL_CERT_FILE is not read there")
	}
	api, err := apitest.New()
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(api)
	defer server.Close()
	dir := t.TempDir()
	pipe := filepath.Join(dir, "roots.pem")
	err = unix.Mkfifo(pipe, 0o600)
	if err != nil {
		t.Fatal(err)
	}

	c := start(t, program(dir, "--stdio", "SSL_CERT_FILE="+pipe, "OPENAI_API_KEY="+key,
		"OPENAI_BASE_URL="+server.URL+"/v1", "OPENAI_API_TIMEOUT=8000")).begin()
	for i := range 256 {
		c.line(ask(fmt.Sprint(i), "x"))
	}
	for i := range 256 {
		compare.Contains(t, "result", c.want(fmt.Sprint(i)).raw, "the certificates of "+pipe)
	}

	block := &pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}
	err = os.WriteFile(pipe, pem.EncodeToMemory(block), 0o600)
	if err != nil {
		t.Fatal(err)
	}
	c.line(ask("1", "x"))
	compare.Contains(t, "result", c.want("1").raw, "resolved_model")
	c.eof()
}

// Another process that has the same pipes may make them non-blocking. Neither reading from an empty
// pipe nor writing to a full one fails then.
func TestNonblockingPipes(t *testing.T) {
	t.Parallel()
	c := prepare(t, program(t.TempDir(), "--stdio"))
	var ends []int // those of the server, which it shares with the test
	for _, end := range []any{c.cmd.Stdin, c.cmd.Stdout} {
		fd, _ := unix.FcntlInt(end.(*os.File).Fd(), unix.F_DUPFD_CLOEXEC, 0)
		ends = append(ends, fd)
	}
	c.launch()

	r := bufio.NewReader(c.stdout)
	for range 100 {
		c.line(ping("1"))
		if m, err := readMessage(r); m.id != "1" {
			t.Fatalf("got %q, %v\n%s", m.raw, err, c.log())
		}

		// The server has begun with blocking pipes.
		for _, fd := range ends {
			if err := unix.SetNonblock(fd, true); err != nil {
				t.Fatal(err)
			}
			unix.Close(fd)
		}
		ends = nil
	}

	const n = 20000
	for i := range n { // the answers fill the pipe
		c.line(ping(fmt.Sprint(i)))
	}

	c.stdin.Close()
	answers := 0
	for _, err := readMessage(r); err == nil; _, err = readMessage(r) {
		answers++
	}

	c.exit(0)
	compare.Equal(t, "answers", answers, n)
}

// Steps of the API.
const (
	retrySteps      = "429=250"                  // the last call waits
	backgroundSteps = "cut-after=1+slow=1m hang" // the stream of a response breaks
)

// Commands end with the reader of their output and with a signal, and their exit code says which it
// was. Without a reader a session ends at once too, and its calls with it, while stdin stays open.
// A session answers nothing after a signal. A response in the background is cancelled at the API.
func TestCommandsEnd(t *testing.T) {
	t.Parallel()
	// Programs do not get SIGHUP as ignored, even if this test runs under nohup.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	t.Cleanup(func() { signal.Stop(hangups) })
	signals := map[string]os.Signal{
		"TERM": syscall.SIGTERM,
		"INT":  os.Interrupt,
		"HUP":  syscall.SIGHUP,
	}
	for _, row := range compare.Table(t, "ends", 4) {
		t.Run(strings.Join(row, " "), func(t *testing.T) {
			t.Parallel()
			args, steps, sig := row[0], row[1], signals[row[2]]
			if steps == "CUT" {
				steps = backgroundSteps
			}
			api, env := newAPI(t, strings.Fields(steps)...)
			words := append(env, strings.Fields(args)...)
			c := prepare(t, program(home(t, inBackground), words...))
			if steps == "" {
				c.stdout.Close()
			}
			c.launch()
			c.line(initialize)
			c.line(ask("1", "x"))

			switch steps {
			case "":
			case retrySteps:
				c.logged("status=429")
				c.stdin.Close()
			case backgroundSteps:
				await(t, api.WaitRequests, 2) // the second one is a GET
			default:
				await(t, api.WaitRequests, 1)
			}

			if sig != nil {
				c.cmd.Process.Signal(sig)
			} else {
				c.stdout.Close()
			}

			code, _ := strconv.Atoi(row[3])
			c.exit(code)
			if strings.Contains(c.log(), "error: ") {
				t.Errorf("stderr: %s", c.log())
			}
			if out := c.output(); strings.Contains(out, `"error"`) {
				t.Errorf("an answer after the signal: %s", out)
			}

			switch steps {
			case "hang":
				await(t, api.WaitAborted, 1)
			case backgroundSteps:
				wantCancel(t, api, 3)
			}
		})
	}
}

// after returns a command after one of the shell.
func after(shell string, cmd *exec.Cmd) *exec.Cmd {
	cmd.Args = append([]string{"sh", "-c", shell + `; exec "$0" "$@"`, cmd.Path}, cmd.Args[1:]...)
	cmd.Path = "/bin/sh"
	return cmd
}

// SIGHUP does not end a command that was started with SIGHUP ignored, as nohup does.
func TestNohup(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "delay=300ms")
	cmd := program(t.TempDir(), append(env, "ask", "x")...)
	c := prepare(t, after(`trap "" HUP`, cmd)).launch()
	await(t, api.WaitRequests, 1)
	c.cmd.Process.Signal(syscall.SIGHUP)
	c.exit(0)
}

// SIGHUP does not end serve. The log has the limits at the start, and a last line, which comes
// after that of a late call whose retry ends with the process.
func TestServeSignals(t *testing.T) {
	t.Parallel()
	api, env := newAPI(t, "failed+slow=2s", "ok", "hang") // for a POST, a GET and a POST
	r := newReplica(t, env, overHTTP+late+"--max-calls 8 --metrics 127.0.0.1:0")
	begin := regexp.MustCompile(`/mcp version=\S+ metrics=127\.0\.0\.1:0 ` +
		`timeout=5m0s drain=5m0s max_calls=8 max_calls_per_user=2\n`)
	if !begin.MatchString(r.log()) {
		t.Errorf("the log is %s, want %s", r.log(), begin)
	}

	r.cmd.Process.Signal(syscall.SIGHUP)
	compare.Contains(t, "after SIGHUP", r.post(t.Context(), alice, ping("1")), `"result"`)

	r.late("x")
	await(t, api.WaitRequests, 3)
	terminate(r)
	r.logged("outcome=error kind=shutdown")
	if !strings.HasSuffix(r.log(), " INF stopped\n") {
		t.Errorf("the log ends with %s", r.log())
	}
}

// The log warns of a low limit of open files and of a setting without effect, and has the cause of
// a failed connection and the address that a trusted proxy names.
func TestServeWarnings(t *testing.T) {
	t.Parallel()
	args := strings.Fields(overHTTP + late + "OPENAI_MAX_RETRIES=0 --trusted-proxy 127.0.0.1 " +
		"MCP_STORE_URL=redis://127.0.0.1:1 --without-store refuse " + nowhere)
	cmd := program(home(t, ""), append(args, anyKey)...)
	r := startReplica(t, after("ulimit -n 256", cmd), true)
	r.logged("warning: answer_within_ms has no effect over HTTP: no profile sets background\n")
	r.logged("until it works, calls that have a limit are refused")
	if runtime.GOOS == "linux" {
		r.logged(" limit=256 needed=1418\n")
	}

	r.header = http.Header{"X-Forwarded-For": {"6.6.6.6, 192.0.2.7"}}
	r.post(t.Context(), "wrong", ping("1"))
	r.logged(` INF rejected status=401 reason="invalid token" remote=192.0.2.7 count=1` + "\n")
	r.post(t.Context(), alice, ask("1", "x"))
	r.logged(" WRN call ")
	r.logged(" outcome=error kind=connection cause=refused ")
}

// wantCancel wants that request n cancels a response.
func wantCancel(t *testing.T, api *apitest.Server, n int) {
	t.Helper()
	await(t, api.WaitRequests, n)
	if path := api.Requests()[n-1].Path; !strings.HasSuffix(path, "/cancel") {
		t.Errorf("request %d is %s, want a cancel", n, path)
	}
}
