package llm

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/uchimanajet7/openai-responses-mcp/internal/base/call"
	"github.com/uchimanajet7/openai-responses-mcp/internal/base/httpclient"
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// overPipe returns a client of HTTP/2 without TLS, and the other end of its only connection.
func overPipe() (cl *Client, server net.Conn) {
	client, server := net.Pipe()
	tr := httpclient.New(nil).Transport.(*httpclient.Transport)
	tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
		return client, nil
	}
	tr.Protocols = new(http.Protocols)
	tr.Protocols.SetUnencryptedHTTP2(true)
	return newClientOf(testURL, tr, 0, io.Discard), server
}

// A connection without a byte for 45 seconds is given up if a ping is not answered, long before the
// time limit of the call.
func TestSilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, server := overPipe()
		defer server.Close()
		go func() { _, _ = io.Copy(io.Discard, server) }()
		const emptySettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		go func() { _, _ = io.WriteString(server, emptySettings) }()

		began := time.Now()
		err := createError(t, cl)
		wantKind(t, err, call.KindConnection)
		wantEqual(t, "time", time.Since(began), 45*time.Second)
	})
}

// The settings of a connection bound what a response may send ahead.
func TestReceiveWindow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		cl, server := overPipe()
		first := make([]byte, 64)
		go func() {
			_, _ = server.Read(first)
			server.Close()
		}()

		err := createError(t, cl)
		wantKind(t, err, call.KindConnection)
		const window = "\x00\x04\x00\x04\x00\x00" // INITIAL_WINDOW_SIZE 256 KiB
		compare.Contains(t, "settings", string(first), window)
	})
}

// A connection is used again if the stream ends a moment after its last event. A call does not wait
// longer for that end.
func TestEndOfStream(t *testing.T) {
	for ends, tt := range map[time.Duration]struct {
		connections int
		time        time.Duration
	}{
		10 * time.Millisecond: {1, 10 * time.Millisecond},
		time.Minute:           {3, restTimeout},
	} {
		bubble(t, ends.String(), func(t *testing.T) {
			listener := make(pipes)
			server := &http.Server{Handler: http.HandlerFunc(
				func(w http.ResponseWriter, r *http.Request) {
					_, _ = io.WriteString(w, frames(eventCompleted))
					_ = http.NewResponseController(w).Flush()
					_ = sleep(r.Context(), ends)
				})}
			go server.Serve(listener)
			defer server.Close()

			connections := 0
			transport := &http.Transport{
				DialContext: func(ctx context.Context, network, address string) (net.Conn, error) {
					connections++
					return listener.dial(ctx, network, address)
				},
			}
			defer transport.CloseIdleConnections()

			cl := newClientOf(testURL, transport, 0, io.Discard)
			for range 3 {
				began := time.Now()
				_, err := create(t, cl, question())
				wantSuccess(t, err)
				wantEqual(t, "time", time.Since(began), tt.time)
			}
			wantEqual(t, "connections", connections, tt.connections)
		})
	}
}
