package main_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
)

// A client that does not read holds up no call, and its answers no more memory
// than they may: at some point it is not heard any more either. When it reads
// again nothing is missing.
func TestClientDoesNotRead(t *testing.T) {
	t.Parallel()
	const calls = 64 // of which about forty are enough
	big := strings.Repeat("a", 512<<10)
	var enough atomic.Bool
	answered := make(chan struct{}, calls)
	a := rawAPI(t, func(w http.ResponseWriter, r *http.Request) {
		text := big
		if enough.Load() {
			text = "small"
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"id":"resp_1","status":"completed","output":[%s]}`, said(text, "[]"))
		answered <- struct{}{}
	})
	c := begin(t, setup{api: a, config: "responses: { stream: false }\n"})
	listen := c.deafen()
	done := make(chan error, 1)
	go func() { // one after the other: each call is answered while nobody reads the one before
		for i := range calls {
			call := strings.Replace(ask(strconv.Itoa(i), "x"), `"params":{`, `"params":{"_meta":{"progressToken":`+strconv.Itoa(i)+`},`, 1)
			if err := c.send(call + "\n"); err != nil {
				done <- err
				return
			}
			<-answered
		}
		done <- nil
	}()
	warned := make(chan error, 1)
	go func() { warned <- c.stderr.wait(c.ctx, "the client does not read its answers") }()
	select {
	case err := <-done:
		t.Fatalf("%d answers of 512 KiB were taken while nobody read (%v)", calls, err)
	case err := <-warned:
		if err != nil {
			t.Fatal(err)
		}
	}
	enough.Store(true)
	// 16 MiB wait and the program itself has 13; the collector lets about as
	// much lie, and what each call took for its copies of half a MiB.
	checkPeak(t, c, 128)
	listen()
	for i := range calls {
		if m := c.want(strconv.Itoa(i)); !strings.Contains(m.raw, `"result":{`) {
			t.Errorf("answer %d is none: %.200s", i, m.raw)
		}
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	checkProgress(t, c.done())
	if n := strings.Count(c.stderr.String(), "\n"); n != 1 {
		t.Errorf("stderr holds %d lines, want one warning:\n%s", n, c.stderr)
	}
}

// checkProgress wants what is not asked for to be progress, of each call in its
// order.
func checkProgress(t *testing.T, rest []message) {
	t.Helper()
	last := map[float64]float64{}
	for _, m := range rest {
		var n struct {
			Version string `json:"jsonrpc"`
			Method  string `json:"method"`
			Params  struct {
				Token    float64 `json:"progressToken"`
				Progress float64 `json:"progress"`
				Message  string  `json:"message"`
			} `json:"params"`
		}
		decode(t, m.raw, &n)
		if n.Method != "notifications/progress" || n.Params.Progress <= last[n.Params.Token] {
			t.Errorf("more came than answers: %.200s", m.raw)
		}
		last[n.Params.Token] = n.Params.Progress
	}
}

// Calls go on behind a full pipe: their requests are made, they can be taken
// back, and only what nobody wants any more is missing when the client reads.
func TestCancelBehindFullPipe(t *testing.T) {
	t.Parallel()
	c := begin(t, setup{api: newAPI(t, "text="+strings.Repeat("a", 256<<10), "hang", "hang")})
	listen := c.deafen()
	c.line(pinging("0")) // read already when the client went deaf
	c.line(ask("1", "fills the pipe"))
	c.requests(1)
	c.line(ask("2", "hang"), ask("3", "hang"))
	c.requests(3)
	c.line(cancelling("2"))
	if err := c.api.WaitAborted(c.ctx, 1); err != nil {
		t.Fatal(err)
	}
	c.line(ask("4", "HTTP 404"))
	c.requests(4)
	c.line(cancelling("3"))
	listen()
	c.want("1").answered(t)
	c.want("4").answered(t)
	if rest := c.done(); slices.ContainsFunc(rest, func(m message) bool { return m.id != "0" }) {
		t.Errorf("more came: %v", rest)
	}
}

// An output that takes nothing is the end: at once, with what it says, and with
// an exit code that tells it from a client that has gone.
func TestStdoutFull(t *testing.T) {
	t.Parallel()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Skip("a device without room is one of Linux alone")
	}
	defer full.Close()
	a := newAPI(t, "always", "hang")
	cmd := exec.CommandContext(t.Context(), binary, "--stdio")
	cmd.Env = environment(t.TempDir(), "OPENAI_BASE_URL="+a.url, "OPENAI_API_KEY="+key)
	stderr := &buffer{}
	cmd.Stdout, cmd.Stderr = full, stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := fmt.Fprintln(in, initialize+"\n"+initialized); err != nil {
		t.Fatal(err)
	}
	// The far end of stdin stays open: it is stdout that ends the program.
	if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 1 {
		t.Errorf("the program ended with %v, want exit code 1", err)
	}
	_ = in.Close()
	if got := stderr.String(); strings.Count(got, "\n") > 2 || !strings.Contains(got, "writing ") || !strings.Contains(got, "stdout: ") || !strings.Contains(got, "no space left") {
		t.Errorf("stderr: %s, want what could not be written, why, and a hint", got)
	}
}
