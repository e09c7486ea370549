package stdio

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// session is a connection with its client's ends of the pipes.
type session struct {
	t   *testing.T
	c   interface{ Close() error }
	r   func() (jsonrpc.Message, error)
	w   func(jsonrpc.Message) error
	in  *io.PipeWriter
	out *bufio.Scanner
}

func connect(t *testing.T, ctx context.Context) *session {
	t.Helper()
	in, input := io.Pipe()
	output, out := io.Pipe()
	c, err := (&Transport{In: in, Out: out, Log: slog.New(slog.DiscardHandler)}).Connect(ctx)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _, _ = c.Close(), input.Close(), output.Close() })
	return &session{
		t: t, c: c, in: input, out: bufio.NewScanner(output),
		r: func() (jsonrpc.Message, error) { return c.Read(ctx) },
		w: func(m jsonrpc.Message) error { return c.Write(ctx, m) },
	}
}

// send sends lines and returns what the SDK reads first.
func (s *session) send(lines ...string) *jsonrpc.Request {
	s.t.Helper()
	go func() { _, _ = io.WriteString(s.in, strings.Join(lines, "\n")+"\n") }()
	m, err := s.r()
	if err != nil {
		s.t.Fatal(err)
	}
	return m.(*jsonrpc.Request)
}

func (s *session) receive(want string) {
	s.t.Helper()
	if !s.out.Scan() || s.out.Text() != want {
		s.t.Fatalf("received %q, want %q", s.out.Text(), want)
	}
}

const (
	aCall   = `{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"_meta":{"progressToken":%s}}}`
	aCancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%s}}`
)

// A response and a notification that wait because the client is slow to read
// are dropped if their call is cancelled meanwhile. Afterwards the id is free.
func TestCancelWhileAnswerWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, t.Context())
		for _, id := range []string{"1", "2"} {
			id := s.send(fmt.Sprintf(aCall, id, id)).ID
			go func() {
				_ = s.w(&jsonrpc.Request{Method: methodProgress, Params: fmt.Appendf(nil, `{"progressToken":%q,"progress":1}`, id.Raw())})
				_ = s.w(&jsonrpc.Response{ID: id, Result: []byte(`{}`)})
			}()
			synctest.Wait() // the first is being written, the others wait
		}
		if m := s.send(fmt.Sprintf(aCancel, "2")); m.Method != methodCancelled {
			t.Errorf("the SDK reads %s, want the cancellation", m.Method)
		}
		again := s.send(fmt.Sprintf(aCall, "2", "2"))
		s.receive(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`)
		s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		go func() { _ = s.w(&jsonrpc.Response{ID: again.ID, Result: []byte(`{"again":1}`)}) }()
		s.receive(`{"jsonrpc":"2.0","id":2,"result":{"again":1}}`)
	})
}

func TestIDsAndTokensComeBackAsSent(t *testing.T) {
	for _, id := range []string{"9007199254740993", "1.5", "-0", `"x"`, `"é\" 1"`, `"\u00e9"`, `""`, "1e3"} {
		synctest.Test(t, func(t *testing.T) {
			s := connect(t, t.Context())
			m := s.send(fmt.Sprintf(aCall, id, id))
			go func() {
				_ = s.w(&jsonrpc.Request{Method: methodProgress, Params: fmt.Appendf(nil, `{"progressToken":%q,"message":"<b>"}`, m.ID.Raw())})
				_ = s.w(&jsonrpc.Response{ID: m.ID, Result: []byte(`{"a":"<b>"}`)})
			}()
			s.receive(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":` + id + `,"message":"<b>"}}`)
			s.receive(`{"jsonrpc":"2.0","id":` + id + `,"result":{"a":"<b>"}}`)
		})
	}
}

// The end of the input is passed on when all calls are answered.
func TestEndOfInput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := connect(t, t.Context())
		id := s.send(fmt.Sprintf(aCall, "1", "1")).ID
		s.in.Close()
		began := time.Now()
		go func() {
			time.Sleep(time.Hour)
			_ = s.w(&jsonrpc.Response{ID: id, Result: []byte(`{}`)})
		}()
		go func() {
			time.Sleep(2 * time.Hour)
			s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
		}()
		if _, err := s.r(); !errors.Is(err, io.EOF) || time.Since(began) != 2*time.Hour {
			t.Errorf("Read = %v after %v, want EOF after 2h", err, time.Since(began))
		}
	})
}

