package llm

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
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

		hc := NewHTTPClient()
		tr := hc.Transport.(*transport)
		tr.DialContext = func(context.Context, string, string) (net.Conn, error) {
			return client, nil
		}

		tr.Protocols = new(http.Protocols)
		tr.Protocols.SetUnencryptedHTTP2(true)

		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		const address = "http://api.test/v1/responses"
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}

		began := time.Now()
		resp, err := hc.Do(req)
		took := time.Since(began)
		if err == nil {
			_ = resp.Body.Close()
			t.Fatal("the request succeeded")
		}

		if errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error = %v, want that of the connection", err)
		}

		if took != 45*time.Second {
			t.Errorf("the request ended after %v, want 45 s", took)
		}
	})
}
