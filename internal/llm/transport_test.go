package llm

import (
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// A connection without a byte for 45 seconds is given up if a ping is not answered,
// long before the time limit of the call.
func TestSilentConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := net.Pipe()
		defer server.Close()
		go func() { _, _ = io.Copy(io.Discard, server) }()
		const emptySettings = "\x00\x00\x00\x04\x00\x00\x00\x00\x00"
		go func() { _, _ = io.WriteString(server, emptySettings) }()

		tr := NewHTTPClient().Transport.(*transport)
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return client, nil
		}

		tr.Protocols = new(http.Protocols)
		tr.Protocols.SetUnencryptedHTTP2(true)

		c := newClientOf(testURL, tr, 0, io.Discard)
		began := time.Now()
		err := createError(t, c)
		wantKind(t, err, KindConnection)
		wantEqual(t, "time", time.Since(began), 45*time.Second)
	})
}
