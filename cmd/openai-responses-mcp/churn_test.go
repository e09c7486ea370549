//go:build linux

package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/fakeapi"
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

// lane is one of the users of a session. It sends one message after the other,
// and knows what each must result in.
type lane struct {
	t    *testing.T
	c    *client
	api  *fakeapi.Server
	name string
	rand *rand.Rand
	n    int // of messages
}

// run sends messages until end.
func (l *lane) run(end time.Time) {
	for time.Now().Before(end) {
		l.n++
		switch l.rand.IntN(12) {
		case 0:
			l.put(ping(l.id()))
			l.want(`"result":{}`)
		case 1:
			l.put(call(l.id(), "answer", `{"query":""}`))
			l.want(`"code":-32001`)
		case 2:
			l.put(call(l.id(), "none", `{}`))
			l.want(`"code":-32601`)
		case 3:
			l.put(cancelled(l.id())) // not in flight
		default:
			l.call()
		}
	}
}

func (l *lane) id() string { return fmt.Sprintf(`"%s-%d"`, l.name, l.n) }

// put sends a message in one of the framings.
func (l *lane) put(message string) {
	if l.rand.IntN(2) == 0 {
		message = framed(message)
	} else {
		message += "\n"
	}
	l.c.put(message)
}

func (l *lane) want(text string) {
	if m := l.c.want(l.id()); !strings.Contains(m.raw, text) {
		l.t.Errorf("answer %s, want %s", m.raw, text)
	}
}

// call sends a call and cancels some.
func (l *lane) call() {
	kind := churn[l.rand.IntN(len(churn))]
	question := kind.step + " " + l.id()
	message := call(l.id(), []string{"answer", "answer_detailed", "answer_quick"}[l.rand.IntN(3)], fmt.Sprintf(`{"query":%q}`, question))
	if l.rand.IntN(2) == 0 || strings.Contains(kind.step, "after") && kind.result == "nothing" {
		message = watched(message)
	}
	l.put(message)
	if kind.result == "nothing" || l.rand.IntN(5) == 0 {
		for range l.rand.IntN(4) { // round trips, so that calls are cancelled at different times
			l.c.line(ping(`"` + l.name + `"`))
			l.c.want(`"` + l.name + `"`)
		}
		l.put(cancelled(l.id()))
		// The id is free, so the answer to a ping has it. The call may have been
		// answered before it was cancelled, but not afterwards.
		l.put(ping(l.id()))
		if m := l.c.want(l.id()); !strings.Contains(m.raw, `"result":{}`) {
			if kind.result == "nothing" {
				l.t.Errorf("a hanging call was answered: %s", m.raw)
			}
			l.want(`"result":{}`)
		}
		return
	}
	m := l.c.want(l.id())
	answered := strings.Contains(m.raw, `"used_search`)
	if want := kind.result; want != "either" && answered != (want == "answer") {
		l.t.Errorf("%s: %s, want %s", question, m.raw, want)
	}
	if repeated := strings.Contains(m.raw, l.name+"-"+strconv.Itoa(l.n)+`\\\"`); answered && kind.step != "refusal" && !repeated {
		l.t.Errorf("%s: answer to another question: %s", question, m.raw)
	}
}

// state is what a server uses when no call runs.
type state struct{ goroutines, descriptors, rss int }

// idle stops the API, waits until its connections are closed, and dumps the
// goroutines, which ends the server.
func idle(t *testing.T, c *client, stop func(), descriptors int) (s state) {
	t.Helper()
	stop()
	dir := fmt.Sprintf("/proc/%d/", c.cmd.Process.Pid)
	for end := time.Now().Add(patience); ; time.Sleep(10 * time.Millisecond) {
		files, err := os.ReadDir(dir + "fd")
		if err != nil {
			t.Fatal(err)
		}
		if s.descriptors = len(files); s.descriptors <= descriptors || time.Now().After(end) {
			break
		}
	}
	status, err := os.ReadFile(dir + "status")
	if err != nil {
		t.Fatal(err)
	}
	if m := regexp.MustCompile(`VmRSS:\s+(\d+) kB`).FindSubmatch(status); m != nil {
		s.rss, _ = strconv.Atoi(string(m[1]))
	}
	if err := c.cmd.Process.Signal(syscall.SIGQUIT); err != nil {
		t.Fatal(err)
	}
	c.end()
	// The idle goroutines of the runtime come and go.
	for stack := range bytes.SplitSeq([]byte(c.log()), []byte("\n\n")) {
		if bytes.HasPrefix(stack, []byte("goroutine ")) && bytes.Contains(stack, []byte("openai-responses-mcp")) {
			s.goroutines++
		}
	}
	return s
}

// In one session calls, cancellations and faults go on side by side. Every call
// is answered once or cancelled, and afterwards the server uses what it used
// before.
func TestChurn(t *testing.T) {
	t.Parallel()
	begin := func() (*client, *fakeapi.Server, func()) {
		api, env, stop := newAPI(t)
		t.Cleanup(stop)
		api.Choose(func(question string) fakeapi.Step {
			word, _, _ := strings.Cut(question, " ")
			step, err := fakeapi.ParseStep(word)
			if err != nil {
				t.Error(err)
			}
			return step
		})
		c := start(t, program(t.TempDir(), append(env, "OPENAI_MAX_RETRIES=0"), "--stdio"))
		t.Cleanup(func() { _ = c.cmd.Process.Kill() })
		c.begin().line(watched(ask("1", "ok 1")))
		c.want("1")
		return c, api, stop
	}
	c, _, stop := begin()
	files, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", c.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	before := idle(t, c, stop, len(files)-1) // without the connection to the API

	c, api, stop := begin()
	seed := uint64(time.Now().UnixNano())
	length := 3 * time.Second
	end := time.Now().Add(length)
	var lanes sync.WaitGroup
	var total int
	var mu sync.Mutex
	for i := range 16 {
		l := &lane{t: t, c: c, api: api, name: "lane" + strconv.Itoa(i), rand: rand.New(rand.NewPCG(seed, uint64(i)))}
		lanes.Go(func() {
			l.run(end)
			mu.Lock()
			defer mu.Unlock()
			total += l.n
		})
	}
	lanes.Wait()
	c.line(ping(`"last"`))
	c.want(`"last"`)
	c.mu.Lock()
	for _, m := range c.unread {
		if !m.progress && m.id != "" {
			t.Errorf("answered twice, or after it was cancelled: %s", m.raw)
		}
	}
	for line := range strings.Lines(c.stderr.String()) {
		if !strings.Contains(line, "warning: ") { // of refused parameters, one each
			t.Errorf("stderr: %s", line)
		}
	}
	c.mu.Unlock()
	after := idle(t, c, stop, before.descriptors)
	t.Logf("seed %d: %d messages, %d requests; before %+v, after %+v", seed, total, len(api.Requests()), before, after)
	if after.goroutines != before.goroutines || after.descriptors > before.descriptors || after.rss > before.rss*3/2 {
		t.Errorf("before %+v, after %+v:\n%s", before, after, c.log())
	}
}