// A session ends although its input is silent and its output is not read.
func TestEndWithoutClient(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		s := connect(t, ctx)
		first, second := s.send(fmt.Sprintf(aCall, "1", "1")).ID, s.send(fmt.Sprintf(aCall, "2", "2")).ID
		errs := make(chan error, 3)
		go func() { errs <- s.w(&jsonrpc.Response{ID: first, Result: []byte(`{}`)}) }()
		go func() { errs <- s.w(&jsonrpc.Response{ID: second, Result: []byte(`{}`)}) }()
		go func() { _, err := s.r(); errs <- err }()
		synctest.Wait()
		cancel()
		for range 3 {
			if err := <-errs; !errors.Is(err, context.Canceled) {
				t.Errorf("the session ends with %v, want %v", err, context.Canceled)
			}
		}
	})
}

// Only a message shows how the client reads, not garbage. Before the first one
// both kinds of clients can read the errors.
func TestFraming(t *testing.T) {
	var out strings.Builder
	tr := &Transport{
		In:  strings.NewReader("{broken\n42\n" + framed("[]") + "warning: late\n" + `{"jsonrpc":"2.0","id":null,"method":"x"}` + "\n"),
		Out: &out,
		Log: slog.New(slog.DiscardHandler),
	}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Read(t.Context()); !errors.Is(err, io.EOF) {
		t.Fatalf("Read = %v, want EOF", err)
	}
	const (
		notJSON = `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"Parse error: not JSON"}}`
		invalid = `{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"Invalid Request: not a JSON-RPC 2.0 request"}}`
	)
	want := framed(notJSON+"\n") + framed(invalid+"\n") + framed(invalid) + framed(notJSON) + invalid + "\n"
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		ping:                                   "ping",
		notice:                                 "notifications/initialized",
		`{"jsonrpc":"2.0","id":1,"result":{}}`: "",
		`{"jsonrpc":"2.0","id":"a","error":{"code":1}}`:               "",
		`{"jsonrpc":"2.0","id":1}`:                                    "invalid",
		`{"jsonrpc":"2.0","result":{}}`:                               "invalid",
		`{"jsonrpc":"1.0","id":1,"method":"ping"}`:                    "invalid",
		`{"JSONRPC":"2.0","id":1,"method":"ping"}`:                    "invalid",
		`{"id":1,"method":"ping"}`:                                    "invalid",
		`{"jsonrpc":"2.0","id":1,"method":""}`:                        "invalid",
		`{"jsonrpc":"2.0","id":1,"method":5,"result":1}`:              "invalid",
		`{"jsonrpc":"2.0","id":null,"method":"ping"}`:                 "invalid",
		`{"jsonrpc":"2.0","id":true,"method":"ping"}`:                 "invalid",
		`{"jsonrpc":"2.0","id":{},"method":"ping"}`:                   "invalid",
		`{"jsonrpc":"2.0","id":1,"method":"notifications/cancelled"}`: "invalid",
		"[" + ping + "]": "invalid", // batches are not part of MCP 2025-06-18
		`"ping"`:         "invalid",
		`null`:           "invalid",
	} {
		m, err := parse([]byte(in))
		got := m.method
		if err != nil {
			got = "invalid"
		}
		if got != want {
			t.Errorf("parse(%s) = %q, want %q", in, got, want)
		}
	}
}

// The errors of the SDK quote params, those for the client do not.
func TestWireError(t *testing.T) {
	quoting := fmt.Errorf("handling 'tools/call': unmarshaling %q", "CONTENT")
	for _, tt := range []struct {
		method string
		err    error
		want   string
	}{
		{"tools/call", quoting, "-32602 handling 'tools/call': invalid params"},
		{"tools/call", fmt.Errorf("a: %w: unmarshaling %q", &jsonrpc.Error{Code: -32602, Message: "b"}, "CONTENT"), "-32602 a: b"},
		{"tools/list", errors.New("too early"), "-32600 too early"},
		{"unknown/method", errors.New("too early"), `-32601 method not found: "unknown/method"`},
		{"ping", &jsonrpc.Error{Code: -32001, Message: "x"}, "-32001 x"},
	} {
		e := wireError(tt.method, tt.err)
		if got := fmt.Sprint(e.Code, " ", e.Message); got != tt.want {
			t.Errorf("wireError(%q, %q) = %q, want %q", tt.method, tt.err, got, tt.want)
		}
	}
}
