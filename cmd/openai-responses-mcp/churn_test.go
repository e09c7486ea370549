//go:build linux

package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// A session without calls has 5 goroutines and 8 files. Some more may not have
// ended yet. A leak has hundreds.
const (
	maxGoroutines = 10
	maxFiles      = 20
)

// What the API does with a question is its first word, a step of fakeapi. The
// result is what the client must get: an answer, an error, or nothing, because
// the call hangs until it is cancelled. "either" is an answer or an error.
var churn = []struct{ step, result string }{
	{"ok", "answer"},
	{"weather", "answer"},
	{"search+slow=1ms", "answer"},
	{"delay=20ms", "answer"},
	{"refuses=store", "answer"},
	{"incomplete", "answer"},
	{"refusal", "answer"},
	{"404", "error"},
	{"quota", "error"},
	{"cut", "error"},
	{"truncated", "error"},
	{"garbage", "error"},
	{"empty", "error"},
	{"failed", "error"},
	{"error", "error"},
	{"ok+cut-after=6", "either"},
	{"hang", "nothing"},
	{"ok+hang-after=4+delay=1ms", "nothing"},
}

// lane is one of the users of a session. It sends one call after the other, and
// knows what each must result in.
type lane struct {
	*client
	t    *testing.T
	name string
	rand *rand.Rand
	n    int // of calls
}

func (l *lane) id() string { return fmt.Sprintf(`"%s-%d"`, l.name, l.n) }

// send sends a message in one of the framings.
func (l *lane) send(message string) { l.put([]string{framed(message), message + "\n"}[l.rand.IntN(2)]) }

// call sends a call and cancels some.
func (l *lane) call() {
	l.n++
	kind := churn[l.rand.IntN(len(churn))]
	question := kind.step + " " + l.id()
	message := call(l.id(), []string{"answer", "answer_detailed", "answer_quick"}[l.rand.IntN(3)], fmt.Sprintf(`{"query":%q}`, question))
	if l.rand.IntN(2) == 0 || strings.Contains(kind.step, "hang-after") {
		message = watched(message)
	}
	l.send(message)
	if kind.result == "nothing" || l.rand.IntN(5) == 0 {
		for range l.rand.IntN(4) { // round trips, so that calls are cancelled at different times
			l.line(ping(`"` + l.name + `"`))
			l.want(`"` + l.name + `"`)
		}
		l.send(cancelled(l.id()))
		// The id is free, so the answer to a ping has it. The call may have been
		// answered before it was cancelled, but not afterwards.
		l.send(ping(l.id()))
		if m := l.want(l.id()); !strings.Contains(m.raw, `"result":{}`) {
			if kind.result == "nothing" {
				l.t.Errorf("a hanging call was answered: %s", m.raw)
			}
			l.want(l.id())
		}
		return
	}
	m := l.want(l.id())
	answered := strings.Contains(m.raw, `"used_search`)
	if want := kind.result; want != "either" && answered != (want == "answer") {
		l.t.Errorf("%s: %s, want %s", question, m.raw, want)
	}
	if answered && kind.step != "refusal" && !strings.Contains(m.raw, strings.Trim(l.id(), `"`)+`\\\"`) {
		l.t.Errorf("%s: answer to another question: %s", question, m.raw)
	}
}

// open returns the number of the server's open files.
func open(t *testing.T, c *client) int {
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	return len(files)
}

// In one session calls, cancellations and faults go on side by side. Every call
// is answered once or cancelled, and afterwards the server uses what it used
// before.
func TestChurn(t *testing.T) {
	t.Parallel()
	c, api := serve(t, "always asked", "OPENAI_MAX_RETRIES=0")
	c.begin()
	seed, end := uint64(time.Now().UnixNano()), time.Now().Add(3*time.Second)
	var lanes sync.WaitGroup
	for i := range 16 {
		l := &lane{client: c, t: t, name: fmt.Sprint("lane", i), rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		lanes.Go(func() {
			for time.Now().Before(end) {
				l.call()
			}
		})
	}
	lanes.Wait()
	c.line(ping(`"last"`))
	c.want(`"last"`)
	for line := range strings.Lines(c.log()) {
		if !strings.Contains(line, "warning: ") { // of refused parameters, one each
			t.Errorf("stderr: %s", line)
		}
	}
	// The server closes its connections to the API, which has ended.
	api.Close()
	for end := time.Now().Add(patience); open(t, c) > maxFiles && time.Now().Before(end); {
		time.Sleep(10 * time.Millisecond)
	}
	if n := open(t, c); n > maxFiles {
		t.Errorf("%d open files, want at most %d", n, maxFiles)
	}
	_ = c.cmd.Process.Signal(syscall.SIGQUIT) // dumps the goroutines
	rest, dump := c.end(2), c.log()
	c.stderr.Reset() // A stack trace is a failure otherwise.
	goroutines := 0
	for stack := range strings.SplitSeq(dump, "\n\n") {
		// The idle goroutines of the runtime come and go.
		if strings.HasPrefix(stack, "goroutine ") && strings.Contains(stack, "openai-responses-mcp") {
			goroutines++
		}
	}
	if goroutines == 0 || goroutines > maxGoroutines {
		t.Errorf("%d goroutines, want at most %d:\n%s", goroutines, maxGoroutines, dump)
	}
	for _, m := range rest {
		if m.id != "" {
			t.Errorf("answered twice, or after it was cancelled: %s", m.raw)
		}
	}
	t.Logf("seed %d: %d messages, %d goroutines", seed, len(c.all), goroutines)
}
