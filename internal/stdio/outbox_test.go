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
	"github.com/modelcontextprotocol/go-sdk/mcp"
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

// deaf is a session whose client does not read until it listens.
type deaf struct {
	t      *testing.T
	conn   mcp.Connection
	in     *io.PipeReader
	input  *io.PipeWriter
	output *io.PipeReader
}

func newDeaf(t *testing.T, log *slog.Logger) *deaf {
	t.Helper()
	in, input := io.Pipe()
	output, out := io.Pipe()
	tr := &Transport{In: in, Out: out, Methods: []string{"ping", "tools/call"}, Log: log}
	c, err := tr.Connect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return &deaf{t, c, in, input, output}
}

// begun are the first n and all further requests that the server gets; each of
// them is seen when it comes.
func (d *deaf) begun(n int, see func(*jsonrpc.Request)) <-chan *jsonrpc.Request {
	read := make(chan *jsonrpc.Request, n)
	go func() {
		defer close(read)
		for {
			m, err := d.conn.Read(d.t.Context())
			if err != nil {
				return
			}
			r := m.(*jsonrpc.Request)
			read <- r
			see(r)
		}
	}()
	return read
}

func (d *deaf) answer(r *jsonrpc.Request, size int) {
	if err := d.conn.Write(d.t.Context(), &jsonrpc.Response{ID: r.ID, Result: fmt.Appendf(nil, "%q", strings.Repeat("x", size))}); err != nil {
		d.t.Error(err)
	}
}

func (d *deaf) listen() { go func() { _, _ = io.Copy(io.Discard, d.output) }() }

func (d *deaf) close() { _, _, _, _ = d.conn.Close(), d.input.Close(), d.in.Close(), d.output.Close() }

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
				var log bytes.Buffer
				d := newDeaf(t, slog.New(slog.NewTextHandler(&log, nil)))
				read := d.begun(2*tt.calls, func(r *jsonrpc.Request) {
					if n := r.ID.Raw().(int64); tt.answer > 0 && n <= int64(tt.calls) {
						d.answer(r, tt.answer)
					} else if tt.answer > 0 {
						d.answer(r, 1)
					}
				})
				go func() {
					for i := range 2 * tt.calls {
						fmt.Fprintf(d.input, `{"jsonrpc":"2.0","id":%d,"method":"tools/call"}`+"\n", i)
					}
				}()
				synctest.Wait()
				if len(read) != tt.calls {
					t.Errorf("%d requests began while nobody read the answers, want %d", len(read), tt.calls)
				}
				if n := strings.Count(log.String(), tt.warns); n != 1 {
					t.Errorf("the log warns %d times:\n%s", n, log.String())
				}
				d.listen()
				for range 2 * tt.calls {
					if r := <-read; tt.answer == 0 {
						d.answer(r, 1)
					}
				}
				synctest.Wait()
				d.close()
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
		d := newDeaf(t, slog.New(slog.DiscardHandler))
		read := d.begun(2*maxCalls, func(*jsonrpc.Request) {})
		text := func(r *jsonrpc.Request) string { return strings.TrimSpace(r.Method + " " + string(r.Params)) }
		send := func(line string) {
			t.Helper()
			fmt.Fprintln(d.input, line)
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
		if err := d.input.Close(); err != nil {
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
			if got := text(<-read); got != w {
				t.Errorf("read %s, want %s", got, w)
			}
		}
		d.close()
		for r := range read {
			t.Errorf("read %s after the end of the input", text(r))
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
				d := newDeaf(t, slog.New(slog.DiscardHandler))
				begun := d.begun(tt.all, func(r *jsonrpc.Request) {
					if tt.answeredAtOnce {
						d.answer(r, tt.answer)
					}
				})
				var sent atomic.Int64
				go func() {
					for i := range tt.all {
						fmt.Fprintf(d.input, `{"jsonrpc":"2.0","id":%d,"method":%q,"params":{"x":%q}}`+"\n", i, tt.method, strings.Repeat("x", tt.ask))
						sent.Add(1)
					}
				}()
				synctest.Wait()
				// One more may be on its way in, and one in the pipe.
				if n, taken := len(begun), int(sent.Load()); n != tt.begin || taken < tt.taken || taken > tt.taken+2 {
					t.Errorf("%d requests began and %d were taken in, want %d and %d", n, taken, tt.begin, tt.taken)
				}
				d.listen()
				for range tt.all {
					if r := <-begun; !tt.answeredAtOnce {
						d.answer(r, tt.answer)
					}
				}
				synctest.Wait()
				d.close()
				for range begun {
				}
			})
		})
	}
}
