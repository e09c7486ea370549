//go:build unix

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// The 257th call waits for one of 256.
func TestCallLimit(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always hang")
	c.begin()
	for i := range 257 {
		c.line(ask(fmt.Sprint(i), "x"))
	}
	await(t, api.WaitRequests, 256)

	// A request that should not be there has a second to arrive.
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if api.WaitRequests(ctx, 257) == nil {
		t.Error("257 requests, want 256")
	}

	for i := range 256 { // One of them may be the call that waits.
		c.line(cancelled(fmt.Sprint(i)))
	}
	await(t, api.WaitRequests, 257)
}

// A session without calls has 5 goroutines and 8 files. On a busy machine more may not have ended
// yet. A leak has hundreds.
const (
	maxGoroutines = 50
	maxFiles      = 50
)

// lane sends calls one after the other, in one of the framings, cancels some, and knows what each
// must result in. Kinds are the rows of churn.table.
func lane(t *testing.T, c *client, name string, kinds [][]string) {
	send := func(message string) {
		if rand.IntN(2) == 0 {
			message = framed(message)
		}
		c.line(message)
	}

	for n := range 80 {
		kind := kinds[rand.IntN(len(kinds))]
		call := fmt.Sprintf("%s-%d", name, n)
		id := strconv.Quote(call)
		message := ask(id, kind[0]+" "+call+";")
		if rand.IntN(2) == 0 {
			message = withProgress(message)
		}
		send(message)

		want := strings.ReplaceAll(kind[1], "ID", call)
		if want != "" && rand.IntN(5) > 0 {
			m := c.want(id)
			compare.Contains(t, "answer to "+kind[0], m.raw, want)
			continue
		}

		for range rand.IntN(4) { // round trips, so that calls are cancelled at different times
			c.line(ping(strconv.Quote(name)))
			c.want(strconv.Quote(name))
		}
		send(cancelled(id))
		send(ping(id)) // whose answer shows that the id is free

		// The call may have been answered before it was cancelled, but not afterwards.
		m := c.want(id)
		ping := strings.Contains(m.raw, `"result":{}`)
		if !ping {
			c.want(id)
			if want == "" {
				t.Errorf("a hanging call was answered: %s", m.raw)
			}
		}
	}
}

// files returns the number of the server's open files, 0 where that cannot be seen.
func files(c *client) int {
	files, _ := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	return len(files)
}

// In one session calls, cancellations and faults go on side by side. Every call is answered once or
// cancelled, and afterwards the server uses what it used before.
func TestChurn(t *testing.T) {
	compare.SkipShort(t, "makes 1,280 calls")
	t.Parallel()
	c, api := serve(t, "always asked")
	c.begin()

	kinds := compare.Table(t, "churn", 2)
	var lanes sync.WaitGroup
	for i := range 16 {
		lanes.Go(func() { lane(t, c, fmt.Sprint("lane", i), kinds) })
	}
	lanes.Wait()
	for line := range strings.Lines(c.log()) {
		if !strings.Contains(line, "warning: ") { // of refused parameters, one each
			t.Errorf("stderr: %s", line)
		}
	}

	api.Close() // The server closes its connections to the API, which has ended.
	if !poll(func() bool { return files(c) <= maxFiles }) {
		t.Errorf("%d open files, want at most %d", files(c), maxFiles)
	}

	c.cmd.Process.Signal(syscall.SIGQUIT) // dumps the goroutines
	for _, m := range c.end(2) {
		if m.id != "" {
			t.Errorf("answered twice, or after it was cancelled: %s", m.raw)
		}
	}

	// The idle goroutines of the runtime, which come and go, run no code of the program.
	dump := c.log()
	c.stderr.Reset() // A stack trace is a failure otherwise.
	n := 0
	for stack := range strings.SplitSeq(dump, "\n\n") {
		if strings.HasPrefix(stack, "goroutine ") && strings.Contains(stack, "/internal/") {
			n++
		}
	}
	if n == 0 || n > maxGoroutines {
		t.Errorf("%d goroutines, want 1 to %d:\n%s", n, maxGoroutines, dump)
	}
}
