package stdio

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Of the progress of a call the last one waits, at the place of the first.
func TestOutboxProgress(t *testing.T) {
	o := newOutbox()
	for i, p := range []parcel{
		{call: 1, progress: true}, {call: 2, progress: true}, {call: 2}, {call: 1, progress: true}, {}, {call: 3, progress: true},
	} {
		p.msg = fmt.Append(nil, i)
		o.put(p)
	}
	o.close()
	var got []string
	for {
		p, ok, more := o.next()
		if !ok {
			if more {
				t.Error("the outbox is closed and says that more comes")
			}
			break
		}
		got = append(got, string(p.msg))
		o.done(p)
	}
	if s := strings.Join(got, " "); s != "3 1 2 4 5" || o.waiting() != 0 {
		t.Errorf("out came %s, and %d bytes are left, want 3 1 2 4 5 and none", s, o.waiting())
	}
}

// While too much waits for the client no request begins, and the next one does
// as soon as there is room. What makes room is what the client reads.
func TestNoRoom(t *testing.T) {
	for _, tt := range []struct {
		name   string
		calls  int // that begin before no more do
		answer int // bytes of each answer; 0: none is there yet
		warns  string
	}{
		{"answers", 3, maxWaiting/3 + 1, "the client does not read its answers"},
		{"calls", maxCalls, 0, "too many are without an answer"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, input := io.Pipe()
				output, out := io.Pipe()
				var log bytes.Buffer
				tr := &Transport{In: in, Out: out, Methods: []string{"tools/list"}, Log: slog.New(slog.NewTextHandler(&log, nil))}
				c, err := tr.Connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				answer := func(id jsonrpc.ID, size int) {
					if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: fmt.Appendf(nil, "%q", strings.Repeat("x", size))}); err != nil {
						t.Error(err)
					}
				}
				read := make(chan jsonrpc.ID, 2*tt.calls)
				go func() {
					defer close(read)
					for {
						m, err := c.Read(t.Context())
						if err != nil {
							return
						}
						id := m.(*jsonrpc.Request).ID
						read <- id
						if n := id.Raw().(int64); tt.answer > 0 && n <= int64(tt.calls) {
							answer(id, tt.answer)
						} else if tt.answer > 0 {
							answer(id, 1)
						}
					}
				}()
				go func() {
					for i := range 2 * tt.calls {
						fmt.Fprintf(input, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i)
					}
				}()
				synctest.Wait()
				if len(read) != tt.calls {
					t.Errorf("%d requests began while nobody read the answers, want %d", len(read), tt.calls)
				}
				if n := strings.Count(log.String(), tt.warns); n != 1 {
					t.Errorf("the log warns %d times:\n%s", n, log.String())
				}
				go func() { _, _ = io.Copy(io.Discard, output) }()
				for range 2 * tt.calls {
					if id := <-read; tt.answer == 0 {
						answer(id, 1)
					}
				}
				synctest.Wait()
				_, _, _, _ = c.Close(), input.Close(), in.Close(), output.Close()
				for range read {
				}
			})
		})
	}
}

// Without room for more calls, a cancellation makes room, also among those that
// wait, and a ping does not wait.
func TestNoRoomForCalls(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		in, input := io.Pipe()
		output, out := io.Pipe()
		tr := &Transport{In: in, Out: out, Methods: []string{"ping", "tools/call"}, Log: slog.New(slog.DiscardHandler)}
		c, err := tr.Connect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		read := make(chan string, 2*maxCalls)
		go func() {
			defer close(read)
			for {
				m, err := c.Read(t.Context())
				if err != nil {
					return
				}
				r := m.(*jsonrpc.Request)
				read <- strings.TrimSpace(r.Method + " " + string(r.Params))
			}
		}()
		send := func(line string) {
			t.Helper()
			fmt.Fprintln(input, line)
			synctest.Wait()
		}
		for i := range maxCalls + 3 {
			send(fmt.Sprintf(`{"jsonrpc":"2.0","id":%d,"method":"tools/call","params":{"a":%d}}`, i, i))
		}
		for range maxCalls {
			<-read
		}
		const cancel = `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":%d}}`
		send(`{"jsonrpc":"2.0","id":"p","method":"ping"}`)
		send(fmt.Sprintf(cancel, maxCalls+1)) // waits
		send(fmt.Sprintf(cancel, 7))          // makes room for what the ping took
		send(fmt.Sprintf(cancel, 8))
		send(fmt.Sprintf(cancel, 9))
		if err := input.Close(); err != nil {
			t.Error(err)
		}
		synctest.Wait()
		want := []string{
			"ping",
			`notifications/cancelled {"requestId":8}`, // the client's 7 is the eighth
			`notifications/cancelled {"requestId":9}`, fmt.Sprintf(`tools/call {"a":%d}`, maxCalls),
			`notifications/cancelled {"requestId":10}`, fmt.Sprintf(`tools/call {"a":%d}`, maxCalls+2),
		}
		for _, w := range want {
			if got := <-read; got != w {
				t.Errorf("read %s, want %s", got, w)
			}
		}
		_, _, _ = c.Close(), in.Close(), output.Close()
		for m := range read {
			t.Errorf("read %s after the end of the input", m)
		}
	})
}

// What is asked is bounded, too: large requests wait for those that have begun,
// and when too much of them waits, or of answers to what never waits, nothing
// more is taken in. All of it is answered in the end.
func TestNoRoomForBytes(t *testing.T) {
	for _, tt := range []struct {
		name, method   string
		ask, answer    int // bytes of each
		begin, all     int // so many begin, of so many
		taken          int // so many are taken in
		answeredAtOnce bool
	}{
		{"large requests", "tools/call", 4 << 20, 1, 4, 11, 8, false},
		{"pings", "ping", 0, 8 << 20, 8, 11, 8, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				in, input := io.Pipe()
				output, out := io.Pipe()
				tr := &Transport{In: in, Out: out, Methods: []string{"ping", "tools/call"}, Log: slog.New(slog.DiscardHandler)}
				c, err := tr.Connect(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				answer := func(id jsonrpc.ID) {
					if err := c.Write(t.Context(), &jsonrpc.Response{ID: id, Result: fmt.Appendf(nil, "%q", strings.Repeat("x", tt.answer))}); err != nil {
						t.Error(err)
					}
				}
				begun := make(chan jsonrpc.ID, tt.all)
				go func() {
					defer close(begun)
					for {
						m, err := c.Read(t.Context())
						if err != nil {
							return
						}
						id := m.(*jsonrpc.Request).ID
						begun <- id
						if tt.answeredAtOnce {
							answer(id)
						}
					}
				}()
				var sent atomic.Int64
				go func() {
					for i := range tt.all {
						fmt.Fprintf(input, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"x":%q}}`+"\n", i, tt.method, strings.Repeat("x", tt.ask))
						sent.Add(1)
					}
				}()
				synctest.Wait()
				// One more may be on its way in, and one in the pipe.
				if n, taken := len(begun), int(sent.Load()); n != tt.begin || taken < tt.taken || taken > tt.taken+2 {
					t.Errorf("%d requests began and %d were taken in, want %d and %d", n, taken, tt.begin, tt.taken)
				}
				go func() { _, _ = io.Copy(io.Discard, output) }()
				for range tt.all {
					if id := <-begun; !tt.answeredAtOnce {
						answer(id)
					}
				}
				synctest.Wait()
				_, _, _, _ = c.Close(), input.Close(), in.Close(), output.Close()
				for range begun {
				}
			})
		})
	}
}
