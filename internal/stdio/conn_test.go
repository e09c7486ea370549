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
	params := fmt.Appendf(nil, `{"progressToken":%v,"message":"<b>"}`, r.ID.Raw())
	for _, m := range []jsonrpc.Message{
		&jsonrpc.Request{Method: "notifications/progress", Params: params},
		&jsonrpc.Response{ID: r.ID, Result: []byte(result)},
	} {
		if err := s.Write(s.t.Context(), m); err != nil {
			s.t.Error(err)
		}
	}
}

func (s *session) receive(lines ...string) {
	s.t.Helper()
	for _, want := range lines {
		if !s.out.Scan() || s.out.Text() != want {
			s.t.Fatalf("received %q, want %q", s.out.Text(), want)
		}
	}
}

// Messages about a call: what the client sends, and what it gets.
const (
	aCall = `{"jsonrpc":"2.0","id":%s,"method":"tools/call",` +
		`"params":{"_meta":{"progressToken":%[1]s}}}`
	aCancel = `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
		`"params":{"requestId":%s}}`
	progress = `{"jsonrpc":"2.0","method":"notifications/progress",` +
		`"params":{"progressToken":%s,"message":"<b>"}}`
	result = `{"jsonrpc":"2.0","id":%s,"result":%s}`
)

// The messages of a call that wait because the client is slow to read are dropped if the call is
// cancelled meanwhile. Afterwards its id is free.
func TestCancelWhileAnswerWaits(t *testing.T) {
	s := connect(t)
	first := s.send(aCall, "1")
	second := s.send(aCall, "2")

	go s.answer(first, `{}`)
	s.receive(fmt.Sprintf(progress, "1"))
	s.send(aCancel, "2")
	go s.answer(second, `{}`)

	again := s.send(aCall, "2")
	s.receive(fmt.Sprintf(result, "1", `{}`))
	go s.answer(again, `{"again":1}`)
	s.receive(fmt.Sprintf(progress, "2"), fmt.Sprintf(result, "2", `{"again":1}`))
}

func TestIDsAndTokensComeBackAsSent(t *testing.T) {
	ids := []string{"9007199254740993", "1.5", "-0", `"x"`, `"é\" 1"`, `"\u00e9"`, `""`, "1e3"}
	for _, id := range ids {
		t.Run(id, func(t *testing.T) {
			s := connect(t)
			go s.answer(s.send(aCall, id), `{"a":"<b>"}`)
			s.receive(fmt.Sprintf(progress, id), fmt.Sprintf(result, id, `{"a":"<b>"}`))
		})
	}
}
