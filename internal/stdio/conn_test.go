package stdio

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// TestCancelWhileStdoutIsFull: a client that does not read can still take a
// call back, also when refusals wait for it.
func TestCancelWhileStdoutIsFull(t *testing.T) {
	read, write := io.Pipe() // nobody reads: the first Write blocks
	tr := &Transport{
		In: strings.NewReader(`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{}}` + "\n" +
			strings.Repeat("garbage\n", 10) +
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}` + "\n"),
		Out:     write,
		Methods: []string{"tools/call"},
		Log:     slog.New(slog.DiscardHandler),
	}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _, _ = c.Close(), read.Close(), write.Close() }()
	var got []string
	for range 2 {
		m, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, m.(*jsonrpc.Request).Method)
	}
	if diff := cmp.Diff([]string{"tools/call", cancelled}, got); diff != "" {
		t.Errorf("read (-want +got):\n%s", diff)
	}
}

// TestCancelWhileAnswerWaits: an answer that is ready and waits for its turn,
// because the client is slow to read the one before, is still taken back.
func TestCancelWhileAnswerWaits(t *testing.T) {
	in, input := io.Pipe()
	output, out := io.Pipe()
	tr := &Transport{In: in, Out: out, Methods: []string{"tools/call"}, Log: slog.New(slog.DiscardHandler)}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _, _, _ = c.Close(), input.Close(), output.Close() }()
	read := func(message string) *jsonrpc.Request {
		t.Helper()
		go func() { _, _ = io.WriteString(input, message+"\n") }()
		m, err := c.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return m.(*jsonrpc.Request)
	}
	const call = `{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"_meta":{"progressToken":%[1]d}}}`
	var ids []jsonrpc.ID
	for i := range 3 {
		ids = append(ids, read(fmt.Sprintf(call, i)).ID)
	}
	for i, id := range ids { // the first is being written, the others wait
		told := &jsonrpc.Request{Method: notifyProgress, Params: fmt.Appendf(nil, `{"progressToken":%d}`, i+1)}
		if err := c.Write(t.Context(), told); err != nil {
			t.Fatal(err)
		}
		if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: []byte(`{}`)}); err != nil {
			t.Fatal(err)
		}
	}
	// Were the call not in flight any more, the notification behind would be read.
	if m := read(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}{"jsonrpc":"2.0","method":"x"}`); m.Method != cancelled {
		t.Errorf("read %s, want the cancellation", m.Method)
	}
	if m, err := c.Read(t.Context()); err != nil || m.(*jsonrpc.Request).Method != "x" {
		t.Errorf("Read = %v, %v, want x", m, err)
	}
	lines := bufio.NewScanner(output)
	for _, want := range []string{`"progressToken":0`, `"id":0`, `"progressToken":2`, `"id":2`} {
		if !lines.Scan() || !strings.Contains(lines.Text(), want) {
			t.Fatalf("the client reads %q, want %s", lines.Text(), want)
		}
	}
}

// TestFramingSurvivesGarbage: what is no message says nothing about how the
// client reads. Before the first message both kinds of reader can.
func TestFramingSurvivesGarbage(t *testing.T) {
	var out strings.Builder
	tr := &Transport{
		In: strings.NewReader("{broken\n" +
			framed(`{"jsonrpc":"2.0","id":1,"method":"x"}`) +
			"[WARN] late\n42\n" +
			`{"jsonrpc":"2.0","id":2,"method":"x"}` + "\n"),
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
		unknown = `{"jsonrpc":"2.0","id":%d,"error":{"code":-32601,"message":"Method not found: x"}}`
	)
	want := []string{
		notJSON + "\n", // the line end is inside the frame
		fmt.Sprintf(unknown, 1), notJSON, invalid,
	}
	rest := out.String()
	for _, w := range want {
		var ok bool
		if rest, ok = strings.CutPrefix(rest, framed(w)); !ok {
			t.Fatalf("the output goes on with %q, want the frame of %q", rest, w)
		}
	}
	if w := fmt.Sprintf(unknown, 2) + "\n"; rest != w {
		t.Errorf("the output ends with %q, want %q", rest, w)
	}
}

// TestFault: the texts of the SDK hold params, ours do not.
func TestFault(t *testing.T) {
	leak := fmt.Errorf("handling 'tools/call': unmarshaling %q", "SECRET")
	for _, tt := range []struct {
		method string
		err    error
		before bool
		want   string
	}{
		{"tools/call", leak, false, "-32602 Invalid params of tools/call"},
		{"tools/list", leak, true, "-32600 Invalid Request: the session is not initialized"},
		{"initialize", leak, false, "-32600 Invalid Request: the session is initialized already"},
		{"initialize", leak, true, "-32602 Invalid params of initialize"},
		{"ping", &jsonrpc.Error{Code: -32001, Message: "x"}, false, "-32001 x"},
	} {
		e := fault(tt.method, tt.err, tt.before)
		if got := fmt.Sprintf("%d %s", e.Code, e.Message); got != tt.want {
			t.Errorf("fault(%q, %q, %v) = %q, want %q", tt.method, tt.err, tt.before, got, tt.want)
		}
	}
}
