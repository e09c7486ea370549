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
	"github.com/uchimanajet7/openai-responses-mcp/test/compare"
)

// overPipe returns a client of HTTP/2 without TLS, and the other end of its only connection.
func overPipe() (cl *Client, server net.Conn) {
	client, server := net.Pipe()
	tr := NewHTTPClient(nil).Transport.(*transport)
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
