package stdio

import (
	"bufio"
	"fmt"
	"io"
	"log/slog"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// session is a connection with its client's ends of the pipes.
type session struct {
	mcp.Connection
	t   *testing.T
	in  *io.PipeWriter
	out *bufio.Scanner
}

func connect(t *testing.T) *session {
	in, input := io.Pipe()
	output, out := io.Pipe()
	transport := &Transport{In: in, Out: out, Log: slog.New(slog.DiscardHandler)}
	c, _ := transport.Connect(t.Context())

	t.Cleanup(func() {
		_ = c.Close()
		_ = input.Close()
		_ = output.Close()
	})
	return &session{
		Connection: c,
		t:          t,
		in:         input,
		out:        bufio.NewScanner(output),
	}
}

// send sends a line and returns what the SDK reads.
func (s *session) send(format string, args ...any) *jsonrpc.Request {
	s.t.Helper()
	if _, err := fmt.Fprintf(s.in, format+"\n", args...); err != nil {
		s.t.Fatal(err)
	}
	m, err := s.Read(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return m.(*jsonrpc.Request)
}

// answer writes progress and a result, as the SDK does.
func (s *session) answer(r *jsonrpc.Request, result string) {
	params := fmt.Appendf(nil, `{"progressToken":%v}`, r.ID.Raw())
	for _, m := range []jsonrpc.Message{
		&jsonrpc.Request{Method: "notifications/progress", Params: params},
		&jsonrpc.Response{ID: r.ID, Result: []byte(result)},
	} {
		if err := s.Write(s.t.Context(), m); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *session) receive(want string) {
	s.t.Helper()
	if !s.out.Scan() || s.out.Text() != want {
		s.t.Fatalf("received %q, want %q", s.out.Text(), want)
	}
}

// Messages about the calls 1 and 2: what the client sends, and what it gets.
const (
	aCall = `{"jsonrpc":"2.0","id":%d,"method":"tools/call",` +
		`"params":{"_meta":{"progressToken":%[1]d}}}`
	aCancel = `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
		`"params":{"requestId":%d}}`
	progress1 = `{"jsonrpc":"2.0","method":"notifications/progress",` +
		`"params":{"progressToken":1}}`
	progress2 = `{"jsonrpc":"2.0","method":"notifications/progress",` +
		`"params":{"progressToken":2}}`
)

// The messages of a call that wait because the client is slow to read are dropped if the call is
// cancelled meanwhile. Afterwards its id is free.
func TestCancelWhileAnswerWaits(t *testing.T) {
	s := connect(t)
	first := s.send(aCall, 1)
	second := s.send(aCall, 2)

	go s.answer(first, `{}`)
	s.receive(progress1)
	s.send(aCancel, 2)
	go s.answer(second, `{}`)

	again := s.send(aCall, 2)
	s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	go s.answer(again, `{"again":1}`)
	s.receive(progress2)
	s.receive(`{"jsonrpc":"2.0","id":2,"result":{"again":1}}`)
}

// initialize cannot be cancelled.
func TestCancelInitialize(t *testing.T) {
	s := connect(t)
	first := s.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	next := s.send(aCancel+"\n"+notice, 1)
	if next.Method != "notifications/initialized" {
		t.Errorf("the SDK gets %s, want the notification", next.Method)
	}

	response := &jsonrpc.Response{ID: first.ID, Result: []byte(`{}`)}
	go func() { _ = s.Write(t.Context(), response) }() // ends with receive
	s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}
