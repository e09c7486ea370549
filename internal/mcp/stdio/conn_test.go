package stdio

import (
	"fmt"
	"io"
	"log/slog"
	"runtime"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/uchimanajet7/openai-responses-mcp/internal/mcp/rpc"
)

// messages is a stdout that the client reads message by message.
type messages chan string

func (m messages) Write(p []byte) (int, error) {
	m <- string(p)
	return len(p), nil
}

// session is a connection with its client's ends.
type session struct {
	mcp.Connection
	t   *testing.T
	in  io.Writer
	out messages
}

var methods = rpc.Methods{
	"initialize": rpc.Optional[any],
	"tools/call": rpc.Optional[any],
}

func connect(t *testing.T) *session {
	in, input := io.Pipe()
	t.Cleanup(func() { _ = input.Close() })
	out := make(messages)
	transport := &Transport{In: in, Out: out, Methods: methods, Log: slog.New(slog.DiscardHandler)}
	c, _ := transport.Connect(t.Context())

	return &session{c, t, input, out}
}

// send sends lines and returns what the SDK reads.
func (s *session) send(lines string) *jsonrpc.Request {
	s.t.Helper()
	_, _ = io.WriteString(s.in, lines+"\n")
	m, err := s.Read(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	return m.(*jsonrpc.Request)
}

// answer writes progress and a result, as the SDK does.
func (s *session) answer(r *jsonrpc.Request, result string) {
	params := fmt.Appendf(nil, `{"progressToken":%q}`, r.ID.Raw())
	progress := &jsonrpc.Request{Method: "notifications/progress", Params: params}
	_ = s.Write(s.t.Context(), progress)
	_ = s.Write(s.t.Context(), &jsonrpc.Response{ID: r.ID, Result: []byte(result)})
}

func (s *session) receive(want string) {
	s.t.Helper()
	if got := <-s.out; got != want+"\n" {
		s.t.Fatalf("received %q, want %q", got, want)
	}
}

// Messages about the calls 1 and 2: what the client sends, and what it gets.
const (
	call1 = `{"jsonrpc":"2.0","id":1,"method":"tools/call",` +
		`"params":{"_meta":{"progressToken":1}}}`
	call2 = `{"jsonrpc":"2.0","id":2,"method":"tools/call",` +
		`"params":{"_meta":{"progressToken":2}}}`
	cancel1 = `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
		`"params":{"requestId":1}}`
	cancel2 = `{"jsonrpc":"2.0","method":"notifications/cancelled",` +
		`"params":{"requestId":2}}`
	progress1 = `{"jsonrpc":"2.0","method":"notifications/progress",` +
		`"params":{"progressToken":1}}`
	progress2 = `{"jsonrpc":"2.0","method":"notifications/progress",` +
		`"params":{"progressToken":2}}`
)

// The messages of a call that wait because the client is slow to read are dropped if the call is
// cancelled meanwhile. Afterwards its id is free.
func TestCancelWhileAnswerWaits(t *testing.T) {
	s := connect(t)
	first := s.send(call1)
	second := s.send(call2)

	go s.answer(first, `{}`)
	s.receive(progress1)
	s.send(cancel2)
	go s.answer(second, `{}`)

	again := s.send(call2)
	s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
	go s.answer(again, `{"again":1}`)
	s.receive(progress2)
	s.receive(`{"jsonrpc":"2.0","id":2,"result":{"again":1}}`)
}

// initialize cannot be cancelled.
func TestCancelInitialize(t *testing.T) {
	s := connect(t)
	first := s.send(`{"jsonrpc":"2.0","id":1,"method":"initialize"}`)
	next := s.send(cancel1 + "\n" + notice)
	if next.Method != "notifications/initialized" {
		t.Errorf("the SDK gets %s, want the notification", next.Method)
	}

	response := &jsonrpc.Response{ID: first.ID, Result: []byte(`{}`)}
	go func() { _ = s.Write(t.Context(), response) }() // ends with receive
	s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}

// A client that does not read its refusals is read all the same, so its later messages arrive. What
// is kept of the refused messages has not their size.
func TestUnreadRefusals(t *testing.T) {
	s := connect(t)
	const n = 64
	large := strings.Repeat("x", 1<<20)
	for id := range n {
		fmt.Fprintf(s.in, `{"jsonrpc":"2.0","id":%d,"method":"none","params":{"x":%q}}`+"\n", id+10, large)
	}
	call := s.send(call1)
	_, _ = io.WriteString(s.in, call1+"\n") // its id is in use

	var kept runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&kept)
	if mib := kept.HeapAlloc >> 20; mib > n/2 {
		t.Errorf("%d MiB are kept, want at most %d", mib, n/2)
	}
	for range n + 1 {
		<-s.out
	}
	go s.answer(call, `{}`)
	s.receive(progress1)
	s.receive(`{"jsonrpc":"2.0","id":1,"result":{}}`)
}
